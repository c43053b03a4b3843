using RedKite.Server.Changes;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Elements;

/// <summary>
/// The elements that a command changed, and effects that name only those. Without a consumer they are counted and not recorded.
/// </summary>
internal ref struct ElementChanges
{
    private readonly ElementKind _kind;
    private readonly List<int>? _arguments;

    internal ElementChanges(scoped in CommandContext cmd, ElementKind kind)
    {
        _kind = kind;
        _arguments = cmd.Recording.TakesEffects ? [] : null;
    }

    /// <summary>The number of changed elements; one that the command names twice may count twice.</summary>
    internal long Count { get; private set; }

    /// <summary>Adds the element at an argument.</summary>
    internal void Add(scoped in CommandContext cmd, int argument)
    {
        Count++;
        cmd.ChangedField(argument);
        _arguments?.Add(argument);
    }

    /// <summary>Reports elements that were removed.</summary>
    internal readonly void ReportRemoved(scoped in CommandContext cmd)
    {
        if (Count == 0) return;
        cmd.Changed(1, _kind.Removed, Count);
        if (_arguments is not null) Write(cmd, cmd.Effect(_kind.RemoveCommand, 2 + _arguments.Count).Argument(cmd[1]));
    }

    /// <summary>Reports elements that got an expiry, or that were removed because it has passed.</summary>
    internal readonly void ReportExpiry(scoped in CommandContext cmd, long expiryMs)
    {
        if (Count == 0) return;
        if (cmd.Expiry.HasPassed(expiryMs))
        {
            cmd.Database.CountExpiredFields(cmd.HashOf(1), Count);
            ReportRemoved(cmd);
            return;
        }

        cmd.Changed(1, _kind.Expires, Count);
        if (_arguments is not null) Write(cmd, BeginList(cmd.Effect(_kind.ExpireCommand, 5 + _arguments.Count).Argument(cmd[1]).Argument(expiryMs)));
    }

    /// <summary>Reports elements that have lost their expiry.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="count">How many changes they count for.</param>
    internal readonly void ReportPersisted(scoped in CommandContext cmd, long count)
    {
        if (Count == 0) return;
        cmd.Changed(1, _kind.Persisted, count);
        if (_arguments is not null) Write(cmd, BeginList(cmd.Effect(_kind.PersistCommand, 4 + _arguments.Count).Argument(cmd[1])));
    }

    /// <summary>Writes the effect that elements were set, without a condition and with an absolute expiry.</summary>
    internal static void WriteSet(scoped in CommandContext cmd, ElementKind kind, in ElementOptions options)
    {
        if (!cmd.Recording.TakesEffects) return;
        ElementArguments elements = options.Elements;
        int words = (options.HasExpiry ? 2 : options.KeepsExpiry ? 1 : 0) + (elements.Count * elements.Step);
        EffectArguments effect = cmd.Effect(kind.SetCommand, 4 + words).Argument(cmd[1]);
        if (options.HasExpiry) effect.Argument("PXAT"u8).Argument(options.ExpiryMs);
        else if (options.KeepsExpiry) effect.Argument("KEEPTTL"u8);
        effect.Argument(kind.List).Argument(elements.Count);
        for (int i = elements.First; i < elements.End; i++) effect.Argument(cmd[i]);
    }

    private readonly EffectArguments BeginList(EffectArguments effect) => effect.Argument(_kind.List).Argument(_arguments!.Count);

    private readonly void Write(scoped in CommandContext cmd, EffectArguments effect)
    {
        foreach (int argument in _arguments!) effect.Argument(cmd[argument]);
    }
}
