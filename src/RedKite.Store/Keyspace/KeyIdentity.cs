namespace RedKite.Store.Keyspace;

/// <summary>
/// A key's database and hash, for clients that wait for it. The key itself is checked in the end, so two keys with one hash do no harm.
/// </summary>
internal readonly record struct KeyIdentity(int Database, ulong Hash);
