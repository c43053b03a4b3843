namespace RedKite.Server.Commands;

/// <summary>Memory commands. The table is their single declaration and this file's contents.</summary>
internal static class MemoryCommands
{
    internal static readonly CommandFamily Family = new("server", "",
    [
    ]);
}
