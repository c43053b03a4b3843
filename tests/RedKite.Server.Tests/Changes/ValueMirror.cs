using System.Text;
using RedKite.Persistence.Types;
using RedKite.Server.Changes;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Changes;

/// <summary>An observer that keeps the digest of every value, and what it was told.</summary>
internal sealed class ValueMirror(Keyspace keyspace) : IValueObserver
{
    private readonly Dictionary<string, string>[] _digests = [.. Enumerable.Range(0, keyspace.Databases.Length).Select(static _ => new Dictionary<string, string>())];
    private readonly List<string> _told = [];

    /// <summary>Whether what it is told is kept.</summary>
    internal bool Keeps { get; init; }

    /// <summary>The calls in which a value was not what the mirror had before, or the key was none.</summary>
    internal int Mistakes { get; private set; }

    internal long Calls { get; private set; }

    internal string[] Take()
    {
        using LockScope locked = keyspace.LockAll();
        string[] told = [.. _told];
        _told.Clear();
        return told;
    }

    public void Changing(Database database, ulong hash, scoped in Entry old)
    {
        Note($"-{Shown(database, old.Key, old)}");
        if (_digests[database.Index].GetValueOrDefault(Name(old.Key)) != DigestOf(database, old)) Mistakes++;
        if (keyspace.Hash(old.Key) != hash || !keyspace.Stripes[keyspace.StripeOf(hash)].IsLocked) Mistakes++;
    }

    public void Changed(Database database, ulong hash, ReadOnlySpan<byte> key, scoped in Entry now)
    {
        Calls++;
        Note($"+{Shown(database, key, now)}");
        if (keyspace.Hash(key) != hash || !keyspace.Stripes[keyspace.StripeOf(hash)].IsLocked) Mistakes++;
        if (now.Exists) _digests[database.Index][Name(key)] = DigestOf(database, now);
        else _digests[database.Index].Remove(Name(key));
    }

    public void Flushed(Database database)
    {
        Note($"flushed {database.Index}");
        _digests[database.Index].Clear();
    }

    public void Swapped(Database first, Database second)
    {
        Note($"swapped {first.Index} {second.Index}");
        (_digests[first.Index], _digests[second.Index]) = (_digests[second.Index], _digests[first.Index]);
    }

    public void Replaced(Database database)
    {
        if (database.Index == 0) Note("replaced 0");
        _digests[database.Index] = DataOf(database);
    }

    /// <summary>All values as they are must be those of the mirror.</summary>
    internal void AssertEqualsData()
    {
        using LockScope locked = keyspace.LockAll();
        Assert.Equal(0, Mistakes);
        foreach (Database database in keyspace.Databases) Assert.Equal(DataOf(database).OrderBy(static pair => pair.Key, StringComparer.Ordinal), _digests[database.Index].OrderBy(static pair => pair.Key, StringComparer.Ordinal));
    }

    /// <summary>The digests of the values that a rule chooses, by database. No stripe is locked.</summary>
    internal static Dictionary<string, string>[] DataOf(Keyspace keyspace, Chooser chooses)
    {
        using LockScope locked = keyspace.LockAll();
        var all = new Dictionary<string, string>[keyspace.Databases.Length];
        for (int i = 0; i < all.Length; i++) all[i] = DataOf(keyspace, keyspace.Databases[i], chooses);
        return all;
    }

    internal delegate bool Chooser(int database, ReadOnlySpan<byte> key);

    private Dictionary<string, string> DataOf(Database database) => DataOf(keyspace, database, static (_, _) => true);

    private static Dictionary<string, string> DataOf(Keyspace keyspace, Database database, Chooser chooses)
    {
        var data = new Dictionary<string, string>();
        var entries = new EntryList();
        for (int stripe = 0; stripe < keyspace.Stripes.Length; stripe++)
        {
            uint prefix = 0;
            bool more = database.TableIn(stripe) is not null;
            while (more)
            {
                entries.Clear();
                more = database.TableIn(stripe)!.NextSegment(ref prefix, entries);
                foreach (Entry entry in entries)
                {
                    if (chooses(database.Index, entry.Key)) data[Name(entry.Key)] = DigestOf(database, entry);
                }
            }
        }

        return data;
    }

    private static string DigestOf(Database database, scoped in Entry entry)
    {
        Span<byte> digest = stackalloc byte[DatasetDigest.Bytes];
        digest.Clear();
        new DatasetDigest(digest).MixValue(database, entry, ExpiryClock.Never);
        return Convert.ToHexString(digest);
    }

    private static string Shown(Database database, ReadOnlySpan<byte> key, scoped in Entry entry) =>
        $"{(database.Index == 0 ? "" : database.Index + "/")}{Name(key)}:{(!entry.Exists ? "none" : entry.Type == DataType.String ? Name(entry.Value) : entry.Type)}";

    private static string Name(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    private void Note(string text)
    {
        if (Keeps) _told.Add(text);
    }
}
