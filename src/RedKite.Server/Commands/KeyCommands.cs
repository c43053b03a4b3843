namespace RedKite.Server.Commands;

/// <summary>Key commands. The table is their single declaration and this file's contents.</summary>
internal static class KeyCommands
{
    internal static readonly CommandFamily Family = new("generic", "keyspace",
    [
    ]);
}
