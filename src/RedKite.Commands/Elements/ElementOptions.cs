using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Elements;

/// <summary>The options of HSETEX, HGETEX and SADDEX: when elements are set, and how their expiries change.</summary>
internal struct ElementOptions
{
    private static readonly byte[] SeveralWhenSet = "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"u8.ToArray();
    private static readonly byte[] SeveralWhenGot = "ERR Only one of EX, PX, EXAT, PXAT or PERSIST arguments can be specified"u8.ToArray();

    /// <summary>FNX, MNX: only if none of the elements exists.</summary>
    internal bool OnlyNew { get; private set; }

    /// <summary>FXX, MXX: only if all of the elements exist.</summary>
    internal bool OnlyExisting { get; private set; }

    /// <summary>NX and XX of HSETEX: only if the key does not exist, or only if it does.</summary>
    internal bool OnlyNewKey { get; private set; }

    internal bool OnlyExistingKey { get; private set; }

    internal bool KeepsExpiry { get; private set; }

    internal bool Persists { get; private set; }

    internal bool HasExpiry { get; private set; }

    /// <summary>The expiry in Unix milliseconds, if there is one.</summary>
    internal long ExpiryMs { get; private set; }

    /// <summary>The elements that the list names.</summary>
    internal ElementArguments Elements { get; private set; }

    /// <summary>Parses the options of HSETEX, HGETEX and SADDEX and the list of elements, in any order.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="kind">What the elements are.</param>
    /// <param name="sets">Whether the command sets elements: the words of others are those of HGETEX.</param>
    /// <param name="step">The number of arguments for each element.</param>
    /// <param name="result">The options.</param>
    internal static bool TryParseOrReply(scoped in CommandContext cmd, ElementKind kind, bool sets, int step, out ElementOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first: 2);
        while (options.More)
        {
            if (!options.Take(kind.List))
            {
                if (!result.TryTakeOrReply(ref options, cmd, kind, sets)) return false;
                continue;
            }

            ElementArguments elements = result.Elements;
            if (!ElementArguments.TryTakeOrReply(ref options, cmd, kind, kind.OptionCountError, step, ref elements)) return false;
            result.Elements = elements;
        }

        if (!result.Elements.AreThere) return Refuse(cmd, kind.MissingListError);

        // As in Redis, words of the other command are read like its own, and are an error at the end.
        bool isForeign = sets ? result.Persists : result.KeepsExpiry || result.OnlyNew || result.OnlyExisting;
        return !isForeign || Refuse(cmd, "ERR unknown argument"u8);
    }

    private bool TryTakeOrReply(ref OptionReader options, scoped in CommandContext cmd, ElementKind kind, bool sets)
    {
        bool isNew = options.Take(kind.OnlyNew);
        if (isNew || options.Take(kind.OnlyExisting))
        {
            if (OnlyNew || OnlyExisting) return Refuse(cmd, kind.BothConditionsError);
            OnlyNew = isNew;
            OnlyExisting = !isNew;
            return true;
        }

        bool hasKeyConditions = sets && kind.HasKeyConditions;
        bool isNewKey = hasKeyConditions && options.Take("NX"u8);
        if (isNewKey || (hasKeyConditions && options.Take("XX"u8)))
        {
            if (OnlyNewKey || OnlyExistingKey) return Refuse(cmd, "ERR Only one of NX or XX arguments can be specified"u8);
            OnlyNewKey = isNewKey;
            OnlyExistingKey = !isNewKey;
            return true;
        }

        return TryTakeExpiryOrReply(ref options, cmd, sets);
    }

    private bool TryTakeExpiryOrReply(ref OptionReader options, scoped in CommandContext cmd, bool sets)
    {
        int at = options.Position;
        bool isTimeless = cmd.Is(at, "EX"u8) || cmd.Is(at, "PX"u8) || cmd.Is(at, "EXAT"u8) || cmd.Is(at, "PXAT"u8);
        bool hasTime = ExpiryArgument.Take(ref options, out int time, out ExpiryUnit unit);
        bool persists = !hasTime && options.Take("PERSIST"u8);
        bool keeps = !hasTime && options.Take("KEEPTTL"u8);
        if (!isTimeless && !persists && !keeps)
        {
            cmd.Reply.Error("ERR unknown argument: " + cmd.ShownText(at));
            return false;
        }

        if (HasExpiry || (KeepsExpiry && !persists) || (Persists && !keeps)) return Refuse(cmd, sets ? SeveralWhenSet : SeveralWhenGot);
        if (isTimeless && !hasTime) return Refuse(cmd, "ERR missing expire time"u8);
        if (hasTime) return TryExpiryOrReply(cmd, time, unit);
        KeepsExpiry |= keeps;
        Persists |= persists;
        return true;
    }

    // As in Redis, a time is checked before what follows it is read.
    private bool TryExpiryOrReply(scoped in CommandContext cmd, int argument, ExpiryUnit unit)
    {
        HasExpiry = ExpiryArgument.TryFieldOrReply(cmd, argument, unit, out long expiryMs);
        ExpiryMs = expiryMs;
        return HasExpiry;
    }

    private static bool Refuse(scoped in CommandContext cmd, ReadOnlySpan<byte> error)
    {
        cmd.Reply.Error(error);
        return false;
    }
}
