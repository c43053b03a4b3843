namespace RedKite.Server.Commands;

/// <summary>Connection commands. The table is their single declaration and this file's contents.</summary>
internal static class ConnectionCommands
{
    internal static readonly CommandFamily Family = new("connection", "connection",
    [
    ]);
}
