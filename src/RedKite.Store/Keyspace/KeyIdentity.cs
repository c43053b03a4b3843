namespace RedKite.Store.Keyspace;

/// <summary>
/// A key by its database and hash, for those who wait for it: they look at the key itself in the end, so that two keys of
/// one hash do no harm.
/// </summary>
internal readonly record struct KeyIdentity(int Database, ulong Hash);
