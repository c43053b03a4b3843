using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Server;

/// <summary>Commands and options of Valkey 8 and 9 that Redis 8.0.2 does not have, against Valkey 9, reply by reply.</summary>
public class ValkeyFormsTests
{
    private static readonly string[] Requests =
    [
        // HSETEX with a condition on the key. Without a field that it names, nothing is set.
        "HSETEX h XX FIELDS 1 a 1", "EXISTS h", "HSETEX h NX FIELDS 1 a 1", "HGET h a", "HSETEX h NX FIELDS 1 b 2", "HSETEX h XX FIELDS 1 b 2", "HGETALL h",
        "HSETEX h XX FNX FIELDS 1 b 3", "HSETEX h XX FXX EX 1000 FIELDS 1 b 3", "HGET h b", "HTTL h FIELDS 2 a b", "HSETEX h FXX NX FIELDS 1 a 1", "HSETEX h XX KEEPTTL FIELDS 1 b 4", "HTTL h FIELDS 1 b",
        "HSETEX new NX PX 100000 FIELDS 2 x 1 y 2", "HTTL new FIELDS 1 x", "SET text x", "HSETEX text XX FIELDS 1 a 1",
        "HGETEX h PERSIST FIELDS 1 b", "HTTL h FIELDS 1 b", "HGETEX h EX 100 FIELDS 2 a nosuch", "HTTL h FIELDS 1 a", "HGETDEL h FIELDS 2 a nosuch", "HLEN h",

        // Compare and set, compare and delete.
        "SET k v", "SET k w IFEQ x", "SET k w IFEQ v", "GET k", "SET k x IFEQ w GET", "SET nosuch x IFEQ w", "EXISTS nosuch", "DELIFEQ k nosuch", "DELIFEQ k x", "EXISTS k", "DELIFEQ h x",
        "MSETEX 2 m1 1 m2 2 EX 100", "TTL m1", "MSETEX 2 m1 3 m3 3 NX", "MGET m1 m2 m3", "MSETEX 2 m1 4 m2 4 XX KEEPTTL", "TTL m2",

        "ZADD z 1 a 2 b", "ZSCAN z 0 NOSCORES", "ZSCAN z 0 NOSCORES MATCH a*", "ZSCAN z 0 COUNT 100 NOSCORES", "ZSCAN nosuch 0 NOSCORES", "SSCAN m 0 NOSCORES", "HSCAN new 0 NOVALUES",

        "CLIENT CAPA redirect", "CLIENT CAPA nosuch redirect", "CLIENT CAPA", "CLIENT IMPORT-SOURCE ON", "CLIENT IMPORT-SOURCE nosuch", "CLIENT IMPORT-SOURCE",
        "BGSAVE CANCEL", "COMMANDLOG LEN slow nosuch", "COMMANDLOG GET 1 nosuch", "SCRIPT SHOW nosuch",

        "CLUSTERSCAN 0", "CLUSTERSCAN", "CLUSTER SLOT-STATS SLOTSRANGE 0 1", "CLUSTER SLOT-STATS", "CLUSTER MIGRATESLOTS SLOTSRANGE 0 1 NODE x", "CLUSTER MIGRATESLOTS", "CLUSTER FLUSHSLOT 1", "CLUSTER FLUSHSLOT",
        "CLUSTER GETSLOTMIGRATIONS", "CLUSTER CANCELSLOTMIGRATIONS", "CLUSTER SYNCSLOTS x", "CLUSTER SYNCSLOTS", "CLUSTER NOSUCH",
    ];

    [Fact]
    public async Task Replies_are_those_of_valkey_9()
    {
        using Oracle valkey = Oracle.Of(OracleProgram.Valkey9, "--save", "");
        using RespConnection oracle = RespConnection.Connect(valkey.Port);
        await using LiveServer server = await LiveServer.StartAsync("save", "");
        var differences = new List<string>();
        foreach (string request in Requests)
        {
            string expected = oracle.Run(request).ToString()!, actual = server.Run(request).ToString()!;
            if (expected != actual) differences.Add($"{request}: {expected}, here {actual}");
        }

        Assert.True(differences.Count == 0, string.Join('\n', differences));
    }

    // Commands that Valkey 9 has and RedKite does not, with the reason.
    [Fact]
    public async Task Every_command_of_valkey_9_is_there()
    {
        using Oracle valkey = Oracle.Of(OracleProgram.Valkey9, "--save", "");
        await using LiveServer server = await LiveServer.StartAsync();
        string[] missing = [.. Names(valkey.Run("COMMAND")).Except(Names(server.Run("COMMAND"))).Order(StringComparer.Ordinal)];
        Assert.Empty(missing);

        static IEnumerable<string> NamesOf(string name, IEnumerable<string> subcommands) => [name, .. subcommands];

        static IEnumerable<string> Names(object? reply) => reply is RespValue value
            ? value.Items.SelectMany(row => NamesOf(row.Items[0].Text, row.Items[9].Items.Select(sub => sub.Items[0].Text)))
            : ((List<object?>)reply!).Cast<List<object?>>().SelectMany(row => NamesOf((string)row[0]!, ((List<object?>)row[9]!).Cast<List<object?>>().Select(sub => (string)sub[0]!)));
    }
}
