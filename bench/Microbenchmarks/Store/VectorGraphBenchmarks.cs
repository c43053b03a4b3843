using System.Globalization;
using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.VectorSets;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Searching the graph of a vector set, beside an exact search over all elements, and replacing an element's vector. The vectors have 128
/// dimensions; the error path is a search from which a filter drops everything.
/// </summary>
public class VectorGraphBenchmarks
{
    private const int Dimensions = 128;
    private const int Effort = 200;
    private const int ExaminedMax = 1_000;

    private static readonly byte[] Key = "set"u8.ToArray();

    private readonly Random _random = new(1);
    private KeyStore _store = null!;
    private byte[][] _names = null!;

    [Params(1_000, 20_000)]
    public int Elements { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _store = new KeyStore(1, 1);
        _names = [.. Enumerable.Range(0, Elements).Select(i => Encoding.ASCII.GetBytes(i.ToString(CultureInfo.InvariantCulture)))];
        VectorSetValue.Create(_store.Databases[0], Key, _store.Hash(Key), 0, new VectorSetForm(Dimensions, 0, 16, VectorQuantization.Int8));
        foreach (byte[] name in _names) Add(name);
    }

    [GlobalCleanup]
    public void Cleanup() => _store.Dispose();

    [Benchmark(Baseline = true)]
    public int Search() => Set().Query(Vector()).Search(Effort, filter: null, long.MaxValue).Length;

    [Benchmark]
    public int SearchThatAFilterEmpties() => Set().Query(Vector()).Search(Effort, (_, ref _) => VectorMatch.No, ExaminedMax).Length;

    [Benchmark]
    public int ExactSearch() => Set().Query(Vector()).Scan(10, filter: null).Length;

    [Benchmark]
    public bool Replace() => Add(_names[_random.Next(Elements)]);

    private bool Add(byte[] name) => Set().Add(name, Vector(), Effort, [], keepsAttributes: true);

    private VectorSetValue Set()
    {
        Database database = _store.Databases[0];
        return VectorSetValue.Of(database, database.Find(Key, _store.Hash(Key), ExpiryClock.Never));
    }

    private float[] Vector()
    {
        var vector = new float[Dimensions];
        for (int i = 0; i < Dimensions; i++) vector[i] = _random.NextSingle() - 0.5f;
        return vector;
    }
}
