namespace RedKite.Server.Commands;

/// <summary>Diagnostics commands. The table is their single declaration and this file's contents.</summary>
internal static class DiagnosticsCommands
{
    internal static readonly CommandFamily Family = new("server", "",
    [
    ]);
}
