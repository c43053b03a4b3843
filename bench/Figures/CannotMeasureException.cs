namespace RedKite.Figures;

/// <summary>Something that a scenario needs is missing or did not start. The message is for the person who ran it.</summary>
internal sealed class CannotMeasureException(string message) : Exception(message);
