using System.Numerics;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Memory;
using RedKite.Store.Values.Sets;

namespace RedKite.Server.Commands.Sets;

/// <summary>
/// Distinct members of a set, chosen at random: every choice of that many members has the same chance. It holds positions, not
/// members: a table's blocks, or ascending indexes in a compact set. They are valid until the set changes.
/// </summary>
internal readonly ref struct SetSample
{
    // Up to a quarter of a table is chosen member by member, more in one pass over it.
    private const long PickedShare = 4;

    // Up to this count, a new position is compared with each earlier one; beyond, it is looked up in a table.
    private const int ComparedMax = 256;

    // Slots of that table for each member, at most.
    private const int LookedUpSlots = 4;

    private readonly SetView _set;
    private readonly NativeList<nint> _positions;

    /// <summary>Chooses members.</summary>
    /// <param name="set">The set.</param>
    /// <param name="count">The number of members, less than the set has.</param>
    internal SetSample(SetView set, int count)
    {
        _set = set;
        _positions = new NativeList<nint>(count);
        Span<nint> positions = _positions.Items;
        if (!set.IsTable || set.Hides || count > set.Count / PickedShare) ChooseInOnePass(set, positions);
        else if (count <= ComparedMax) PickAndCompare(set, positions);
        else PickAndLookUp(set, positions);
    }

    /// <summary>Whether there is memory for so many members: their positions, and a table of those that are looked up.</summary>
    internal static bool HasRoom(long count) => NativeList<nint>.HasRoom(count * (1 + LookedUpSlots));

    /// <summary>Replies the members.</summary>
    internal void Reply(ReplyWriter reply)
    {
        if (_set.IsTable)
        {
            foreach (nint block in _positions.Items) reply.Bulk(SetView.MemberAt(block));
            return;
        }

        SetEnumerator members = _set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        Span<nint> positions = _positions.Items;
        int next = 0;
        for (int index = 0; next < positions.Length && members.MoveNext(); index++)
        {
            if (index != positions[next]) continue;
            reply.Bulk(members.Current);
            next++;
        }
    }

    /// <summary>A chosen member. In a compact set, those before it may still be there, but none behind it may have been removed.</summary>
    /// <param name="index">Its index in the sample.</param>
    /// <param name="set">The set as it is now.</param>
    /// <param name="number">Where a number's text is written: <see cref="SetEnumerator.NumberBytesMax"/> bytes.</param>
    internal ReadOnlySpan<byte> Member(int index, SetView set, Span<byte> number) =>
        set.IsTable ? SetView.MemberAt(_positions.Items[index]) : set.MemberAt((int)_positions.Items[index], number);

    internal void Release() => _positions.Dispose();

    // Each member in turn is taken with the probability that completes the sample.
    private static void ChooseInOnePass(SetView set, Span<nint> positions)
    {
        long left = set.Count;
        int wanted = positions.Length;
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        for (int index = 0; wanted > 0 && members.MoveNext(); index++, left--)
        {
#pragma warning disable CA5394 // Not a secret: a sample.
            if (SamplingRandom.Current.NextInt64(left) >= wanted) continue;
#pragma warning restore CA5394
            positions[^wanted] = set.IsTable ? members.Block : index;
            wanted--;
        }
    }

    // At most a quarter of the members has been taken, so a pick is new with a probability of at least three quarters.
    private static void PickAndCompare(SetView set, Span<nint> positions)
    {
        for (int picked = 0; picked < positions.Length;)
        {
            set.Pick(SamplingRandom.Current, default, out nint position);
            if (!positions[..picked].Contains(position)) positions[picked++] = position;
        }
    }

    private static void PickAndLookUp(SetView set, Span<nint> positions)
    {
        int capacity = (int)BitOperations.RoundUpToPowerOf2((uint)positions.Length * 2);
        using var table = new NativeList<nint>(capacity);
        Span<nint> seen = table.Items;
        seen.Clear();
        for (int picked = 0; picked < positions.Length;)
        {
            set.Pick(SamplingRandom.Current, default, out nint position);
            if (TryAdd(seen, position)) positions[picked++] = position;
        }
    }

    // A hash table that is at most half full; false if it has the position.
    private static bool TryAdd(Span<nint> table, nint position)
    {
        int mask = table.Length - 1;
        int at = (int)((ulong)position * 0x9E3779B97F4A7C15 >> 33) & mask;
        for (; table[at] != 0; at = (at + 1) & mask)
        {
            if (table[at] == position) return false;
        }

        table[at] = position;
        return true;
    }
}
