using System.Diagnostics;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>What a snapshot hears of entries of the old epoch, and what it takes over, as transcripts on the guarded arena.</summary>
public sealed class SnapshotBarrierTests : IDisposable
{
    private const int Fields = 2_000;

    private readonly KeyStore _store = new(1, 2, guarded: true);
    private readonly Door _door;

    public SnapshotBarrierTests() => _door = new Door(First);

    private Database First => _store.Databases[0];

    private Database Second => _store.Databases[1];

    private Stripe Stripe => _store.Stripes[0];

    [Fact]
    public void Entries_are_reported_once_before_they_change_and_not_if_they_are_new()
    {
        Write("old", "1");
        Cut();
        Write("new", "1");
        First.OpenToWrite("old"u8, Hash("old"), ExpiryClock.Never);
        First.OpenToWrite("new"u8, Hash("new"), ExpiryClock.Never);
        First.ResizeValue(Find(First, "old"), 50);
        First.WriteExpiry(Find(First, "old"), 5_000);
        First.WriteExpiry(Find(First, "new"), 5_000);
        First.Unlink(Find(First, "old"), UnlinkReason.Deleted);
        First.Unlink(Find(First, "new"), UnlinkReason.Deleted);
        Assert.Equal(["?old=1"], _door.Reports);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Overwritten_and_removed_values_are_handed_over(bool takes)
    {
        _door.Takes = takes;
        Write("a", "1");
        Write("b", "2");
        Write("c", "3", expiryMs: 1_000);
        Write("d", "4", expiryMs: 1_000);
        AddHash("h", expiryMs: long.MaxValue);
        AddHash("i", expiryMs: long.MaxValue);
        Cut();
        Write("a", "9");
        First.Unlink(Find(First, "b"), UnlinkReason.Deleted);
        First.Find("c"u8, Hash("c"), ExpiryClock.RemovingAt(1_000));
        Sweep(1_000);
        Write("h", "8");
        First.Unlink(Find(First, "i"), UnlinkReason.Evicted);
        Assert.Equal(["-a=1", "-b=2", "-c=3", "-d=4", $"-h={Fields}", $"-i={Fields}"], _door.Reports);
        Assert.Equal(takes ? 6 : 0, _door.Blocks.Count);
        Assert.Equal("9", Text(Find(First, "a")));
        string[] taken = [.. _door.Blocks.Select(block => Describe(First, Entry.FromBlock(block)))];
        Assert.Equal(takes ? ["1", "2", "3", "4", $"{Fields}", $"{Fields}"] : [], taken);
        foreach (nint block in _door.Blocks) Stripe.FreeTaken(block);
    }

    [Fact]
    public void Values_that_live_on_under_another_key_or_in_another_database_are_reported_before()
    {
        Write("a", "1");
        Write("b", "2");
        AddHash("h", expiryMs: long.MaxValue);
        Cut();
        First.Rename(Find(First, "a"), "renamed"u8, Hash("renamed"), default);
        First.Rename(Find(First, "h"), "hash"u8, Hash("hash"), default);
        First.MoveTo(Second, Find(First, "b"));
        Assert.Equal(["-a=1", $"?h={Fields}", "?b=2"], _door.Reports);
        Write("renamed", "3");
        Second.Unlink(Find(Second, "b"), UnlinkReason.Deleted);
        First.Unlink(Find(First, "hash"), UnlinkReason.Deleted);
        Assert.Equal(3, _door.Reports.Count);
    }

    [Fact]
    public void Tables_are_handed_over_whole_and_reports_name_the_table_after_databases_were_exchanged()
    {
        _door.Takes = true;
        Write("a", "1");
        AddHash("h", expiryMs: long.MaxValue);
        Table table = First.TableIn(0)!;
        Cut();
        First.SwapWith(Second);
        Second.OpenToWrite("a"u8, Hash("a"), ExpiryClock.Never);
        Assert.Same(table, _door.LastTable);
        Second.Clear();
        Assert.Same(table, Assert.Single(_door.Tables));
        Assert.Equal(2, table.Count);
        Assert.Null(Second.TableIn(0));
        Stripe.Drop(table, table.Count);
    }

    [Fact]
    public void Copy_that_began_before_the_cut_is_attached_as_new()
    {
        AddHash("h", expiryMs: long.MaxValue);
        EntryCopy copy = EntryCopy.Begin(Find(First, "h"), First, "copy"u8, Hash("copy"));
        copy.RunToEnd();
        Cut();
        copy.Attach(default, accessClock: 0);
        Assert.Equal(Stripe.Epoch, Find(First, "copy").Epoch);
        Assert.NotEqual(Stripe.Epoch, Find(First, "h").Epoch);
        First.Unlink(Find(First, "copy"), UnlinkReason.Deleted);
        Assert.Empty(_door.Reports);
    }

    [Fact]
    public void Fields_of_a_table_that_the_snapshot_is_to_write_expire_afterwards()
    {
        AddHash("h", expiryMs: 1_000);
        Cut();
        Sweep(1_000);
        HashValue hash = HashValue.OpenToRead(First, Find(First, "h"), ExpiryClock.RemovingAt(1_000));
        hash.RemoveExpired();
        Assert.False(hash.TryGetLive("0"u8, out _));
        Assert.Empty(_door.Reports);
        Assert.Equal(0, _store.ExpiredFields);

        Find(First, "h").MarkWritten(Stripe.Epoch);
        Sweep(1_001); // the sweep looks again when its time has advanced
        Assert.Equal(Fields, _store.ExpiredFields);
        Assert.False(Find(First, "h").Exists);
    }

    [Fact]
    public void Nothing_is_compacted_or_moved_while_a_value_is_pinned()
    {
        Assert.False(Stripe.HasPinned);
        Stripe.Pin();
        Assert.True(Stripe.HasPinned);
        Stripe.Unpin();
        Assert.False(Stripe.HasPinned);
    }

    public void Dispose()
    {
        if (Stripe.Snapshot is not null) _store.EndSnapshot();
        _store.CheckGuards();
        _store.Dispose();
    }

    private void Cut()
    {
        using LockScope locked = _store.LockAll();
        _store.BeginEpoch(_ => _door);
    }

    private void Sweep(long nowMs)
    {
        var sweep = new BackgroundSweep(_store, 0, 1);
        for (int i = 0; i < 3; i++) sweep.Run(nowMs, Stopwatch.GetTimestamp() + Stopwatch.Frequency, expire: true);
    }

    private ulong Hash(string key) => _store.Hash(Encoding.Latin1.GetBytes(key));

    private Entry Find(Database database, string key) => database.Find(Encoding.Latin1.GetBytes(key), Hash(key), ExpiryClock.Never);

    private void Write(string key, string text, long expiryMs = Database.NoExpiry) =>
        Encoding.Latin1.GetBytes(text, First.WriteString(Encoding.Latin1.GetBytes(key), Hash(key), Find(First, key), text.Length, ValueEncoding.Raw, expiryMs, 0).Value);

    private void AddHash(string key, long expiryMs)
    {
        HashValue hash = HashValue.Create(First, Encoding.Latin1.GetBytes(key), Hash(key), 0, ExpiryClock.Never);
        for (int i = 0; i < Fields; i++)
        {
            byte[] field = Encoding.Latin1.GetBytes($"{i}");
            hash.Set(field, "value"u8, new HashLimits(0, 64));
            if (expiryMs != long.MaxValue) hash.WriteExpiry(field, expiryMs);
        }
    }

    private static string Text(Entry entry) => Encoding.Latin1.GetString(entry.Value);

    private static string Describe(Database database, Entry entry) =>
        entry.Type == DataType.String ? Text(entry) : $"{HashValue.Peek(database, entry, ExpiryClock.Never).LivingCount}";

    private sealed class Door(Database database) : SnapshotBarrier
    {
        internal List<string> Reports { get; } = [];

        internal List<nint> Blocks { get; } = [];

        internal List<Table> Tables { get; } = [];

        internal Table? LastTable { get; private set; }

        internal bool Takes { get; set; }

        internal override void BeforeChange(Table table, ulong hash, scoped in Entry entry)
        {
            LastTable = table;
            Reports.Add($"?{Encoding.Latin1.GetString(entry.Key)}={Describe(database, entry)}");
        }

        internal override bool TryTake(Table table, ulong hash, scoped in Entry entry)
        {
            LastTable = table;
            Reports.Add($"-{Encoding.Latin1.GetString(entry.Key)}={Describe(database, entry)}");
            if (Takes) Blocks.Add(entry.Address);
            return Takes;
        }

        internal override bool TryTake(Table table)
        {
            Tables.Add(table);
            return Takes;
        }
    }
}
