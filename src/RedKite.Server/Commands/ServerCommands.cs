namespace RedKite.Server.Commands;

/// <summary>Server commands. The table is their single declaration and this file's contents.</summary>
internal static class ServerCommands
{
    internal static readonly CommandFamily Family = new("server", "",
    [
    ]);
}
