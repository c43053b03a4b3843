namespace RedKite.Server.Commands;

/// <summary>Config commands. The table is their single declaration and this file's contents.</summary>
internal static class ConfigCommands
{
    internal static readonly CommandFamily Family = new("server", "",
    [
    ]);
}
