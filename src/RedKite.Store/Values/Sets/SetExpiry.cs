using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;

namespace RedKite.Store.Values.Sets;

/// <summary>
/// The expiry of a set's members. A set with one is a table, whose root has the earliest expiry, or an earlier time, in its word. Members
/// that have expired stay until the sweep or a command removes them, and are not shown meanwhile (<see cref="SetView.Hides"/>).
/// </summary>
internal static unsafe class SetExpiry
{
    /// <summary>The word of a table's root while no member expires.</summary>
    internal const ulong NoWord = long.MaxValue;

    /// <summary>Whether a set may have members that have expired.</summary>
    internal static bool HasExpired(Entry entry, ExpiryClock expiry) =>
        entry.Exists && entry.FieldsExpire && expiry.HasPassed(FieldExpiry.EarliestOf(entry.Position.Entry));

    /// <summary>
    /// Removes all members that have expired, each of them once, so that the cost is that of the commands which gave them an expiry. Does nothing if
    /// the caller must not modify what it reads, or a snapshot has still to write the set.
    /// </summary>
    /// <returns>The set's entry afterwards; none if no member is left.</returns>
    internal static Entry RemoveExpired(Database database, Entry entry, ExpiryClock expiry)
    {
        while (HasExpired(entry, expiry) && expiry.ReadsMayModify && !database.IsAwaited(entry))
        {
            entry = database.ExpireFields(entry, expiry.PassedMs, int.MaxValue);
        }

        return entry;
    }
}
