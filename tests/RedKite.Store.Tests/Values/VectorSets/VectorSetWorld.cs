using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.VectorSets;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values.VectorSets;

/// <summary>A vector set in guarded memory, and the vectors and attributes that it must have.</summary>
internal sealed unsafe class VectorSetWorld : IDisposable
{
    private static readonly byte[] Key = "set"u8.ToArray();

    private readonly VectorSetForm _form;
    private readonly Dictionary<string, (float[] Vector, string Attributes)> _model = [];
    private readonly int _emptyBlocks;

    internal VectorSetWorld(VectorSetForm form, bool guarded = true)
    {
        _form = form;
        Store = new KeyStore(1, 1, guarded);
        WithOtherKey();
        _emptyBlocks = guarded ? Store.Stripes[0].Guard!.LiveBlocks : 0;
    }

    internal KeyStore Store { get; }

    internal int Count => _model.Count;

    /// <summary>What is allocated beside the set; null: it has none.</summary>
    internal long? BytesBeside => Set.Exists ? Store.UsedBytes - VectorSetData.Bytes(Set.Data) : null;

    internal int Dimensions => _form.Dimensions;

    internal VectorSetValue Set => VectorSetValue.Of(Store.Databases[0], Store.Databases[0].Find(Key, Store.Hash(Key), ExpiryClock.Never));

    internal VectorSetValue OpenOrCreate() => Set.Exists ? Set : VectorSetValue.Create(Store.Databases[0], Key, Store.Hash(Key), 0, _form);

    internal bool Add(string name, float[] vector, int effort = VectorSetLimits.AddingEffortDefault, string? attributes = null)
    {
        VectorSetValue set = OpenOrCreate();
        bool isNew = set.Add(Encoding.ASCII.GetBytes(name), [.. vector], effort, Encoding.ASCII.GetBytes(attributes ?? ""), keepsAttributes: attributes is null);
        _model[name] = (vector, attributes ?? (isNew ? "" : _model[name].Attributes));
        return isNew;
    }

    internal bool Remove(string name)
    {
        bool expected = _model.Remove(name);
        bool removed = Set.Exists && Set.Remove(Encoding.ASCII.GetBytes(name));
        Assert.Equal(expected, removed);
        return removed;
    }

    internal string NameAt(Random random) => _model.Keys.ElementAt(random.Next(_model.Count));

    internal List<string> Search(float[] query, int count, int effort)
    {
        VectorSetValue set = Set;
        ReadOnlySpan<ulong> found = set.Query([.. query]).Search(effort, filter: null, long.MaxValue);
        return Names(set, found[..Math.Min(count, found.Length)]);
    }

    internal List<string> Scan(float[] query, int count)
    {
        VectorSetValue set = Set;
        return Names(set, set.Query([.. query]).Scan(count, filter: null));
    }

    /// <summary>The names of the nearest vectors, by the model.</summary>
    internal List<string> Nearest(float[] query, int count) =>
        [.. _model.OrderBy(element => Distance(query, element.Value.Vector)).Take(count).Select(element => element.Key)];

    internal static double Distance(float[] a, float[] b)
    {
        double dot = 0, first = 0, second = 0;
        for (int i = 0; i < a.Length; i++)
        {
            dot += a[i] * (double)b[i];
            first += a[i] * (double)a[i];
            second += b[i] * (double)b[i];
        }

        return 1 - (dot / Math.Sqrt(first * second));
    }

    internal static float[] Vector(Random random, int dimensions)
    {
        float[] vector = new float[dimensions];
        for (int i = 0; i < dimensions; i++) vector[i] = (float)(Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble()));
        return vector;
    }

    /// <summary>Checks that the set has what the model has, and that the graph holds together.</summary>
    internal void Check()
    {
        VectorSetValue set = Set;
        Assert.Equal(_model.Count, set.Count);
        Assert.Equal(_model.Count > 0, set.Exists);
        if (!set.Exists) return;
        int seen = 0;
        for (int number = 0; number < set.Numbers; number++)
        {
            VectorElement element = set.AtOrNone(number);
            if (!element.Exists) continue;
            seen++;
            Assert.Equal(number, element.Number);
            string name = Encoding.ASCII.GetString(element.Name);
            Assert.Equal(_model[name].Attributes, Encoding.ASCII.GetString(element.Attributes));
            Assert.Equal(number, set.Find(element.Name).Number);
            if (_model.Count > 1) Assert.NotEqual(0, element.Links(0).Length); // or nothing could find it
            for (int level = 0; level <= element.Level; level++) CheckLinks(set, element, level);
        }

        Assert.Equal(_model.Count, seen);
        Assert.Equal(_model.Values.Count(element => element.Attributes.Length > 0), set.WithAttributes);
        Store.CheckGuards();
    }

    /// <summary>Removes the key and checks that nothing of it is left.</summary>
    internal void RemoveKeyAndCheckMemory()
    {
        Database database = Store.Databases[0];
        Entry entry = database.Find(Key, Store.Hash(Key), ExpiryClock.Never);
        if (entry.Exists) database.Unlink(entry, UnlinkReason.Deleted);
        while (Store.Stripes[0].FreeDroppedSlice())
        {
        }

        Assert.Equal(_emptyBlocks, Store.Stripes[0].Guard!.LiveBlocks);
        Store.CheckGuards();
    }

    public void Dispose() => Store.Dispose();

    private static void CheckLinks(VectorSetValue set, VectorElement element, int level)
    {
        ReadOnlySpan<int> links = element.Links(level);
        Assert.InRange(links.Length, 0, level == 0 ? set.Form.Links * 2 : set.Form.Links);
        Assert.Equal(links.Length, links.ToArray().Distinct().Count());
        foreach (int link in links)
        {
            Assert.NotEqual(element.Number, link);
            VectorElement other = set.AtOrNone(link);
            Assert.True(other.Exists && other.Level >= level);
            Assert.Contains(element.Number, other.Links(level).ToArray());
        }
    }

    private static List<string> Names(VectorSetValue set, ReadOnlySpan<ulong> found)
    {
        List<string> names = [];
        foreach (ulong key in found) names.Add(Encoding.ASCII.GetString(set.At(DistanceKey.Number(key)).Name));
        return names;
    }

    private void WithOtherKey()
    {
        byte[] other = "other"u8.ToArray();
        Store.Databases[0].WriteString(other, Store.Hash(other), default, 1, ValueEncoding.Raw, Database.NoExpiry, 0);
    }

    internal static string Name(int number) => string.Create(CultureInfo.InvariantCulture, $"element:{number}");
}
