using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Elements;

/// <summary>The options of HSETEX, HGETEX and SADDEX: when elements are set, and how their expiries change.</summary>
internal struct ElementOptions
{
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

    internal ElementArguments Elements { get; set; }

    /// <summary>Parses HGETEX's option about expiry, if there is one.</summary>
    internal static bool TryParseGetOrReply(ref OptionReader options, scoped in CommandContext cmd, out ElementOptions result)
    {
        result = default;
        if (options.Take("PERSIST"u8)) result.Persists = true;
        else if (ExpiryArgument.Take(ref options, out int time, out ExpiryUnit unit)) return result.TryExpiryOrReply(cmd, time, unit);
        return true;
    }

    /// <summary>Parses the options of HSETEX and SADDEX in any order, and the list's word with the number of elements.</summary>
    internal static bool TryParseSetOrReply(ref OptionReader options, scoped in CommandContext cmd, ElementKind kind, out int countArgument, out ElementOptions result)
    {
        result = default;
        while (!options.TakeWithValue(kind.List, out countArgument))
        {
            if (!options.More)
            {
                cmd.Reply.Error(kind.NoListError);
                return false;
            }

            if (!result.TryTakeOrReply(ref options, cmd, kind)) return false;
        }

        return true;
    }

    private bool TryTakeOrReply(ref OptionReader options, scoped in CommandContext cmd, ElementKind kind)
    {
        bool isNew = options.Take(kind.OnlyNew);
        if (isNew || options.Take(kind.OnlyExisting))
        {
            if (OnlyNew || OnlyExisting)
            {
                cmd.Reply.Error(kind.BothConditionsError);
                return false;
            }

            OnlyNew = isNew;
            OnlyExisting = !isNew;
            return true;
        }

        bool isNewKey = kind.HasKeyConditions && options.Take("NX"u8);
        if (isNewKey || (kind.HasKeyConditions && options.Take("XX"u8)))
        {
            if (OnlyNewKey || OnlyExistingKey)
            {
                cmd.Reply.Error("ERR Only one of NX or XX arguments can be specified"u8);
                return false;
            }

            OnlyNewKey = isNewKey;
            OnlyExistingKey = !isNewKey;
            return true;
        }

        bool hadExpiry = HasExpiry || KeepsExpiry;
        bool hasTime = ExpiryArgument.Take(ref options, out int time, out ExpiryUnit unit);
        if (!hasTime && !options.Take("KEEPTTL"u8)) return RefuseWord(options, cmd);
        if (hadExpiry)
        {
            cmd.Reply.Error("ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"u8);
            return false;
        }

        if (hasTime) return TryExpiryOrReply(cmd, time, unit);
        KeepsExpiry = true;
        return true;
    }

    // As in Redis, a time is checked before what follows it is read.
    private bool TryExpiryOrReply(scoped in CommandContext cmd, int argument, ExpiryUnit unit)
    {
        HasExpiry = ExpiryArgument.TryFieldOrReply(cmd, argument, unit, out long expiryMs);
        ExpiryMs = expiryMs;
        return HasExpiry;
    }

    // Replies the error for an unknown option, or for the option of a time without a time.
    private static bool RefuseWord(scoped in OptionReader options, scoped in CommandContext cmd)
    {
        int at = options.Position;
        if (cmd.Is(at, "EX"u8) || cmd.Is(at, "PX"u8) || cmd.Is(at, "EXAT"u8) || cmd.Is(at, "PXAT"u8)) cmd.Reply.Error("ERR missing expire time"u8);
        else cmd.Reply.Error("ERR unknown argument: " + cmd.ShownText(at));
        return false;
    }
}
