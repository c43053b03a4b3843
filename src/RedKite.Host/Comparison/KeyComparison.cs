using System.Globalization;
using RedKite.Host.Transfer;
using RedKite.Persistence.Rdb;

namespace RedKite.Host.Comparison;

/// <summary>
/// Compares a primary and its replica key by key, while both change. A key that differs is read on the primary, on the replica when that has
/// executed what the primary had executed, and on the primary again: if the primary's value has not changed meanwhile, the replica's must be the same.
/// </summary>
/// <remarks>Memory is bounded by what one SCAN returns: keys that differ are decided before the next one.</remarks>
internal sealed class KeyComparison
{
    private const int RoundsMax = 50; // of a key that changes all the time
    private const int ShownMax = 100; // differences
    private const int RoundPauseMs = 5;

    // A difference counts when it has been seen so often: fields and keys that have just expired may be there on one side a little longer.
    private const int Confirmations = 4;
    private const int ConfirmationPauseMs = 100;

    private readonly ReplicaPair _pair;
    private readonly TransferProgress _progress;
    private readonly KeyReader _primary;
    private readonly KeyReader _replica;

    internal KeyComparison(ReplicaPair pair, DumpDigest values, TransferProgress progress)
    {
        _pair = pair;
        _progress = progress;
        bool digests = KeyReader.MakesDigests(pair.Primary) && KeyReader.MakesDigests(pair.Replica);
        _primary = new KeyReader(new SourceServer(pair.Primary), digests, values);
        _replica = new KeyReader(new SourceServer(pair.Replica), digests, values);
    }

    internal long Keys { get; private set; }

    internal long Differences { get; private set; }

    /// <summary>Keys that were never the same for long enough to be compared.</summary>
    internal long Undecided { get; private set; }

    internal void Run()
    {
        CompareFunctions();
        SortedDictionary<int, long> databases = _primary.Source.Databases(), ofReplica = _replica.Source.Databases();
        _progress.KeysTotal = databases.Values.Sum();
        foreach (int database in databases.Keys.Union(ofReplica.Keys).Order())
        {
            _primary.Source.Link.RunOrFail("SELECT", database);
            _replica.Source.Link.RunOrFail("SELECT", database);
            CompareDatabase(database);
            FindMore(database);
        }
    }

    private void CompareDatabase(int database)
    {
        string cursor = "0";
        do
        {
            IReadOnlyList<byte[]> keys = _primary.Source.Scan(ref cursor);
            KeyState[] expected = _primary.Read(keys, isExact: false), actual = _replica.Read(keys, isExact: false);
            Decide(database, [.. keys.Where((_, i) => expected[i] != actual[i])]);
            Keys += keys.Count;
            _progress.Show(Keys, _pair.Primary.Received + _pair.Replica.Received, "");
        }
        while (cursor != "0");
    }

    // Keys that only the replica has.
    private void FindMore(int database)
    {
        string cursor = "0";
        do
        {
            IReadOnlyList<byte[]> keys = _replica.Source.Scan(ref cursor);
            bool[] exist = _primary.Exist(keys);
            Decide(database, [.. keys.Where((_, i) => !exist[i])]);
        }
        while (cursor != "0");
    }

    private void Decide(int database, List<byte[]> keys)
    {
        for (int round = 0; keys.Count > 0; round++)
        {
            if (round == RoundsMax)
            {
                Undecided += keys.Count;
                return;
            }

            int confirmations = Differences < ShownMax ? Confirmations : 1;
            if (round > 1) Thread.Sleep(round <= confirmations ? ConfirmationPauseMs : RoundPauseMs);
            KeyState[] before = _primary.Read(keys, isExact: true);
            _pair.WaitForReplica();
            KeyState[] actual = _replica.Read(keys, isExact: true), after = _primary.Read(keys, isExact: true);
            List<byte[]> left = [];
            for (int i = 0; i < keys.Count; i++)
            {
                if (actual[i] == before[i] || actual[i] == after[i]) continue;
                if (before[i] == after[i] && round >= confirmations) Note(database, keys[i], after[i], actual[i]);
                else left.Add(keys[i]);
            }

            keys = left;
        }
    }

    private void Note(int database, byte[] key, KeyState expected, KeyState actual)
    {
        Differences++;
        if (Differences > ShownMax) return;
        string what = !actual.Exists ? "only the primary has it"
            : !expected.Exists ? "only the replica has it"
            : expected.Value != actual.Value ? "its value differs"
            : string.Create(CultureInfo.InvariantCulture, $"it expires at {Shown(expected.Expiry)} on the primary, at {Shown(actual.Expiry)} on the replica");
        _progress.Line(string.Create(CultureInfo.InvariantCulture, $"database {database}, key {RdbTypes.Shown(key)}: {what}"));
        if (Differences == ShownMax) _progress.Line("more keys are counted, not shown");

        static string Shown(long expiry) => expiry < 0 ? "no time" : expiry.ToString(CultureInfo.InvariantCulture);
    }

    private void CompareFunctions()
    {
        string? expected = Libraries(_pair.Primary);
        if (expected is null || expected == Libraries(_pair.Replica)) return;
        _pair.WaitForReplica();
        if (Libraries(_pair.Primary) == Libraries(_pair.Replica)) return;
        Differences++;
        _progress.Line("functions: the libraries differ");
    }

    // Null: a server before 7.0, which has none.
    private static string? Libraries(ServerLink link)
    {
        Reply libraries = link.Run("FUNCTION", "LIST", "WITHCODE");
        return libraries.IsError ? null : string.Join('\n', libraries.Array.Select(static library => library["library_name"]?.Text + "\n" + library["library_code"]?.Text).Order(StringComparer.Ordinal));
    }
}
