using System.Globalization;
using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Sets;

namespace RedKite.Microbenchmarks;

/// <summary>
/// A set of whose members half expire: looking up one, giving it another expiry, and reading all of them while half have expired and must not be
/// removed, as a replica's readers do. The error path is a member that has expired.
/// </summary>
public class SetExpiryBenchmarks
{
    private const long NowMs = 1_000;
    private const long LaterMs = 1_000_000;

    private static readonly ExpiryClock Hiding = new(NowMs, ExpiryPolicy.Hide);

    private Keyspace _keyspace = null!;
    private byte[][] _members = [];
    private int _at;
    private long _expiryMs;

    [Params(100, 100_000)]
    public int Members { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _keyspace = new Keyspace(1, 1);
        _members = [.. Enumerable.Range(0, Members).Select(i => Encoding.UTF8.GetBytes("member:" + i.ToString(CultureInfo.InvariantCulture)))];
        Database database = _keyspace.Databases[0];
        SetValue set = SetValue.Create(database, "key"u8, _keyspace.Hash("key"u8), 0, _members[0], Members, new SetLimits(0, 0, 0));
        foreach (byte[] member in _members) set.Add(member);
        for (int i = 0; i < Members; i += 2) set.WriteExpiry(_members[i], NowMs);
        _at = 0;
        _expiryMs = LaterMs;
    }

    [GlobalCleanup]
    public void Cleanup() => _keyspace.Dispose();

    [Benchmark(Baseline = true)]
    public bool Contains() => View(countsLiving: false).Contains(Next(living: true));

    [Benchmark]
    public bool ContainsExpired() => View(countsLiving: false).Contains(Next(living: false));

    [Benchmark]
    public void Expire() => SetValue.Open(_keyspace.Databases[0], Entry, new SetLimits(0, 0, 0)).WriteExpiry(Next(living: true), ++_expiryMs);

    [Benchmark]
    public int EnumerateLiving()
    {
        int count = 0;
        SetEnumerator members = View(countsLiving: true).Enumerate(default);
        while (members.MoveNext()) count++;
        return count;
    }

    private Entry Entry => _keyspace.Databases[0].Find("key"u8, _keyspace.Hash("key"u8), ExpiryClock.Never);

    private SetView View(bool countsLiving) => SetView.Of(_keyspace.Databases[0], Entry, Hiding, countsLiving);

    private byte[] Next(bool living)
    {
        _at = (_at + 2) % Members;
        return _members[_at + (living ? 1 : 0)];
    }
}
