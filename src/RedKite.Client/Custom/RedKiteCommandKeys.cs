using RedKite.Server.Client;
using RedKite.Server.Custom;
using RedKite.Server.Model;

namespace RedKite;

/// <summary>
/// The typed commands for a custom command: on its own keys, which are locked, as its client. Valid during the call, on its thread. Another key, a command that works on
/// whole databases, and one that is not allowed in scripts are refused by a <see cref="RedKiteException"/>.
/// </summary>
public sealed class RedKiteCommandKeys : RedKiteCommands
{
    private readonly NestedTarget _target = new();

    internal RedKiteCommandKeys()
    {
    }

    /// <summary>The user that the client is logged in as.</summary>
    public string User => _target.Session.User.Name;

    /// <summary>The client's id, as CLIENT ID returns it.</summary>
    public long ClientId => _target.Session.Id;

    /// <summary>The time by which keys expire; it does not change while the command runs.</summary>
    public DateTimeOffset Now => DateTimeOffset.FromUnixTimeMilliseconds(_target.NowMs);

    internal void Begin(scoped in CommandContext cmd) => _target.Begin(cmd);

    internal void End() => _target.Detach();

    internal override CallTarget Target() => _target.IsAttached ? _target : throw new InvalidOperationException("A custom command's keys are locked during its call only.");
}
