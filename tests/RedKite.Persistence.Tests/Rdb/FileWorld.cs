using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>A keyspace with several databases that RDB files are read into and written from.</summary>
internal sealed class FileWorld : IDisposable
{
    internal const int Databases = 16;

    internal static readonly RdbLimits Limits = new(new HashLimits(512, 64), new SetLimits(512, 128, 64), new SortedSetLimits(128, 64), new ListLimits(-2));

    private readonly RdbScratch _scratch = new();

    internal KeyStore Store { get; } = new(4, Databases);

    internal List<string> Functions { get; } = [];

    internal Dictionary<string, string> Fields { get; } = [];

    internal RdbFamily Family { get; private set; }

    internal int Version { get; private set; }

    internal int Keys { get; private set; }

    internal int LargeValues { get; private set; }

    internal int EmptyKeys { get; private set; }

    /// <summary>The idle times and frequencies of keys that have one.</summary>
    internal List<(long IdleSeconds, int Frequency)> Usages { get; } = [];

    /// <summary>Reads a file into the keyspace.</summary>
    internal void Load(IFiles files, string path, RdbReadOptions? options = null, bool isWhole = true)
    {
        using IOpenFile file = files.OpenRead(path);
        using RdbFileReader reader = RdbFileReader.Open(file, options ?? new RdbReadOptions());
        (Family, Version) = (reader.Family, reader.Version);
        using var batch = new RdbBatch();
        while (reader.TryRead(batch))
        {
            foreach (RdbItem item in batch.Items) Take(batch, item);
        }

        if (isWhole) Assert.Equal(reader.Length, reader.Position);
    }

    /// <summary>Writes the keyspace to a file.</summary>
    internal void Save(IFiles files, string folder, string name, bool compresses = true, bool sums = true)
    {
        using var replacement = new FileReplacement(files, folder, "temp.rdb", syncsWhileGrowing: true);
        using var writer = new RdbFileWriter(replacement.Append, compresses, sums);
        writer.Begin(new RdbFileInfo { RedisVersion = "8.0.2", CreatedSeconds = 1_700_000_000, UsedMemoryBytes = 1 << 20 });
        foreach (string code in Functions) writer.Function(ValueWorld.Bytes(code));
        for (int i = 0; i < Databases; i++)
        {
            Database database = Store.Databases[i];
            if (database.Count == 0) continue;
            writer.Database(i, database.Count, 0);
            foreach (string name2 in KeysOf(i))
            {
                byte[] key = ValueWorld.Bytes(name2);
                Entry entry = database.Find(key, Store.Hash(key), ExpiryClock.Never);
                if (!RdbValueWriter.TryOpenRemovingExpired(database, entry, ExpiryClock.Never, out RdbValueWriter value)) continue;
                RdbFileWriter.Key(writer.Output, value.Type, key, entry.ExpiryMs);
                value.Write(writer.Output, _scratch);
            }
        }

        writer.End();
        replacement.Commit(name);
        Assert.Equal(replacement.Length, writer.Bytes);
    }

    private readonly Dictionary<int, List<string>> _names = [];

    internal List<string> KeysOf(int database) => _names.TryGetValue(database, out List<string>? names) ? names : [];

    /// <summary>The values of a database in the file's order; of streams only their length.</summary>
    internal IEnumerable<string> Describe(int database) => KeysOf(database).Select(name =>
    {
        string text = ValueWorld.Describe(Store.Databases[database], Find(database, name), Limits.List);
        return text.StartsWith("Stream", StringComparison.Ordinal) ? string.Join(' ', text.Split(' ')[..3]) : text.Replace($" until {long.MaxValue}", "", StringComparison.Ordinal);
    });

    internal long ExpiryOf(int database, string name) => Find(database, name).ExpiryMs;

    private Entry Find(int database, string name) => Store.Databases[database].Find(ValueWorld.Bytes(name), Store.Hash(ValueWorld.Bytes(name)), ExpiryClock.Never);

    public void Dispose()
    {
        Store.Dispose();
        _scratch.Dispose();
    }

    private void Take(RdbBatch batch, in RdbItem item)
    {
        string name = Text(batch.NameOf(item));
        string text = Text(batch.TextOf(item));
        switch (item.Kind)
        {
            case RdbItemKind.Aux:
                Fields[name] = text;
                break;
            case RdbItemKind.Function:
                Functions.Add(text);
                break;
            case RdbItemKind.Key:
                Database database = Store.Databases[item.Database];
                byte[] key = batch.NameOf(item).ToArray();
                ulong hash = Store.Hash(key);
                if (database.Find(key, hash, ExpiryClock.Never).Exists) throw batch.Failure(item, "the key occurs twice");
                if (!batch.TryGetValue(item, out _)) LargeValues++;
                RdbOutcome outcome = batch.Build(item, new RdbTarget(database, key, hash, 0, 0, ExpiryClock.Never, Limits), _scratch);
                if (outcome == RdbOutcome.Corrupt) throw batch.Failure(item, "the value is damaged");
                if (outcome == RdbOutcome.Empty) EmptyKeys++;
                if (outcome != RdbOutcome.Loaded) break;
                if (item.IdleSeconds >= 0 || item.Frequency >= 0) Usages.Add((item.IdleSeconds, item.Frequency));
                if (item.ExpiryMs >= 0) database.WriteExpiry(database.Find(key, hash, ExpiryClock.Never), item.ExpiryMs);
                if (!_names.TryGetValue(item.Database, out List<string>? names)) _names[item.Database] = names = [];
                names.Add(name);
                Keys++;
                break;
        }
    }

    private static string Text(ReadOnlySpan<byte> bytes) => System.Text.Encoding.Latin1.GetString(bytes);
}
