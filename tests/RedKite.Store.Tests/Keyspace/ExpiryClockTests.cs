using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>What becomes of a key or field that is found expired, by the caller's policy.</summary>
public sealed class ExpiryClockTests : IDisposable
{
    private const long PassedMs = 1_000;

    private static readonly HashLimits Packed = new(128, 64);
    private static readonly HashLimits Tables = new(0, 64);

    private readonly KeyStore _store = new(1, 1, guarded: true);
    private readonly ulong _hash;

    public ExpiryClockTests() => _hash = _store.Hash("key"u8);

    private Database Database => _store.Databases[0];

    private static ExpiryClock Removing => ExpiryClock.RemovingAt(PassedMs);

    private static ExpiryClock Hiding => new(PassedMs, ExpiryPolicy.Hide);

    private static ExpiryClock Keeping => new(PassedMs, ExpiryPolicy.Keep);

    [Fact]
    public void Expired_key_is_removed_for_a_primary()
    {
        Write(PassedMs);
        Assert.False(Find(Removing));
        Assert.Equal(0, Database.Count);
        Assert.Equal(1, _store.ExpiredKeys);
    }

    [Fact]
    public void Expired_key_is_hidden_from_readers_of_a_replica_and_stays()
    {
        Write(PassedMs);
        Assert.False(Find(Hiding));
        Assert.False(Database.Pick(0, new Random(1), Hiding).Exists);
        Database.ExpireStripe(0, Hiding);
        Assert.Equal(1, Database.Count);
        Assert.Equal(0, _store.ExpiredKeys);
        Assert.False(Find(Hiding.ToWrite));
        Assert.Equal(0, Database.Count);
    }

    [Fact]
    public void Nothing_expires_in_a_replay()
    {
        Write(PassedMs);
        Assert.True(Find(Keeping));
        Assert.True(Find(Keeping.ToWrite));
        Assert.True(Database.OpenToWrite("key"u8, _hash, Keeping).Exists);
        Assert.True(Database.Pick(0, new Random(1), Keeping).Exists);
        Database.ExpireStripe(0, Keeping);
        Assert.Equal(1, Database.Count);
        Assert.Equal(PassedMs, Database.Find("key"u8, _hash, Keeping).ExpiryMs);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Expired_fields_are_removed_hidden_or_kept(bool isTable)
    {
        HashValue hash = HashValue.Create(Database, "key"u8, _hash, 0, ExpiryClock.Never);
        HashLimits limits = isTable ? Tables : Packed;
        hash.Set("stays"u8, "1"u8, limits);
        hash.Set("expires"u8, "2"u8, limits);
        hash.WriteExpiry("expires"u8, PassedMs);

        HashValue kept = HashValue.Open(Database, Entry(), Keeping);
        kept.RemoveExpired();
        Assert.True(kept.TryGetLive("expires"u8, out _));
        Assert.Equal(PassedMs, kept.ExpiryOf("expires"u8));
        Assert.Equal(2, kept.LivingCount);
        kept.RemoveIfExpired("expires"u8);
        Assert.Equal(2, kept.Count);

        HashValue hidden = HashValue.OpenToRead(Database, Entry(), Hiding);
        hidden.RemoveExpired();
        Assert.False(hidden.TryGetLive("expires"u8, out _));
        Assert.Equal(1, hidden.LivingCount);
        Assert.Equal(0, _store.ExpiredFields);

        HashValue removed = HashValue.OpenToRead(Database, Entry(), Removing);
        removed.RemoveExpired();
        Assert.Equal(1, removed.Count);
        Assert.Equal(1, _store.ExpiredFields);
    }

    [Fact]
    public void Replay_changes_a_field_whose_expiry_has_passed()
    {
        HashValue hash = HashValue.Create(Database, "key"u8, _hash, 0, ExpiryClock.Never);
        hash.Set("field"u8, "1"u8, Tables);
        hash.WriteExpiry("field"u8, PassedMs);
        hash = HashValue.Open(Database, Entry(), Keeping);
        Assert.False(hash.SetAndKeepExpiry("field"u8, "2"u8, Tables));
        Assert.Equal(PassedMs, hash.ExpiryOf("field"u8));
        Assert.True(hash.Remove("field"u8));
        Assert.Equal(0, Database.Count);
        Assert.Equal(0, _store.ExpiredFields);
    }

    public void Dispose()
    {
        _store.CheckGuards();
        _store.Dispose();
    }

    private void Write(long expiryMs) =>
        Database.WriteString("key"u8, _hash, default, 3, ValueEncoding.Raw, expiryMs, 0).Value.Clear();

    private bool Find(ExpiryClock expiry) => Database.Find("key"u8, _hash, expiry).Exists;

    private Entry Entry() => Database.Find("key"u8, _hash, ExpiryClock.Never);
}
