using RedKite.Persistence.Types;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Persistence.Rdb;

/// <summary>The outcome of reading a value.</summary>
internal enum RdbOutcome
{
    /// <summary>The key holds the value.</summary>
    Loaded,

    /// <summary>The value was a hash whose fields had all expired, or a set whose members had; the key is missing.</summary>
    NothingLeft,

    /// <summary>
    /// The value was a collection without elements, of which old versions wrote some; the key is missing. Of files only: RESTORE refuses it.
    /// </summary>
    Empty,

    /// <summary>The bytes are invalid; the key is missing.</summary>
    Corrupt,
}

/// <summary>The maximum sizes of packed values.</summary>
internal readonly record struct RdbLimits(HashLimits Hash, SetLimits Set, SortedSetLimits SortedSet, ListLimits List)
{
    /// <summary>The settings' defaults, for values whose encoding does not matter.</summary>
    internal static readonly RdbLimits Default = new(new HashLimits(512, 64), new SetLimits(512, 128, 64), new SortedSetLimits(128, 64), new ListLimits(-2));
}

/// <summary>The destination of a value: a missing key whose stripe is locked.</summary>
internal readonly ref struct RdbTarget(Database database, ReadOnlySpan<byte> key, ulong hash, uint accessClock, long nowMs, ExpiryClock expiry, RdbLimits limits)
{
    internal Database Database { get; } = database;

    internal ReadOnlySpan<byte> Key { get; } = key;

    internal ulong Hash { get; } = hash;

    internal uint AccessClock { get; } = accessClock;

    /// <summary>The current time.</summary>
    internal long NowMs { get; } = nowMs;

    /// <summary>When fields count as expired: those are skipped.</summary>
    internal ExpiryClock Expiry { get; } = expiry;

    internal RdbLimits Limits { get; } = limits;

    /// <summary>Whether the value is of a client's request, so that what reading it takes for itself is bounded (<c>ScratchMemory</c>).</summary>
    internal bool IsOfClient { get; init; }
}

/// <summary>
/// Reads an untrusted value into a key. Whatever its form, its elements are added one by one as commands add them, so it gets
/// the encoding that the limits determine and equals a value created by commands. Invalid bytes leave nothing behind; what a
/// value states about its elements is determined from them (<see cref="RdbScratch.Corrects"/>).
/// </summary>
internal static class RdbValueReader
{
    /// <summary>Reads a value of a type.</summary>
    internal static RdbOutcome Read(RdbType type, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        scratch.BeginValue();
        PersistedType? reader = PersistedTypes.OfForm(type);
        if (type == RdbType.Module && input.TryLength(out ulong id)) _ = PersistedTypes.TryOfModule(id, out reader);
        bool read = reader is not null && reader.TryRead(type, ref input, target, scratch);
        scratch.Clear();
        if (!read) return Discard(target);
        if (type == RdbType.String) return RdbOutcome.Loaded;
        return target.Database.Find(target.Key, target.Hash, target.Expiry).Exists ? RdbOutcome.Loaded : RdbOutcome.NothingLeft;
    }

    /// <summary>Removes a value that was read, because it turned out to be damaged.</summary>
    internal static RdbOutcome Discard(in RdbTarget target)
    {
        Entry entry = target.Database.Find(target.Key, target.Hash, target.Expiry);
        if (entry.Exists) target.Database.Unlink(entry, UnlinkReason.Deleted);
        return RdbOutcome.Corrupt;
    }
}
