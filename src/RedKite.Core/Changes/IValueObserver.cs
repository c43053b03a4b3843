using RedKite.Store.Keyspace;

namespace RedKite.Server.Changes;

/// <summary>
/// Sees every value before and after it changes, as an index needs it. It is called with the stripes of the command locked, so in the order of execution for every
/// key; it must be quick, execute no commands, and change no data. The commands of a transaction or a script count one by one.
/// </summary>
/// <remarks>
/// It is called once for each key that a command reports as changed, even if the value is the same afterwards. Removals, expiries (of fields, too) and evictions
/// are reported like commands. Databases are named by their objects, whose contents <see cref="Swapped"/> and <see cref="Replaced"/> exchange.
/// </remarks>
internal interface IValueObserver
{
    /// <summary>A value that exists is about to change, to be replaced or to be removed: before the first change of a command.</summary>
    void Changing(Database database, ulong hash, scoped in Entry old);

    /// <summary>A key has changed, or was added or removed: after the command, in the order in which it changed its keys.</summary>
    /// <param name="database">The key's database.</param>
    /// <param name="hash">The key's hash.</param>
    /// <param name="key">The key.</param>
    /// <param name="now">Its value, which may have expired and still exist; none if the key was removed.</param>
    void Changed(Database database, ulong hash, ReadOnlySpan<byte> key, scoped in Entry now);

    /// <summary>All keys of a database were removed. <see cref="Changed"/> is not called for them. All stripes are locked.</summary>
    void Flushed(Database database);

    /// <summary>Two databases have exchanged their keys. All stripes are locked.</summary>
    void Swapped(Database first, Database second);

    /// <summary>A database has other keys, which were loaded without any call: what was known of it has to be built again. All stripes are locked.</summary>
    void Replaced(Database database);
}
