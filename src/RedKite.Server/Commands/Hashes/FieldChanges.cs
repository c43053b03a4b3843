using RedKite.Server.Changes;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Hashes;

/// <summary>
/// The fields that a command changed, and effects that name only those. Without a consumer they are counted and not recorded.
/// </summary>
internal ref struct FieldChanges
{
    private readonly List<int>? _arguments;

    internal FieldChanges(scoped in CommandContext cmd) => _arguments = cmd.Recording.TakesEffects ? [] : null;

    /// <summary>The number of changed fields; a field that the command names twice may count twice.</summary>
    internal long Count { get; private set; }

    /// <summary>Adds the field at an argument.</summary>
    internal void Add(int argument)
    {
        Count++;
        _arguments?.Add(argument);
    }

    /// <summary>The effect is that the fields are deleted.</summary>
    internal readonly void WriteHDel(scoped in CommandContext cmd)
    {
        if (_arguments is null) return;
        WriteFields(cmd, cmd.Effect("HDEL"u8, 2 + _arguments.Count).Argument(cmd[1]));
    }

    /// <summary>The effect is that the fields have no expiry.</summary>
    internal readonly void WriteHPersist(scoped in CommandContext cmd)
    {
        if (_arguments is null) return;
        WriteFields(cmd, cmd.Effect("HPERSIST"u8, 4 + _arguments.Count).Argument(cmd[1]).Argument("FIELDS"u8).Argument(_arguments.Count));
    }

    /// <summary>The effect is an absolute expiry of the fields, in Unix milliseconds.</summary>
    internal readonly void WriteHPExpireAt(scoped in CommandContext cmd, long expiryMs)
    {
        if (_arguments is null) return;
        WriteFields(cmd, cmd.Effect("HPEXPIREAT"u8, 5 + _arguments.Count).Argument(cmd[1]).Argument(expiryMs).Argument("FIELDS"u8).Argument(_arguments.Count));
    }

    private readonly void WriteFields(scoped in CommandContext cmd, EffectArguments effect)
    {
        foreach (int argument in _arguments!) effect.Argument(cmd[argument]);
    }
}
