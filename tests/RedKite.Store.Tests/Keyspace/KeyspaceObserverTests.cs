using System.Diagnostics;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>The reports of an observed stripe, as transcripts.</summary>
public sealed class KeyspaceObserverTests : IDisposable
{
    private static readonly HashLimits Hashes = new(128, 64);

    private readonly KeyStore _store = new(1, 2, guarded: true);
    private readonly Recorder _recorder = new();

    public KeyspaceObserverTests()
    {
        _store.Stripes[0].ReportTo(_recorder);
        _store.Stripes[0].Observe(StripeObservers.Events, isOn: true);
    }

    private Database First => _store.Databases[0];

    [Fact]
    public void Unobserved_stripe_reports_nothing()
    {
        _store.Stripes[0].Observe(StripeObservers.Events, isOn: false);
        Write("a", Database.NoExpiry);
        First.Unlink(Find("a"), UnlinkReason.Deleted);
        AssertReported();
    }

    [Fact]
    public void Key_is_added_overwritten_and_deleted()
    {
        Write("a", Database.NoExpiry);
        AssertReported("0 +a");
        Write("a", Database.NoExpiry);
        AssertReported("0 ?a", "0 -a Overwritten");
        First.Unlink(Find("a"), UnlinkReason.Deleted);
        AssertReported("0 ?a", "0 -a Deleted");
    }

    [Fact]
    public void Every_change_of_an_entry_is_announced()
    {
        Write("a", Database.NoExpiry);
        AssertReported("0 +a");
        Assert.True(First.OpenToWrite("a"u8, _store.Hash("a"u8), ExpiryClock.Never).Exists);
        AssertReported("0 ?a");
        Assert.False(First.OpenToWrite("b"u8, _store.Hash("b"u8), ExpiryClock.Never).Exists);
        AssertReported();
        First.ResizeValue(Find("a"), 50);
        AssertReported("0 ?a");
        First.WriteExpiry(Find("a"), 5_000);
        AssertReported("0 ?a");
    }

    [Fact]
    public void Expired_key_is_reported_on_access_and_by_the_sweep()
    {
        Write("a", 1_000);
        Write("b", 1_000);
        _recorder.Reports.Clear();
        Assert.False(First.Find("a"u8, _store.Hash("a"u8), ExpiryClock.RemovingAt(1_000)).Exists);
        AssertReported("0 ?a", "0 -a Expired");
        new BackgroundSweep(_store, 0, 1).Run(1_000, Stopwatch.GetTimestamp() + Stopwatch.Frequency, expire: true);
        AssertReported("0 ?b", "0 -b Expired");
    }

    [Fact]
    public void Renamed_and_moved_keys_leave_and_arrive()
    {
        Write("a", Database.NoExpiry);
        Write("b", Database.NoExpiry);
        _recorder.Reports.Clear();
        First.Rename(Find("a"), "b"u8, _store.Hash("b"u8), Find("b"));
        AssertReported("0 ?b", "0 -b Overwritten", "0 +b", "0 ?a", "0 -a Renamed");
        First.MoveTo(_store.Databases[1], Find("b"));
        AssertReported("0 ?b", "0 -b Renamed", "1 +b");
    }

    [Fact]
    public void Renamed_large_string_is_reported_like_any_other()
    {
        First.WriteString("a"u8, _store.Hash("a"u8), default, EntryBlock.LargeValueMin, ValueEncoding.Raw, Database.NoExpiry, 0);
        Write("b", Database.NoExpiry);
        _recorder.Reports.Clear();
        First.Rename(Find("a"), "b"u8, _store.Hash("b"u8), Find("b"));
        AssertReported("0 ?b", "0 -b Overwritten", "0 +b", "0 ?a", "0 -a Renamed");
        First.Rename(Find("b"), "c"u8, _store.Hash("c"u8), default);
        AssertReported("0 +c", "0 ?b", "0 -b Renamed");
    }

    [Fact]
    public void Replacement_reports_its_outcome_only()
    {
        Write("a", Database.NoExpiry);
        _recorder.Reports.Clear();
        ulong hash = _store.Hash("a"u8);
        nint kept = First.BeginReplacing(hash, Find("a"));
        Write("a", Database.NoExpiry);
        First.Unlink(Find("a"), UnlinkReason.Deleted);
        First.EndReplacing(kept, "a"u8, hash, isReplaced: false);
        AssertReported("0 ?a");
        kept = First.BeginReplacing(hash, Find("a"));
        Write("a", Database.NoExpiry);
        First.EndReplacing(kept, "a"u8, hash, isReplaced: true);
        AssertReported("0 ?a", "0 -a Overwritten", "0 +a");
        kept = First.BeginReplacing(hash, Find("a"));
        First.EndReplacing(kept, "a"u8, hash, isReplaced: true);
        AssertReported("0 ?a", "0 -a Deleted");
    }

