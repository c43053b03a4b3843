using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;

namespace RedKite.TestSupport;

/// <summary>
/// Compares the data of two servers: by DEBUG DIGEST, and for everything that the digest leaves out by the replies of other commands, for
/// each key of each database, and each library of functions. Both need DEBUG.
/// </summary>
public static partial class SameData
{
    private const int Databases = 16;

    private static readonly byte[][] AllKeys = CommandLine.Split("KEYS *");

    /// <summary>Throws if the data is not the same.</summary>
    /// <param name="expected">A connection to the server with the right data.</param>
    /// <param name="actual">A connection to the other one.</param>
    /// <param name="isExact">
    /// Whether encodings, the times of consumers and the texts of scores are compared too: these differ between versions and ways of
    /// building a value, and so does the digest.
    /// </param>
    /// <param name="hasFieldExpiries">Whether both servers have HPEXPIRETIME.</param>
    /// <returns>The number of keys.</returns>
    public static int Check(RespConnection expected, RespConnection actual, bool isExact = true, bool hasFieldExpiries = true)
    {
        int keys = 0;
        AssertEqual("functions", Sorted(expected.Run("FUNCTION LIST WITHCODE")), Sorted(actual.Run("FUNCTION LIST WITHCODE")));
        for (int database = 0; database < Databases; database++)
        {
            foreach (RespConnection client in (RespConnection[])[expected, actual]) client.Run($"SELECT {database}");
            AssertEqual($"DBSIZE of {database}", expected.Run("DBSIZE").ToString(), actual.Run("DBSIZE").ToString());
            foreach (RespValue key in expected.Run(AllKeys).Items)
            {
                CheckKey(expected, actual, key.Payload!, isExact, hasFieldExpiries);
                keys++;
            }
        }

        if (isExact) AssertEqual("DEBUG DIGEST", expected.Run("DEBUG DIGEST").ToString(), actual.Run("DEBUG DIGEST").ToString());
        return keys;
    }

    private static void CheckKey(RespConnection expected, RespConnection actual, byte[] key, bool isExact, bool hasFieldExpiries)
    {
        string type = expected.Run("TYPE"u8.ToArray(), key).Text;
        List<string> commands = ["TYPE", "PEXPIRETIME"];
        if (type == "hash" && !isExact && hasFieldExpiries) AssertEqual($"fields of {CommandLine.Format(key)}", Fields(expected, key), Fields(actual, key)); // the digest of Valkey 9 leaves out that they expire
        else if (type != "zset" || isExact) commands.Add("DEBUG DIGEST-VALUE");
        else AssertEqual($"scores of {CommandLine.Format(key)}", Scores(expected, key), Scores(actual, key));
        if (isExact) commands.Add("OBJECT ENCODING");
        if (type == "stream") commands.Add("XINFO STREAM");
        if (type == "stream" && isExact) commands.AddRange(["XINFO GROUPS", "XINFO STREAM {key} FULL COUNT 0"]);
        foreach (string command in commands) Compare(expected, actual, command, key);
        if (type == "stream")
        {
            byte[][] words = ["XINFO"u8.ToArray(), "GROUPS"u8.ToArray(), key];
            IReadOnlyList<RespValue> groups = expected.Run(words).Items;
            AssertEqual(CommandLine.Format(words), Groups(groups), Groups(actual.Run(words).Items));
            foreach (RespValue group in groups) ComparePending(expected, actual, key, group["name"]!.Payload!);
        }

        if (type != "hash" || !hasFieldExpiries) return;
        RespValue fields = expected.Run("HKEYS"u8.ToArray(), key);
        byte[][] times = ["HPEXPIRETIME"u8.ToArray(), key, "FIELDS"u8.ToArray(), Encoding.ASCII.GetBytes($"{fields.Items.Count}"), .. fields.Items.Select(field => field.Payload!)];
        AssertEqual($"HPEXPIRETIME {CommandLine.Format(key)}", expected.Run(times).ToString(), actual.Run(times).ToString());
    }

    private static string Fields(RespConnection client, byte[] key) =>
        string.Join(' ', client.Run("HGETALL"u8.ToArray(), key).Items.Chunk(2).Select(pair => $"{CommandLine.Format(pair[0].Payload!)}={CommandLine.Format(pair[1].Payload!)}").Order(StringComparer.Ordinal));

    // Without the lag, which versions compute differently.
    private static string Groups(IEnumerable<RespValue> groups) =>
        string.Join(' ', groups.Select(group => string.Join(' ', ((string[])["name", "consumers", "pending", "last-delivered-id", "entries-read"]).Select(name => group[name]))));

    // Who has which entry, and how often it was delivered.
    private static void ComparePending(RespConnection expected, RespConnection actual, byte[] key, byte[] group)
    {
        byte[][] words = ["XPENDING"u8.ToArray(), key, group, "-"u8.ToArray(), "+"u8.ToArray(), "10000"u8.ToArray()];
        AssertEqual(CommandLine.Format(words), Entries(expected), Entries(actual));

        string Entries(RespConnection client) => string.Join(' ', client.Run(words).Items.Select(entry => $"{entry.Items[0]} {entry.Items[1]} {entry.Items[3]}"));
    }

    private static void Compare(RespConnection expected, RespConnection actual, string command, byte[] key)
    {
        if (!command.Contains("{key}", StringComparison.Ordinal)) command += " {key}";
        byte[][] words = [.. command.Split(' ').Select(word => word == "{key}" ? key : Encoding.ASCII.GetBytes(word))];
        AssertEqual(CommandLine.Format(words), WithoutTree(expected.Run(words).ToString()), WithoutTree(actual.Run(words).ToString()));
    }

    // Small sorted sets do not keep -0, so it depends on history.
    private static string Scores(RespConnection client, byte[] key)
    {
        IReadOnlyList<RespValue> pairs = client.Run("ZRANGE"u8.ToArray(), key, "0"u8.ToArray(), "-1"u8.ToArray(), "WITHSCORES"u8.ToArray()).Items;
        return string.Join(' ', pairs.Select((item, i) => i % 2 == 0 ? item.ToString() : ScoreOf(item.Text).ToString("R", CultureInfo.InvariantCulture)));
    }

    private static double ScoreOf(string text) => text switch
    {
        "inf" => double.PositiveInfinity,
        "-inf" => double.NegativeInfinity,
        _ => double.Parse(text, CultureInfo.InvariantCulture) + 0.0,
    };

    private static string Sorted(RespValue list) => string.Join('\n', list.Items.Select(item => item.ToString()).Order(StringComparer.Ordinal));

    private static void AssertEqual(string what, string expected, string actual)
    {
        if (expected != actual) throw new TranscriptException($"{what}: {expected} but {actual}");
    }

    // The number of nodes of a stream's tree depends on its history, and what Redis 8.6 says of producers is missing before.
    private static string WithoutTree(string text) => Tree().Replace(text, "");

    [GeneratedRegex("radix-tree-(nodes|keys).{1,4}?[0-9]+| \\$idmp-duration :\\d+ .*?\\$iids-duplicates :\\d+")]
    private static partial Regex Tree();
}
