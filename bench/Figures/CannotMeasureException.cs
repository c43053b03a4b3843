namespace RedKite.Figures;

/// <summary>A required program is missing or failed. The message is shown to the user.</summary>
internal sealed class CannotMeasureException(string message) : Exception(message);