    [Fact]
    public void Changed_keys_leave_nothing_behind_while_clients_are_blocked()
    {
        using var store = new KeyStore(1, 1); // the guarded one allocates by itself
        store.Stripes[0].Watchers = 1;
        WriteAndRemove();
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 10_000; i++) WriteAndRemove();
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 10_000);

        void WriteAndRemove()
        {
            Database database = store.Databases[0];
            ulong hash = store.Hash("a"u8);
            database.WriteString("a"u8, hash, default, 3, ValueEncoding.Raw, Database.NoExpiry, 0);
            database.Unlink(database.Find("a"u8, hash, ExpiryClock.Never), UnlinkReason.Deleted);
        }
    }

    [Fact]
    public void Flush_is_announced_once_for_each_stripe()
    {
        Write("a", Database.NoExpiry);
        Write("b", Database.NoExpiry);
        _recorder.Reports.Clear();
        First.Clear();
        AssertReported("0 flush 0 of 2 keys");
    }

    [Theory]
    [InlineData(2)]
    [InlineData(600)]
    public void Expired_fields_are_reported_one_by_one(int fields)
    {
        ulong hash = _store.Hash("h"u8);
        HashValue value = HashValue.Create(First, "h"u8, hash, 0, ExpiryClock.Never);
        for (int i = 0; i < fields; i++)
        {
            value.Set(Encoding.ASCII.GetBytes($"f{i}"), "v"u8, Hashes);
            if (i > 0) value.WriteExpiry(Encoding.ASCII.GetBytes($"f{i}"), 1_000);
        }

        _recorder.Reports.Clear();
        First.ExpireFields(Find("h"), 1_000, int.MaxValue);
        string[] expected = [.. Enumerable.Range(1, fields - 1).Select(i => $"0 h.f{i}").Order()];
        Assert.Equal("0 ?h", _recorder.Reports[0]);
        Assert.Equal(expected, _recorder.Reports.Skip(1).Order());
    }

    [Fact]
    public void Expired_field_of_a_table_is_reported_when_it_is_removed_by_name()
    {
        HashValue value = HashValue.Create(First, "h"u8, _store.Hash("h"u8), 0, ExpiryClock.Never);
        for (int i = 0; i < 600; i++) value.Set(Encoding.ASCII.GetBytes($"f{i}"), "v"u8, Hashes);
        value.WriteExpiry("f1"u8, 1_000);
        _recorder.Reports.Clear();
        value.RemoveIfExpired("f1"u8);
        AssertReported();
        value = HashValue.Open(First, Find("h"), ExpiryClock.RemovingAt(1_000));
        value.RemoveIfExpired("f0"u8);
        AssertReported();
        value.RemoveIfExpired("f1"u8);
        AssertReported("0 ?h", "0 h.f1");
        Assert.Equal(599, value.Count);
    }

    [Fact]
    public void Hash_whose_last_field_expires_is_emptied()
    {
        ulong hash = _store.Hash("h"u8);
        HashValue value = HashValue.Create(First, "h"u8, hash, 0, ExpiryClock.Never);
        value.Set("1"u8, "v"u8, Hashes);
        value.WriteExpiry("1"u8, 1_000);
        _recorder.Reports.Clear();
        new BackgroundSweep(_store, 0, 1).Run(1_000, Stopwatch.GetTimestamp() + Stopwatch.Frequency, expire: true);
        Assert.False(Find("h").Exists);
        AssertReported("0 ?h", "0 h.1", "0 ?h", "0 -h Emptied");
    }

    public void Dispose()
    {
        _store.Stripes[0].Observe(StripeObservers.Events, isOn: false);
        _store.CheckGuards();
        _store.Dispose();
    }

    private void Write(string name, long expiryMs)
    {
        byte[] key = Encoding.ASCII.GetBytes(name);
        First.WriteString(key, _store.Hash(key), Find(name), 10, ValueEncoding.Raw, expiryMs, 0).Value.Clear();
    }

    private Entry Find(string name)
    {
        byte[] key = Encoding.ASCII.GetBytes(name);
        return First.Find(key, _store.Hash(key), ExpiryClock.Never);
    }

    private void AssertReported(params string[] expected)
    {
        Assert.Equal(expected, _recorder.Reports);
        _recorder.Reports.Clear();
    }

    private sealed class Recorder : KeyspaceObserver
    {
        internal List<string> Reports { get; } = [];

        internal override void BeforeChange(Database database, ulong hash, scoped in Entry entry) => Reports.Add($"{database.Index} ?{Text(entry.Key)}");

        internal override void BeforeFlush(Database database, int stripe) => Reports.Add($"{database.Index} flush {stripe} of {database.Count} keys");

        internal override void Swapped(Database first, Database second) => Reports.Add($"{first.Index} swapped {second.Index}");

        internal override void Replaced(Database database) => Reports.Add($"{database.Index} replaced");

        internal override void Added(Database database, ulong hash, ReadOnlySpan<byte> key) => Reports.Add($"{database.Index} +{Text(key)}");

        internal override void Removed(Database database, ulong hash, ReadOnlySpan<byte> key, UnlinkReason reason) =>
            Reports.Add($"{database.Index} -{Text(key)} {reason}");

        internal override void FieldExpired(Database database, DataType type, ulong hash, ReadOnlySpan<byte> key, ReadOnlySpan<byte> field) =>
            Reports.Add($"{database.Index} {Text(key)}.{Text(field)}");

        private static string Text(ReadOnlySpan<byte> bytes) => Encoding.ASCII.GetString(bytes);
    }
}
