using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Arguments;

/// <summary>
/// The entries that a command has found by its keys, each once, however often the request names its key. For commands to which an entry
/// that they have read before says nothing new. Entries must not be added or written meanwhile.
/// </summary>
internal struct DistinctEntries
{
    // A few are read again sooner than they are remembered.
    private const int RepeatedMax = 8;

    private HashSet<nint>? _seen;

    /// <summary>How many have been accepted.</summary>
    internal int Count { get; private set; }

    /// <summary>Whether the entry is to be read: it is new, or one of the first few.</summary>
    internal bool Add(scoped in Entry entry)
    {
        if (Count >= RepeatedMax && !(_seen ??= []).Add(entry.Address)) return false;
        Count++;
        return true;
    }
}
