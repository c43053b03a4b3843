namespace RedKite.Server.Commands;

/// <summary>Client commands. The table is their single declaration and this file's contents.</summary>
internal static class ClientCommands
{
    internal static readonly CommandFamily Family = new("connection", "connection",
    [
    ]);
}
