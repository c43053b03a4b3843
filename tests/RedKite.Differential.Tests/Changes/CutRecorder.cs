using System.Text;
using RedKite.Persistence.Types;
using RedKite.Store.Keyspace;

namespace RedKite.Differential.Tests.Changes;

/// <summary>
/// Records the data as of a snapshot point by the means of a snapshot alone: what the barrier reports before it changes, what it takes over, and, at
/// the end, what is still of the old epoch. That must be the data at the snapshot point.
/// </summary>
internal sealed class CutRecorder
{
    private readonly Keyspace _keyspace;
    private readonly Random _random;
    private readonly Lock _recording = new();
    private readonly Dictionary<Table, string> _tables = [];
    private readonly SortedDictionary<string, string> _expected = new(StringComparer.Ordinal);
    private readonly SortedDictionary<string, string> _recorded = new(StringComparer.Ordinal);
    private readonly List<(Stripe Stripe, string Name, nint Block)> _takenEntries = [];
    private readonly List<(Stripe Stripe, Table Table)> _takenTables = [];
    private readonly List<string> _faults = [];

    private CutRecorder(Keyspace keyspace, Random random)
    {
        _keyspace = keyspace;
        _random = random;
    }

    /// <summary>How many entries the barrier has reported, and how many the snapshot took over, of all snapshot points.</summary>
    public static (long Reported, long Taken, long Tables) Total { get; private set; }

    /// <summary>Begins a snapshot and notes all data.</summary>
    public static CutRecorder Begin(Keyspace keyspace, Random random)
    {
        CutRecorder cut = new(keyspace, random);
        using LockScope locked = keyspace.LockAll();
        keyspace.BeginEpoch(stripe => new Door(cut, stripe));
        foreach (Database database in keyspace.Databases)
        {
            for (int i = 0; i < keyspace.Stripes.Length; i++)
            {
                if (database.TableIn(i) is not { } table) continue;
                cut._tables.Add(table, $"{database.Index}/{i}");
                cut.Walk(table, (name, entry) => cut._expected.Add(name, cut.Describe(entry)));
            }
        }

        return cut;
    }

    /// <summary>Records what is left, ends the snapshot, and returns the differences from the data at the snapshot point.</summary>
    public string[] End()
    {
        using LockScope locked = _keyspace.LockAll();
        byte epoch = _keyspace.Stripes[0].Epoch;
        foreach (Table table in _tables.Keys)
        {
            Walk(table, (name, entry) =>
            {
                if (entry.Epoch == epoch) return;
                Record(name, entry);
                entry.MarkWritten(epoch);
            });
        }

        foreach ((Stripe stripe, string name, nint block) in _takenEntries)
        {
            Record(name, Entry.FromBlock(block));
            stripe.FreeTaken(block);
        }

        foreach ((Stripe stripe, Table table) in _takenTables) stripe.Drop(table, table.Count);
        _keyspace.EndSnapshot();
        CheckEpochs(epoch);
        return [.. _faults, .. _expected.Except(_recorded).Select(pair => $"lost: {pair}"), .. _recorded.Except(_expected).Select(pair => $"extra: {pair}")];
    }

    private void CheckEpochs(byte epoch)
    {
        foreach (Database database in _keyspace.Databases)
        {
            for (int i = 0; i < _keyspace.Stripes.Length; i++)
            {
                if (database.TableIn(i) is not { } table) continue;
                var entries = new EntryList();
                for (uint prefix = 0; table.NextSegment(ref prefix, entries);)
                {
                }

                foreach (Entry entry in entries)
                {
                    if (entry.Epoch != epoch) _faults.Add($"{Encoding.Latin1.GetString(entry.Key)} in {database.Index} is of the old epoch");
                }
            }
        }
    }

    private void Walk(Table table, EntryAction action)
    {
        var entries = new EntryList();
        for (uint prefix = 0; table.NextSegment(ref prefix, entries);)
        {
        }

        foreach (Entry entry in entries) action(Name(table, entry), entry);
    }

    private string Name(Table table, Entry entry) => $"{_tables[table]} {Encoding.Latin1.GetString(entry.Key)}";

    private void Record(string name, Entry entry)
    {
        if (!_recorded.TryAdd(name, Describe(entry))) _faults.Add($"twice: {name}");
    }

    private string Describe(Entry entry)
    {
        Span<byte> bytes = stackalloc byte[DatasetDigest.Bytes];
        bytes.Clear();
        new DatasetDigest(bytes).MixValue(_keyspace.Databases[0], entry, ExpiryClock.Never);
        return $"{entry.Type} {Convert.ToHexString(bytes)} {entry.ExpiryMs}";
    }

    private delegate void EntryAction(string name, Entry entry);

    private sealed class Door(CutRecorder cut, Stripe stripe) : SnapshotBarrier
    {
        internal override void BeforeChange(Table table, ulong hash, scoped in Entry entry)
        {
            lock (cut._recording)
            {
                if (!Knows(table, entry)) return;
                Total = Total with { Reported = Total.Reported + 1 };
                cut.Record(cut.Name(table, entry), entry);
            }
        }

        internal override bool TryTake(Table table, ulong hash, scoped in Entry entry)
        {
            lock (cut._recording)
            {
                if (!Knows(table, entry)) return false;
                if (cut._random.Next(2) == 0)
                {
                    cut.Record(cut.Name(table, entry), entry);
                    return false;
                }

                Total = Total with { Taken = Total.Taken + 1 };
                cut._takenEntries.Add((stripe, cut.Name(table, entry), entry.Address));
                return true;
            }
        }

        internal override bool TryTake(Table table)
        {
            lock (cut._recording)
            {
                if (!cut._tables.ContainsKey(table)) return false;
                if (cut._random.Next(2) == 0)
                {
                    cut.Walk(table, (name, entry) =>
                    {
                        if (entry.Epoch != stripe.Epoch) cut.Record(name, entry);
                    });
                    cut._tables.Remove(table);
                    return false;
                }

                Total = Total with { Tables = Total.Tables + 1 };
                cut._takenTables.Add((stripe, table));
                return true;
            }
        }

        private bool Knows(Table table, scoped in Entry entry)
        {
            if (cut._tables.ContainsKey(table)) return true;
            cut._faults.Add($"{Encoding.Latin1.GetString(entry.Key)} is of the old epoch in a new table");
            return false;
        }
    }
}
