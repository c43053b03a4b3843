using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Strings;

/// <summary>
/// INCREX: increments a number within bounds and sets its expiry. The effect for replicas and the log is the number and the expiry that result.
/// </summary>
internal static class BoundedCounterCommands
{
    private const string Syntax =
        "key increment:[BYFLOAT float:double | BYINT integer:integer] [SATURATE] [LBOUND lowerbound] [UBOUND upperbound] "
        + "expiration:[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]";

    internal static readonly CommandFamily Family = new("string", "string",
    [
        new("INCREX", -2, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Access | Update), IncrEx,
            new("8.8.0", "O(1)", "Increments the number at a key within bounds and sets or removes the key's expiry. A missing key counts as 0.", Syntax)),
    ]);

    // INCREX key [BYFLOAT float | BYINT integer] [SATURATE] [LBOUND lowerbound] [UBOUND upperbound] [EX seconds | ... | PERSIST] [ENX]
    private static void IncrEx(ref CommandContext cmd)
    {
        if (!CounterOptions.TryParseOrReply(cmd, out CounterOptions options)) return;
        if (!options.Expiry.TryExpiryOrReply(cmd, out long expiryMs)) return;
        if (options.IsFloat) AddFloat(ref cmd, options, expiryMs);
        else AddInteger(ref cmd, options, expiryMs);
    }

    private static void AddInteger(ref CommandContext cmd, in CounterOptions options, long expiryMs)
    {
        long increment = 1, lower = long.MinValue, upper = long.MaxValue;
        if (options.Increment > 0 && !cmd.TryIntegerOrReply(options.Increment, out increment)) return;
        if (options.Lower > 0 && !cmd.TryIntegerOrReply(options.Lower, out lower)) return;
        if (options.Upper > 0 && !cmd.TryIntegerOrReply(options.Upper, out upper)) return;
        if (!AreBoundsOrReply(cmd, lower <= upper)) return;

        if (!cmd.OpenToWriteStringOrReply(1, out Entry entry)) return;
        long value = 0;
        if (entry.Exists && !RespNumber.TryParseInt64(entry.Value, out value))
        {
            cmd.Reply.Error("ERR value is not an integer or out of range"u8);
            return;
        }

        Int128 sum = (Int128)value + increment;
        bool isOutside = sum < lower || sum > upper;
        Int128 applied = isOutside ? options.Saturates ? Int128.Clamp(sum, lower, upper) - value : 0 : increment;
        if (applied != (long)applied)
        {
            cmd.Reply.Error("ERR increment or decrement would overflow"u8);
            return;
        }

        long result = value + (long)applied;
        if (!isOutside || options.Saturates)
        {
            Span<byte> buffer = stackalloc byte[RespNumber.Int64TextMax];
            Store(cmd, entry, buffer[..RespNumber.Format(result, buffer)], ValueEncoding.Integer, KeyEvent.IncrBy, options, expiryMs);
        }

        cmd.Reply.Array(2);
        cmd.Reply.Integer(result);
        cmd.Reply.Integer((long)applied);
    }

    private static void AddFloat(ref CommandContext cmd, in CounterOptions options, long expiryMs)
    {
        ExtendedDouble lower = -ExtendedDouble.MaxValue, upper = ExtendedDouble.MaxValue;
        if (!TryNumberOrReply(cmd, options.Increment, out ExtendedDouble increment)) return;
        if (options.Lower > 0 && !TryNumberOrReply(cmd, options.Lower, out lower)) return;
        if (options.Upper > 0 && !TryNumberOrReply(cmd, options.Upper, out upper)) return;
        if (!AreBoundsOrReply(cmd, lower.CompareTo(upper) <= 0)) return;

        if (!cmd.OpenToWriteStringOrReply(1, out Entry entry)) return;
        ExtendedDouble value = default;
        if (entry.Exists && !ExtendedDouble.TryParse(entry.Value, out value))
        {
            cmd.Reply.Error("ERR value is not a valid float"u8);
            return;
        }

        // Two finite numbers whose sum is not: it lies beyond the bound on the increment's side.
        ExtendedDouble sum = value + increment;
        bool isAbove = sum.IsFinite ? sum.CompareTo(upper) > 0 : !increment.IsNegative;
        bool isBelow = sum.IsFinite ? sum.CompareTo(lower) < 0 : increment.IsNegative;
        bool isOutside = isAbove || isBelow;
        ExtendedDouble result = !isOutside ? sum : !options.Saturates ? value : isAbove ? upper : lower;
        ExtendedDouble applied = !isOutside ? increment : result + -value;
        if (!applied.IsFinite || !result.IsFinite)
        {
            cmd.Reply.Error("ERR increment would produce NaN or Infinity"u8);
            return;
        }

        Span<byte> buffer = result.TextIsShort ? stackalloc byte[ExtendedDouble.ShortTextBytesMax] : new byte[ExtendedDouble.TextBytesMax];
        ReadOnlySpan<byte> text = buffer[..result.Format(buffer)];
        if (!isOutside || options.Saturates)
        {
            ValueEncoding encoding = text.Length <= StringEncoding.EmbeddedBytesMax ? ValueEncoding.Embedded : ValueEncoding.Raw;
            Store(cmd, entry, text, encoding, KeyEvent.IncrByFloat, options, expiryMs);
        }

        cmd.Reply.Array(2);
        cmd.Reply.Double(text);
        Span<byte> appliedBuffer = applied.TextIsShort ? stackalloc byte[ExtendedDouble.ShortTextBytesMax] : new byte[ExtendedDouble.TextBytesMax];
        cmd.Reply.Double(appliedBuffer[..applied.Format(appliedBuffer)]);
    }

    private static bool TryNumberOrReply(scoped in CommandContext cmd, int argument, out ExtendedDouble number)
    {
        if (!ExtendedDouble.TryParse(cmd[argument], out number))
        {
            cmd.Reply.Error("ERR value is not a valid float"u8);
            return false;
        }

        if (number.IsFinite) return true;
        cmd.Reply.Error("ERR increment would produce NaN or Infinity"u8);
        return false;
    }

    private static bool AreBoundsOrReply(scoped in CommandContext cmd, bool inOrder)
    {
        if (inOrder) return true;
        cmd.Reply.Error("ERR LBOUND is greater than UBOUND"u8);
        return false;
    }

    private static void Store(scoped in CommandContext cmd, Entry entry, scoped ReadOnlySpan<byte> text, ValueEncoding encoding, KeyEvent keyEvent, in CounterOptions options, long expiryMs)
    {
        long present = entry.Exists ? entry.ExpiryMs : Database.NoExpiry;
        bool sets = options.Expiry.HasExpiry && (!options.OnlyWithoutExpiry || present == Database.NoExpiry);
        long result = sets ? expiryMs : options.Expiry.Persists ? Database.NoExpiry : present;
        if (!entry.Exists || result != present) cmd.WriteString(1, entry, text, encoding, result);
        else CounterCommands.WriteNumber(cmd, entry, text, encoding);
        cmd.Changed(1, keyEvent);
        if (sets) cmd.Changed(1, KeyEvent.Expire, count: 0);
        else if (result != present) cmd.Changed(1, KeyEvent.Persist, count: 0);
        cmd.EffectSet(1, text, result);
    }

    /// <summary>The options of INCREX. Numbers are located here and parsed by the kind of the increment.</summary>
    private ref struct CounterOptions
    {
        /// <summary>The argument of BYFLOAT or BYINT; 0: the increment is 1.</summary>
        internal int Increment { get; private set; }

        internal bool IsFloat { get; private set; }

        /// <summary>The argument of LBOUND; 0: none.</summary>
        internal int Lower { get; private set; }

        /// <summary>The argument of UBOUND; 0: none.</summary>
        internal int Upper { get; private set; }

        /// <summary>SATURATE: a result outside of the bounds becomes the bound.</summary>
        internal bool Saturates { get; private set; }

        /// <summary>ENX: the expiry is set only if there is none.</summary>
        internal bool OnlyWithoutExpiry { get; private set; }

        /// <summary>The expiry's options.</summary>
        internal StringOptions Expiry;

        internal static bool TryParseOrReply(scoped in CommandContext cmd, out CounterOptions result)
        {
            result = default;
            var options = new OptionReader(cmd, first: 2);
            while (options.More)
            {
                if (result.Increment == 0 && options.TakeWithValue("BYFLOAT"u8, out int argument)) (result.Increment, result.IsFloat) = (argument, true);
                else if (result.Increment == 0 && options.TakeWithValue("BYINT"u8, out argument)) result.Increment = argument;
                else if (result.Lower == 0 && options.TakeWithValue("LBOUND"u8, out argument)) result.Lower = argument;
                else if (result.Upper == 0 && options.TakeWithValue("UBOUND"u8, out argument)) result.Upper = argument;
                else if (options.Take("SATURATE"u8)) result.Saturates = true;
                else if (options.Take("ENX"u8)) result.OnlyWithoutExpiry = true;
                else if (!result.Expiry.TryTakeTimeOrPersist(ref options)) return SyntaxError(cmd);
            }

            return !result.OnlyWithoutExpiry || result.Expiry.HasExpiry || SyntaxError(cmd);
        }

        private static bool SyntaxError(scoped in CommandContext cmd)
        {
            cmd.ReplySyntaxError();
            return false;
        }
    }
}
