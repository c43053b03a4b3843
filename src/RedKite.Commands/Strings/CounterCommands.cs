using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Strings;

/// <summary>Commands on strings that hold numbers: 64-bit integers, and floating-point numbers with the precision of ExtendedDouble.</summary>
internal static class CounterCommands
{
    private const KeyFlags Counts = ReadWrite | Access | Update;

    internal static readonly CommandFamily Family = new("string", "string",
    [
        new("INCR", 2, Write | DenyOom | Fast, KeySpecs.One(1, Counts), Incr,
            new("1.0.0", "O(1)", "Increments the integer value of a key by one. A missing key counts as 0.", "key")),
        new("DECR", 2, Write | DenyOom | Fast, KeySpecs.One(1, Counts), Decr,
            new("1.0.0", "O(1)", "Decrements the integer value of a key by one. A missing key counts as 0.", "key")),
        new("INCRBY", 3, Write | DenyOom | Fast, KeySpecs.One(1, Counts), IncrBy,
            new("1.0.0", "O(1)", "Increments the integer value of a key by a number. A missing key counts as 0.", "key increment")),
        new("DECRBY", 3, Write | DenyOom | Fast, KeySpecs.One(1, Counts), DecrBy,
            new("1.0.0", "O(1)", "Decrements the integer value of a key by a number. A missing key counts as 0.", "key decrement")),
        new("INCRBYFLOAT", 3, Write | DenyOom | Fast, KeySpecs.One(1, Counts), IncrByFloat,
            new("2.6.0", "O(1)", "Increments the floating-point value of a key by a number. A missing key counts as 0.", "key increment:double")),
    ]);

    // INCR key
    private static void Incr(ref CommandContext cmd) => Add(ref cmd, 1);

    // DECR key
    private static void Decr(ref CommandContext cmd) => Add(ref cmd, -1);

    // INCRBY key increment
    private static void IncrBy(ref CommandContext cmd)
    {
        if (cmd.TryIntegerOrReply(2, out long increment)) Add(ref cmd, increment);
    }

    // DECRBY key decrement
    private static void DecrBy(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(2, out long decrement)) return;
        if (decrement == long.MinValue)
        {
            cmd.Reply.Error("ERR decrement would overflow"u8);
            return;
        }

        Add(ref cmd, -decrement);
    }

    private static void Add(ref CommandContext cmd, long increment)
    {
        if (!cmd.OpenToWriteStringOrReply(1, out Entry entry)) return;
        long value = 0;
        if (entry.Exists && !RespNumber.TryParseInt64(entry.Value, out value))
        {
            cmd.Reply.Error("ERR value is not an integer or out of range"u8);
            return;
        }

        long sum = unchecked(value + increment);
        if (((value ^ sum) & (increment ^ sum)) < 0)
        {
            cmd.Reply.Error("ERR increment or decrement would overflow"u8);
            return;
        }

        Span<byte> buffer = stackalloc byte[RespNumber.Int64TextMax];
        WriteNumber(cmd, entry, buffer[..RespNumber.Format(sum, buffer)], ValueEncoding.Integer);
        cmd.Changed(1, KeyEvent.IncrBy);
        cmd.Reply.Integer(sum);
    }

    // INCRBYFLOAT key increment
    private static void IncrByFloat(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteStringOrReply(1, out Entry entry)) return;
        ExtendedDouble value = default;
        if ((entry.Exists && !ExtendedDouble.TryParse(entry.Value, out value))
            || !ExtendedDouble.TryParse(cmd[2], out ExtendedDouble increment))
        {
            cmd.Reply.Error("ERR value is not a valid float"u8);
            return;
        }

        ExtendedDouble sum = value + increment;
        if (!sum.IsFinite)
        {
            cmd.Reply.Error("ERR increment would produce NaN or Infinity"u8);
            return;
        }

        Span<byte> buffer = sum.TextIsShort ? stackalloc byte[ExtendedDouble.ShortTextBytesMax] : new byte[ExtendedDouble.TextBytesMax];
        ReadOnlySpan<byte> text = buffer[..sum.Format(buffer)];
        ValueEncoding encoding = text.Length <= StringEncoding.EmbeddedBytesMax ? ValueEncoding.Embedded : ValueEncoding.Raw;
        WriteNumber(cmd, entry, text, encoding);
        cmd.Changed(1, KeyEvent.IncrByFloat);

        // The resulting text, not the increment: another machine's arithmetic may round differently.
        if (cmd.Recording.TakesEffects) cmd.Effect("SET"u8, 4).Argument(cmd[1]).Argument(text).Argument("KEEPTTL"u8);
        cmd.Reply.Bulk(text);
    }

    /// <summary>Writes a number's text: in place if the length is unchanged, which is the usual case. The expiry is kept.</summary>
    internal static void WriteNumber(scoped in CommandContext cmd, Entry entry, scoped ReadOnlySpan<byte> text, ValueEncoding encoding)
    {
        if (!entry.Exists)
        {
            cmd.WriteString(1, entry, text, encoding, Database.NoExpiry);
            return;
        }

        if (entry.Value.Length != text.Length) entry = cmd.Database.ResizeValue(entry, text.Length);
        text.CopyTo(entry.Value);
        entry.SetEncoding(encoding);
    }
}
