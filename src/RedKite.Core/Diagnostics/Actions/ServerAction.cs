namespace RedKite.Server.Diagnostics.Actions;

/// <summary>An action that the server takes by itself, within a limit that the administrator sets: a row of <see cref="ActionTable"/>.</summary>
/// <param name="Index">Its place in the table.</param>
/// <param name="Name">Lower case with hyphens: its name in the log, on the timeline and in the report.</param>
/// <param name="Setting">The setting that allows and limits it.</param>
/// <param name="Meaning">When it happens, and what: one or two sentences.</param>
/// <param name="TouchesClients">Whether clients notice it. Such actions are off unless their setting is given.</param>
internal sealed record ServerAction(int Index, string Name, string Setting, string Meaning, bool TouchesClients);
