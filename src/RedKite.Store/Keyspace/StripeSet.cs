using System.Numerics;
using System.Runtime.CompilerServices;

namespace RedKite.Store.Keyspace;

/// <summary>
/// A set of stripes, by their indexes. It enumerates in ascending order, which is the order in which stripes are locked.
/// </summary>
/// <remarks>One 64-bit word, so that a set lives in a register. Only this file knows that: callers see no bits.</remarks>
internal readonly struct StripeSet : IEquatable<StripeSet>
{
    /// <summary>How many stripes a keyspace has at most.</summary>
    internal const int StripesMax = 64;

    private readonly ulong _bits;

    private StripeSet(ulong bits) => _bits = bits;

    internal static StripeSet Empty => default;

    internal bool IsEmpty => _bits == 0;

    internal int Count => BitOperations.PopCount(_bits);

    /// <summary>The set of a single stripe.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static StripeSet Of(int stripe) => new(1UL << stripe);

    /// <summary>The set of the first stripes: all of a keyspace that has <paramref name="count"/> of them.</summary>
    internal static StripeSet First(int count) => new(count == StripesMax ? ulong.MaxValue : (1UL << count) - 1);

    internal bool Contains(int stripe) => (_bits >> stripe & 1) != 0;

    internal bool Contains(StripeSet other) => (other._bits & ~_bits) == 0;

    internal bool Overlaps(StripeSet other) => (other._bits & _bits) != 0;

    internal StripeSet With(int stripe) => new(_bits | (1UL << stripe));

    internal StripeSet With(StripeSet other) => new(_bits | other._bits);

    internal StripeSet Without(int stripe) => new(_bits & ~(1UL << stripe));

    internal StripeSet Without(StripeSet other) => new(_bits & ~other._bits);

    public Enumerator GetEnumerator() => new(_bits);

    public bool Equals(StripeSet other) => _bits == other._bits;

    public override bool Equals(object? obj) => obj is StripeSet other && Equals(other);

    public override int GetHashCode() => _bits.GetHashCode();

    /// <summary>The indexes, for reports and failing tests: "0, 5, 63".</summary>
    public override string ToString()
    {
        var text = new System.Text.StringBuilder();
        foreach (int stripe in this) text.Append(text.Length == 0 ? "" : ", ").Append(stripe);
        return text.ToString();
    }

    internal struct Enumerator(ulong bits)
    {
        private ulong _left = bits;

        public int Current { get; private set; }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public bool MoveNext()
        {
            if (_left == 0) return false;
            Current = BitOperations.TrailingZeroCount(_left);
            _left &= _left - 1;
            return true;
        }
    }
}
