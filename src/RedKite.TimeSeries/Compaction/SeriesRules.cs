using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Persistence.Types;
using RedKite.TimeSeries.Ranges;

namespace RedKite.TimeSeries.Compaction;

/// <summary>A rule without its destination's key, which follows it in the series.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct Rule
{
    /// <summary>The start of a bucket before the first sample.</summary>
    internal const long NoBucket = long.MinValue;

    internal int KeyLength;
    internal Aggregator Aggregator;
    internal long Duration;
    internal long Align;

    /// <summary>The bucket that is open: its samples are not in the destination yet.</summary>
    internal long Start;

    internal Bucket Bucket;
}

/// <summary>The compaction rules of a series, one behind the other, each with its destination's key.</summary>
internal readonly ref struct SeriesRules(Span<byte> bytes)
{
    /// <summary>Rules of a series, at most.</summary>
    internal const int CountMax = 64;

    private static volatile bool _exist;

    private readonly Span<byte> _bytes = bytes;

    /// <summary>Whether the process ever had a rule: then what changes series needs the stripes of keys that it does not name.</summary>
    internal static bool Exist => _exist;

    internal static int HeadBytes => Unsafe.SizeOf<Rule>();

    internal int Count
    {
        get
        {
            int count = 0;
            for (int at = 0; at < _bytes.Length; at = Next(at)) count++;
            return count;
        }
    }

    /// <summary>The bytes of all rules.</summary>
    internal int Length => _bytes.Length;

    internal static void NoteExistence() => _exist = true;

    internal Rule this[int at]
    {
        get => MemoryMarshal.Read<Rule>(_bytes[at..]);
        set => MemoryMarshal.Write(_bytes[at..], value);
    }

    internal ReadOnlySpan<byte> Key(int at) => _bytes.Slice(at + HeadBytes, this[at].KeyLength);

    /// <summary>Where the rule behind the one at a position begins.</summary>
    internal int Next(int at) => at + HeadBytes + this[at].KeyLength;

    /// <summary>The position of the rule for a destination; -1: there is none.</summary>
    internal int Find(ReadOnlySpan<byte> key)
    {
        for (int at = 0; at < _bytes.Length; at = Next(at))
        {
            if (Key(at).SequenceEqual(key)) return at;
        }

        return -1;
    }

    /// <summary>Whether bytes from a file are rules.</summary>
    internal static bool AreValid(ReadOnlySpan<byte> bytes)
    {
        int count = 0;
        while (!bytes.IsEmpty)
        {
            if (bytes.Length < HeadBytes || ++count > CountMax) return false;
            Rule rule = MemoryMarshal.Read<Rule>(bytes);
            if (rule.KeyLength < 0 || rule.KeyLength > bytes.Length - HeadBytes || rule.Aggregator is Aggregator.None or > Aggregator.CountAll || rule.Duration <= 0 || rule.Align < 0) return false;
            bytes = bytes[(HeadBytes + rule.KeyLength)..];
        }

        return true;
    }

    /// <summary>Mixes into a digest what the rules are, without their open buckets.</summary>
    internal void Mix(DatasetDigest digest)
    {
        Span<byte> numbers = stackalloc byte[16];
        for (int at = 0; at < _bytes.Length; at = Next(at))
        {
            digest.Mix(Key(at));
            digest.MixNumber((int)this[at].Aggregator);
            BinaryPrimitives.WriteInt64BigEndian(numbers, this[at].Duration);
            BinaryPrimitives.WriteInt64BigEndian(numbers[8..], this[at].Align);
            digest.Mix(numbers);
        }
    }
}
