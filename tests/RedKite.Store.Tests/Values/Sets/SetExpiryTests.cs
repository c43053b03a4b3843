using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Sets;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values;

/// <summary>Sets with members that have expired and are still there, as readers of a replica see them, on guarded memory.</summary>
public sealed class SetExpiryTests : IDisposable
{
    private const int Members = 600;
    private const long NowMs = 1_000;

    private static readonly SetLimits Limits = new(IntegersMax: 8, PackedMax: 6, PackedBytesMax: 10);
    private static readonly ExpiryClock Hiding = new(NowMs, ExpiryPolicy.Hide);

    private readonly KeyStore _store = new(1, 1, guarded: true);
    private readonly Database _database;

    public SetExpiryTests()
    {
        _database = _store.Databases[0];
        Fill("s", 0, 2); // every second member has expired
        Fill("t", 1, 3);
    }

    public void Dispose()
    {
        _store.CheckGuards();
        _store.Dispose();
    }

    [Fact]
    public void Views_hide_what_has_expired()
    {
        SetView set = View("s");
        Assert.True(set.Hides);
        Assert.Equal(Members / 2, set.Count);
        Assert.Equal(Living(0, 2), All(set));
        Assert.False(set.Contains(Name(0)));
        Assert.True(set.Contains(Name(1)));
        Assert.Equal(IElementExpiries.Missing, set.ExpiryOf(Name(0)));
        Assert.Equal(Database.NoExpiry, set.ExpiryOf(Name(1)));
        var scanned = new HashSet<string>(StringComparer.Ordinal);
        ulong cursor = 0;
        do
        {
            for (SetEnumerator members = set.ScanBucket(ref cursor, default); members.MoveNext();) scanned.Add(Text(members.Current));
        }
        while (cursor != 0);
        Assert.Equal(Living(0, 2), scanned);
        var random = new Random(1);
        for (int i = 0; i < 100; i++) Assert.Contains(Text(set.Pick(random, default, out _)), scanned);
        Assert.False(View("s", ExpiryClock.Never).Hides);
        Assert.Equal(Members, View("s", ExpiryClock.Never).Count);
    }

    [Fact]
    public void Selections_leave_out_what_has_expired()
    {
        HashSet<string> first = Living(0, 2), second = Living(1, 3);
        Assert.Equal(first.Intersect(second).Order(StringComparer.Ordinal), Select(inAll: true));
        Assert.Equal(first.Except(second).Order(StringComparer.Ordinal), Select(inAll: false));
    }

    [Fact]
    public void Expired_members_are_freed_in_portions_until_none_is_left()
    {
        Entry entry = Find("s");
        long before = _store.UsedBytes;
        entry = SetExpiry.RemoveExpired(_database, entry, Hiding);
        Assert.True(SetExpiry.HasExpired(entry, Hiding)); // a reader of a replica changes nothing
        entry = SetExpiry.RemoveExpired(_database, entry, ExpiryClock.RemovingAt(NowMs));
        Assert.False(SetExpiry.HasExpired(entry, Hiding));
        Assert.False(entry.FieldsExpire);
        Assert.Equal(Living(0, 2), All(SetView.Of(_database, entry)));
        Assert.True(_store.UsedBytes < before);
    }

    [Fact]
    public void Adding_again_is_new_and_has_no_expiry()
    {
        SetValue set = SetValue.Open(_database, Find("s"), Limits, ExpiryClock.RemovingAt(NowMs));
        Assert.False(set.Remove(Name(0)));
        Assert.True(set.Add(Name(2)));
        Assert.False(set.Add(Name(1)));
        Assert.Equal(Database.NoExpiry, set.ExpiryOf(Name(2)));
        set.WriteExpiry(Name(1), 5_000);
        Assert.Equal(5_000, set.ExpiryOf(Name(1)));
        set.RemoveIfExpired(Name(4));
        set.RemoveIfExpired(Name(1));
        Assert.Equal((Members / 2) + 1, View("s").Count);
    }

    private string[] Select(bool inAll)
    {
        var selected = new List<string>();
        var selection = new SetSelection(View("s"), [View("t")], inAll, stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (selection.MoveNext()) selected.Add(Text(selection.Current));
        return [.. selected.Order(StringComparer.Ordinal)];
    }

    private void Fill(string key, int first, int step)
    {
        SetValue set = SetValue.Create(_database, Encoding.ASCII.GetBytes(key), _store.Hash(Encoding.ASCII.GetBytes(key)), 0, Name(0), 1, Limits);
        for (int i = 0; i < Members; i++) set.Add(Name(i));
        for (int i = first; i < Members; i += step) set.WriteExpiry(Name(i), (i % NowMs) + 1);
    }

    private static HashSet<string> Living(int first, int step) =>
        [.. Enumerable.Range(0, Members).Where(i => i < first || (i - first) % step != 0).Select(i => Text(Name(i)))];

    private static HashSet<string> All(SetView set)
    {
        var all = new HashSet<string>(StringComparer.Ordinal);
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (members.MoveNext()) Assert.True(all.Add(Text(members.Current)));
        return all;
    }

    private SetView View(string key, ExpiryClock? expiry = null) => SetView.Of(_database, Find(key), expiry ?? Hiding);

    private Entry Find(string key)
    {
        byte[] bytes = Encoding.ASCII.GetBytes(key);
        return _database.Find(bytes, _store.Hash(bytes), ExpiryClock.Never);
    }

    // Of all forms: short, and longer than the short form allows.
    private static byte[] Name(int i) => Encoding.ASCII.GetBytes((i % 50 == 7 ? new string('x', 254 + (i % 3)) : "") + i.ToString("D4", CultureInfo.InvariantCulture));

    private static string Text(ReadOnlySpan<byte> bytes) => Encoding.ASCII.GetString(bytes);
}
