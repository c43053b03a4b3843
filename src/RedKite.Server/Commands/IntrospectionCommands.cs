namespace RedKite.Server.Commands;

/// <summary>Introspection commands. The table is their single declaration and this file's contents.</summary>
internal static class IntrospectionCommands
{
    internal static readonly CommandFamily Family = new("server", "",
    [
    ]);
}
