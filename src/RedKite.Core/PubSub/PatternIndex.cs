using System.Numerics;
using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.PubSub;

/// <summary>A pattern in a <see cref="PatternIndex"/>, with its subscribers.</summary>
internal sealed class SubscribedPattern(byte[] text)
{
    private int _listedAt; // in the list of its index: it is removed without a search, because a client has any number of patterns

    internal byte[] Text { get; } = text;

    internal SubscriberList Subscribers { get; } = new();

    internal void AddTo(List<SubscribedPattern> patterns)
    {
        _listedAt = patterns.Count;
        patterns.Add(this);
    }

    /// <summary>Removes it; the last one takes its place, as they are in no order.</summary>
    internal void RemoveFrom(List<SubscribedPattern> patterns)
    {
        SubscribedPattern last = patterns[^1];
        patterns[_listedAt] = last;
        last._listedAt = _listedAt;
        patterns.RemoveAt(patterns.Count - 1);
    }
}

/// <summary>
/// Finds the patterns that match a channel without trying them all. Each pattern is filed under one literal that every matching
/// channel has: its beginning, its end, or up to eight bytes from its middle. A channel is looked up once for each
/// length of a beginning and an end that occurs, and once for each of its own positions if there are patterns with a middle
/// alone. Only patterns found there are matched. Patterns without a literal (*, ?, classes alone) are always matched.
/// </summary>
internal sealed class PatternIndex
{
    // Longer beginnings and ends are filed under this many bytes.
    private const int AnchorBytesMax = 63;
    private const int MiddleBytesMax = 8;

    private readonly Anchors _beginnings = new();
    private readonly Anchors _ends = new();
    private readonly Anchors _middles = new();
    private readonly List<SubscribedPattern> _others = [];

    /// <summary>Where a pattern is filed.</summary>
    private enum AnchorAt
    {
        Beginning,
        End,
        Middle,
        Other,
    }

    internal void Add(SubscribedPattern pattern)
    {
        AnchorAt at = AnchorOf(pattern.Text, out byte[] anchor);
        if (at == AnchorAt.Other) pattern.AddTo(_others);
        else Of(at).Add(anchor, pattern);
    }

    internal void Remove(SubscribedPattern pattern)
    {
        AnchorAt at = AnchorOf(pattern.Text, out byte[] anchor);
        if (at == AnchorAt.Other) pattern.RemoveFrom(_others);
        else Of(at).Remove(anchor, pattern);
    }

    /// <summary>Adds all patterns that match a channel.</summary>
    /// <param name="channel">The channel.</param>
    /// <param name="matches">Where they are added.</param>
    /// <param name="budget">The steps that they may take. When they are used up, only patterns that take few match.</param>
    internal void FindMatches(ReadOnlySpan<byte> channel, List<SubscribedPattern> matches, GlobBudget budget)
    {
        for (ulong lengths = _beginnings.Lengths; lengths != 0; lengths &= lengths - 1)
        {
            int length = BitOperations.TrailingZeroCount(lengths);
            if (length > channel.Length) break;
            _beginnings.Match(channel[..length], channel, matches, budget);
        }

        for (ulong lengths = _ends.Lengths; lengths != 0; lengths &= lengths - 1)
        {
            int length = BitOperations.TrailingZeroCount(lengths);
            if (length > channel.Length) break;
            _ends.Match(channel[^length..], channel, matches, budget);
        }

        if (_middles.Lengths != 0) FindMiddles(channel, matches, budget);
        foreach (SubscribedPattern pattern in _others)
        {
            if (budget.IsMatch(pattern.Text, channel)) matches.Add(pattern);
        }
    }

    private void FindMiddles(ReadOnlySpan<byte> channel, List<SubscribedPattern> matches, GlobBudget budget)
    {
        for (ulong lengths = _middles.Lengths; lengths != 0; lengths &= lengths - 1)
        {
            int length = BitOperations.TrailingZeroCount(lengths);
            for (int at = 0; at + length <= channel.Length; at++)
            {
                // Duplicates are looked up once.
                ReadOnlySpan<byte> middle = channel.Slice(at, length);
                if (_middles.Has(middle) && channel.IndexOf(middle) == at) _middles.Match(middle, channel, matches, budget);
            }
        }
    }

