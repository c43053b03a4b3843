namespace RedKite.Server.Model;

/// <summary>
/// A user as its sessions refer to it: a name and its current permissions. The rules are in the user registry, which publishes a
/// new snapshot whenever they change; the next check of each session sees it.
/// </summary>
internal sealed class User(string name)
{
    internal const string DefaultName = "default";

    private Permissions? _permissions;

    /// <summary>One character a byte.</summary>
    internal string Name { get; } = name;

    /// <summary>The user's permissions; null: everything is allowed. Written by the registry only.</summary>
    internal Permissions? Permissions
    {
        get => Volatile.Read(ref _permissions);
        set => Volatile.Write(ref _permissions, value);
    }

    /// <summary>Checks a request whose command is resolved.</summary>
    internal AccessDenial Check(scoped in CommandContext cmd) => Permissions is { } permissions ? permissions.Check(cmd) : default;
}
