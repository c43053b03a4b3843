using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Hashes;

/// <summary>The arguments that are fields: FIELDS numfields field [field ...], at the command's end.</summary>
internal readonly record struct FieldArguments(int First, int Count)
{
    internal int End => First + Count;

    /// <summary>Parses the list at the reader's position.</summary>
    /// <param name="options">The reader, in front of FIELDS.</param>
    /// <param name="cmd">The command.</param>
    /// <param name="countError">The error for an invalid number of fields.</param>
    /// <param name="fields">The arguments that are fields.</param>
    internal static bool TryReadOrReply(ref OptionReader options, scoped in CommandContext cmd, ReadOnlySpan<byte> countError, out FieldArguments fields)
    {
        fields = default;
        if (!options.TakeWithValue("FIELDS"u8, out int countArgument))
        {
            if (options.Take("FIELDS"u8)) cmd.Reply.Error(countError);
            else cmd.Reply.Error("ERR Mandatory argument FIELDS is missing or not at the right position"u8);
            return false;
        }

        if (!Protocol.RespNumber.TryParseInt64(cmd[countArgument], out long count) || count <= 0)
        {
            cmd.Reply.Error(countError);
            return false;
        }

        if (count != options.Left)
        {
            cmd.Reply.Error("ERR The `numfields` parameter must match the number of arguments"u8);
            return false;
        }

        fields = new FieldArguments(options.Position, (int)count);
        return true;
    }
}

/// <summary>The options of HGETEX and HSETEX: when fields are set, and how their expiries change.</summary>
internal struct FieldOptions
{
    /// <summary>FNX: only if none of the fields exists.</summary>
    internal bool OnlyNew { get; private set; }

    /// <summary>FXX: only if all of the fields exist.</summary>
    internal bool OnlyExisting { get; private set; }

    internal bool KeepsExpiry { get; private set; }

    internal bool Persists { get; private set; }

    internal bool HasExpiry { get; private set; }

    /// <summary>The expiry in Unix milliseconds, if there is one.</summary>
    internal long ExpiryMs { get; private set; }

    /// <summary>The fields. In HSETEX each is followed by its value, and only the first one's position counts.</summary>
    internal FieldArguments Fields { get; private set; }

    /// <summary>Parses HGETEX's options, from argument 2 on: one option about expiry, then the fields.</summary>
    internal static bool TryParseGetExOrReply(scoped in CommandContext cmd, out FieldOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first: 2);
        if (options.Take("PERSIST"u8)) result.Persists = true;
        else if (ExpiryArgument.Take(ref options, out int time, out ExpiryUnit unit) && !result.TryExpiryOrReply(cmd, time, unit)) return false;
        if (options.Position == cmd.Count - 1 && cmd.Is(options.Position, "FIELDS"u8))
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return false;
        }

        if (!FieldArguments.TryReadOrReply(ref options, cmd, "ERR Number of fields must be a positive integer"u8, out FieldArguments fields)) return false;
        result.Fields = fields;
        return true;
    }

    /// <summary>Parses HSETEX's options, from argument 2 on, in any order before the fields.</summary>
    internal static bool TryParseSetExOrReply(scoped in CommandContext cmd, out FieldOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first: 2);
        while (!options.TakeWithValue("FIELDS"u8, out int countArgument))
        {
            if (!result.TrySetOptionOrReply(ref options, cmd)) return false;
        }

        // As in Redis, FIELDS without a pair behind its number comes before a wrong number.
        if (options.Left < 2)
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return false;
        }

        return result.TryPairsOrReply(options, cmd);
    }

    private bool TrySetOptionOrReply(ref OptionReader options, scoped in CommandContext cmd)
    {
        bool isNew = options.Take("FNX"u8);
        if (isNew || options.Take("FXX"u8))
        {
            if (OnlyNew || OnlyExisting)
            {
                cmd.Reply.Error("ERR Only one of FXX or FNX arguments can be specified"u8);
                return false;
            }

            OnlyNew = isNew;
            OnlyExisting = !isNew;
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

    private bool TryPairsOrReply(scoped in OptionReader options, scoped in CommandContext cmd)
    {
        if (!Protocol.RespNumber.TryParseInt64(cmd[options.Position - 1], out long count) || count is <= 0 or > int.MaxValue)
        {
            cmd.Reply.Error("ERR invalid number of fields"u8);
            return false;
        }

        if (count * 2 != options.Left)
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return false;
        }

        Fields = new FieldArguments(options.Position, (int)count);
        return true;
    }
}