    private Anchors Of(AnchorAt at) => at switch
    {
        AnchorAt.Beginning => _beginnings,
        AnchorAt.End => _ends,
        _ => _middles,
    };

    // The longest literal of the pattern: at its beginning, at its end, or between two wildcards. Escaped bytes and classes
    // only separate literals, which is always correct, because an overlooked literal is merely not used.
    private static AnchorAt AnchorOf(ReadOnlySpan<byte> pattern, out byte[] anchor)
    {
        ReadOnlySpan<byte> wildcards = "*?[\\"u8;
        anchor = [];
        int first = pattern.IndexOfAny(wildcards);
        ReadOnlySpan<byte> beginning = first < 0 ? pattern : pattern[..first];
        bool hasClassOrEscape = pattern.IndexOfAny((byte)'[', (byte)'\\') >= 0;
        ReadOnlySpan<byte> end = hasClassOrEscape ? [] : pattern[(pattern.LastIndexOfAny(wildcards) + 1)..];
        if (beginning.Length > 0 && beginning.Length >= end.Length)
        {
            anchor = beginning[..Math.Min(beginning.Length, AnchorBytesMax)].ToArray();
            return AnchorAt.Beginning;
        }

        if (end.Length > 0)
        {
            anchor = end[^Math.Min(end.Length, AnchorBytesMax)..].ToArray();
            return AnchorAt.End;
        }

        ReadOnlySpan<byte> middle = [];
        ReadOnlySpan<byte> rest = hasClassOrEscape ? UpToClassOrEscape(pattern) : pattern;
        while (!rest.IsEmpty)
        {
            int length = rest.IndexOfAny((byte)'*', (byte)'?');
            ReadOnlySpan<byte> literal = length < 0 ? rest : rest[..length];
            if (literal.Length > middle.Length) middle = literal;
            rest = length < 0 ? [] : rest[(length + 1)..];
        }

        if (middle.IsEmpty) return AnchorAt.Other;
        anchor = middle[..Math.Min(middle.Length, MiddleBytesMax)].ToArray();
        return AnchorAt.Middle;
    }

    private static ReadOnlySpan<byte> UpToClassOrEscape(ReadOnlySpan<byte> pattern) => pattern[..pattern.IndexOfAny((byte)'[', (byte)'\\')];

    /// <summary>Patterns by literals of up to 63 bytes.</summary>
    private sealed class Anchors
    {
        private readonly Dictionary<byte[], List<SubscribedPattern>> _patterns = new(NameComparer.Instance);
        private readonly Dictionary<byte[], List<SubscribedPattern>>.AlternateLookup<ReadOnlySpan<byte>> _lookup;
        private readonly int[] _countOfLength = new int[AnchorBytesMax + 1];

        internal Anchors() => _lookup = _patterns.GetAlternateLookup<ReadOnlySpan<byte>>();

        /// <summary>A bit for each length of a literal that occurs.</summary>
        internal ulong Lengths { get; private set; }

        internal void Add(byte[] anchor, SubscribedPattern pattern)
        {
            if (!_patterns.TryGetValue(anchor, out List<SubscribedPattern>? patterns)) _patterns.Add(anchor, patterns = []);
            pattern.AddTo(patterns);
            if (_countOfLength[anchor.Length]++ == 0) Lengths |= 1UL << anchor.Length;
        }

        internal void Remove(byte[] anchor, SubscribedPattern pattern)
        {
            List<SubscribedPattern> patterns = _patterns[anchor];
            pattern.RemoveFrom(patterns);
            if (patterns.Count == 0) _patterns.Remove(anchor);
            if (--_countOfLength[anchor.Length] == 0) Lengths &= ~(1UL << anchor.Length);
        }

        internal bool Has(ReadOnlySpan<byte> anchor) => _lookup.ContainsKey(anchor);

        internal void Match(ReadOnlySpan<byte> anchor, ReadOnlySpan<byte> channel, List<SubscribedPattern> matches, GlobBudget budget)
        {
            if (!_lookup.TryGetValue(anchor, out List<SubscribedPattern>? patterns)) return;
            foreach (SubscribedPattern pattern in patterns)
            {
                if (budget.IsMatch(pattern.Text, channel)) matches.Add(pattern);
            }
        }
    }
}
