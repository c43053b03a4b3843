using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;

namespace RedKite.Microbenchmarks;

/// <summary>The keyspace's table through its database: hits, misses, insertions, and prefetched batches.</summary>
public class TableBenchmarks
{
    private const int Batch = 64;

    private Keyspace _keyspace = null!;
    private byte[][] _keys = [];
    private byte[][] _missing = [];
    private int _at;

    [Params(10_000, 1_000_000)]
    public int Keys { get; set; }

    private Database Database => _keyspace.Databases[0];

    [GlobalSetup]
    public void Setup()
    {
        _keyspace = new Keyspace(1, 1);
        _keys = [.. Enumerable.Range(0, Keys).Select(i => System.Text.Encoding.ASCII.GetBytes($"key:{i:d11}"))];
        _missing = [.. Enumerable.Range(0, Math.Min(Keys, 65536)).Select(i => System.Text.Encoding.ASCII.GetBytes($"not:{i:d11}"))];
        foreach (byte[] key in _keys) Write(key);
        new Random(1).Shuffle(_keys);
    }

    [GlobalCleanup]
    public void Cleanup() => _keyspace.Dispose();

    [Benchmark(Baseline = true)]
    public bool FindHit() => Find(Next(_keys));

    [Benchmark]
    public bool FindMiss() => Find(Next(_missing));

    [Benchmark]
    public bool AddAndRemove()
    {
        byte[] key = Next(_missing);
        Database.Unlink(Write(key), UnlinkReason.Deleted);
        return true;
    }

    [Benchmark(OperationsPerInvoke = Batch)]
    public int FindPrefetchedBatch()
    {
        Span<ulong> hashes = stackalloc ulong[Batch];
        Span<nint> buckets = stackalloc nint[Batch];
        _at = _at + Batch < _keys.Length ? _at : 0;
        for (int i = 0; i < Batch; i++)
        {
            hashes[i] = _keyspace.Hash(_keys[_at + i]);
            buckets[i] = Database.PrefetchBucket(hashes[i]);
        }

        for (int i = 0; i < Batch; i++)
        {
            if (buckets[i] != 0) Database.PrefetchEntry(buckets[i], hashes[i], mayAdd: false, bytes: 0);
        }

        int found = 0;
        for (int i = 0; i < Batch; i++)
        {
            if (Database.Find(_keys[_at + i], hashes[i], ExpiryClock.Never).Exists) found++;
        }

        _at += Batch;
        return found;
    }

    private byte[] Next(byte[][] keys)
    {
        if (++_at >= keys.Length) _at = 0;
        return keys[_at];
    }

    private bool Find(byte[] key) => Database.Find(key, _keyspace.Hash(key), ExpiryClock.Never).Exists;

    private Entry Write(byte[] key)
    {
        ulong hash = _keyspace.Hash(key);
        return Database.WriteString(key, hash, Database.Find(key, hash, ExpiryClock.Never), 32, ValueEncoding.Raw, Database.NoExpiry, 0);
    }
}
