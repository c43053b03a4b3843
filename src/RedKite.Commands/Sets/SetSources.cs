using RedKite.Server.Model;
using RedKite.Store.Values.Sets;

namespace RedKite.Server.Commands.Sets;

/// <summary>
/// The sets of an intersection or difference in the order in which they are read. What is subtracted is united first where there are many small sets: to
/// look up each member in each of them takes the product of two sizes that a client chooses, and sets of one member bound neither.
/// </summary>
internal readonly ref struct SetSources
{
    // So few sets are searched one after the other.
    private const int SetsSearchedMax = 4;

    // Adding a member to a set takes about as long as looking up so many.
    private const int LookupsForEachMember = 8;

    private readonly bool _unites;
    private readonly SetValue _united;

    private SetSources(ReadOnlySpan<SetView> sets) => Sets = sets;

    private SetSources(Span<SetView> sets, SetValue united)
    {
        _unites = true;
        _united = united;
        sets[1] = united.View;
        Sets = sets[..2];
    }

    /// <summary>The first set, whose members are selected, and those in which they are looked up.</summary>
    internal ReadOnlySpan<SetView> Sets { get; }

    // An intersection begins with the smallest set, which has the fewest members to look up, and continues with the next
    // smallest, which is the least likely to contain them. A difference begins with the first set, and the largest of the
    // others is the most likely to contain its members.
    internal static SetSources InOrder(scoped in CommandContext cmd, ulong hash, Span<SetView> sets, bool inAll)
    {
        if (inAll)
        {
            sets.Sort(static (a, b) => a.Count.CompareTo(b.Count));
            return new SetSources(sets);
        }

        sets[1..].Sort(static (a, b) => b.Count.CompareTo(a.Count));
        while (sets.Length > 1 && sets[^1].Count == 0) sets = sets[..^1];
        long subtracted = 0;
        foreach (ref readonly SetView set in sets[1..]) subtracted += set.Count;
        return Unites(sets[0].Count, sets.Length - 1, subtracted) ? new SetSources(sets, Union(cmd, hash, sets[1..])) : new SetSources(sets);
    }

    /// <summary>Whether uniting the sets that are subtracted takes less work than searching each of them.</summary>
    /// <param name="members">The members of the first set.</param>
    /// <param name="others">The number of the other sets.</param>
    /// <param name="subtracted">Their members together.</param>
    internal static bool Unites(long members, int others, long subtracted) => others > SetsSearchedMax && members * others > members + (LookupsForEachMember * subtracted);

    /// <summary>Builds the union of sets, without a key.</summary>
    internal static SetValue Union(scoped in CommandContext cmd, ulong hash, ReadOnlySpan<SetView> sets)
    {
        SetValue union = SetValue.CreateDetached(cmd.Database, hash, cmd.SetLimits(), isIntegers: true);
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        long countMin = 0;
        foreach (ref readonly SetView set in sets) countMin = Math.Max(countMin, set.Count);
        union.ExpectOfAnyKind(countMin);
        for (int i = 0; i < sets.Length; i++)
        {
            if (i < SetsSearchedMax)
            {
                var others = new SetSelection(sets[i], sets[..i], inAll: false, number);
                while (others.MoveNext()) union.AddNew(others.Current);
            }
            else
            {
                SetEnumerator members = sets[i].Enumerate(number);
                while (members.MoveNext()) union.Add(members.Current);
            }
        }

        return union;
    }

    internal void Free()
    {
        if (_unites) _united.Free();
    }
}
