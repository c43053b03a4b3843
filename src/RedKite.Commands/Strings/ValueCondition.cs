using System.Buffers.Text;
using System.Globalization;
using System.IO.Hashing;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Strings;

/// <summary>A condition on a string's present value: IFEQ and IFNE compare the value, IFDEQ and IFDNE its digest.</summary>
/// <param name="Argument">The argument that the value or digest is compared with; 0: there is no condition.</param>
/// <param name="OfDigest">Whether the digest is compared.</param>
/// <param name="Negated">Whether they must differ. A missing key then meets the condition.</param>
internal readonly record struct ValueCondition(int Argument, bool OfDigest, bool Negated)
{
    /// <summary>The length of a digest: 64 bits in hexadecimal.</summary>
    internal const int DigestLength = 16;

    internal bool Exists => Argument > 0;

    /// <summary>Takes the next option if it is a condition with its argument.</summary>
    internal static bool TryTake(ref OptionReader options, out ValueCondition condition)
    {
        condition = default;
        if (options.TakeWithValue("IFEQ"u8, out int argument)) condition = new(argument, OfDigest: false, Negated: false);
        else if (options.TakeWithValue("IFNE"u8, out argument)) condition = new(argument, OfDigest: false, Negated: true);
        else if (options.TakeWithValue("IFDEQ"u8, out argument)) condition = new(argument, OfDigest: true, Negated: false);
        else if (options.TakeWithValue("IFDNE"u8, out argument)) condition = new(argument, OfDigest: true, Negated: true);
        return condition.Exists;
    }

    /// <summary>Whether an argument is the word of a condition.</summary>
    internal static bool IsWord(scoped in CommandContext cmd, int argument) =>
        cmd.Is(argument, "IFEQ"u8) || cmd.Is(argument, "IFNE"u8) || cmd.Is(argument, "IFDEQ"u8) || cmd.Is(argument, "IFDNE"u8);

    /// <summary>
    /// Whether the condition's argument can be compared with a key's string: a digest has 16 characters. As in Redis, others than hexadecimal digits
    /// are no digest of any string, and nothing is compared with a missing key.
    /// </summary>
    internal bool IsValidOrReply(scoped in CommandContext cmd, scoped in Entry entry)
    {
        if (!OfDigest || !entry.Exists || cmd[Argument].Length == DigestLength) return true;
        cmd.Reply.Error("ERR must be exactly 16 hexadecimal characters"u8);
        return false;
    }

    /// <summary>Whether a key's string, or its absence, meets the condition.</summary>
    internal bool IsMetBy(scoped in CommandContext cmd, scoped in Entry entry)
    {
        if (!entry.Exists) return Negated;
        bool equal = OfDigest
            ? TryParseDigest(cmd[Argument], out ulong digest) && digest == DigestOf(entry)
            : cmd[Argument].SequenceEqual(entry.Value);
        return equal != Negated;
    }

    /// <summary>The digest of a string: XXH3 of 64 bits.</summary>
    internal static ulong DigestOf(scoped in Entry entry) => XxHash3.HashToUInt64(entry.Value);

    // Hexadecimal digits in any case; the parser alone would take fewer.
    private static bool TryParseDigest(ReadOnlySpan<byte> text, out ulong digest)
    {
        digest = 0;
        return text.Length == DigestLength && Utf8Parser.TryParse(text, out digest, out int read, 'x') && read == DigestLength;
    }

    /// <summary>Writes a digest as its 16 hexadecimal digits.</summary>
    internal static void Format(ulong digest, Span<byte> destination) => digest.TryFormat(destination, out _, "x16", CultureInfo.InvariantCulture);
}
