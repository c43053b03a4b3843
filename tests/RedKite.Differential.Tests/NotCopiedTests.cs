using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>Deliberate differences are documented, and RedKite behaves as in the table.</summary>
public sealed class NotCopiedTests
{
    [Fact]
    public void Page_has_every_row()
    {
        string page = File.ReadAllText(Path.Combine(RepositoryRoot.Path, "docs", "reference", "differences.md"));
        string[] rows = [.. page.Split('\n').Where(line => line.StartsWith("| ", StringComparison.Ordinal) && !line.StartsWith("| Command |", StringComparison.Ordinal) && !line.StartsWith("| Since |", StringComparison.Ordinal))];
        IEnumerable<string> expected = NotCopied.Rows.Select(row => $"| {row.Command} | {row.InRedis} | {row.Here} | {row.Reason} |");
        Assert.Equal([.. expected, .. NotCopied.Newer.Select(row => $"| {row.Version} | {row.What} |")], rows);
    }

    [Fact]
    public void RedKite_behaves_as_in_the_table()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "this is what RedKite does");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--enable-debug-command", "local");
        using RespConnection client = server.Connect();
        client.Send([.. CommandLine.Encode(CommandLine.Split("PING")), .. CommandLine.Encode(CommandLine.Split("AUTH nosuch x")), .. CommandLine.Encode(CommandLine.Split("PING"))]);
        client.Read().IsSimple("PONG");
        client.Read().IsError("WRONGPASS invalid username-password pair or user is disabled.");
        client.Read().IsSimple("PONG");

        client.Run("RPUSH l a").IsInteger(1);
        client.Run("LSET l 4294967296 b").IsError("ERR index out of range");
        client.Run("ZADD z 1 a 2 b").IsInteger(2);
        client.Run("ZRANGEBYSCORE z -inf inf LIMIT -1 1").IsArray();
        client.Run($"RESTORE k 9223372036854775807 {CommandLine.Format(RedisDumps.OfRedis70["integer"])}").IsOk();
        client.Run("EXISTS k").IsInteger(0);
        foreach (int version in (int[])[13, 16, 80, 81]) client.Run($"RESTORE k 0 {CommandLine.Format(RedisDumps.Seal([0, 1, (byte)'a'], version))} REPLACE").IsOk();
        client.Run("DEL k").IsInteger(1);
        client.Run("HSET h a 1 b 2").IsInteger(2);
        client.Run("HPEXPIRE h 1 FIELDS 1 a");
        Thread.Sleep(20);
        client.Run("HLEN h").IsInteger(1);
        client.Run("HDEL h a").IsInteger(0);
        client.Run("HPEXPIRE h 1 FIELDS 1 b");
        Thread.Sleep(20);
        client.Run("HSET h b 2").IsInteger(1);
        client.Run("DEBUG LISTPACK h").IsError("ERR unknown subcommand or wrong number of arguments for 'LISTPACK'. Try DEBUG HELP.");
        Assert.Equal(["0", "0", "0", "0"], SubexpiryWithoutExpiries(client));

        client.Run("COMMAND GETKEYS ZUNION +1 a").IsError("ERR Invalid arguments specified for command");
        Assert.Equal(1, ObjectsFreedLaterByDel(client));
        Assert.Equal("3600 1 300 100 60 10000", SaveWithoutAFile(ServerProgram.UnderTest)); // only an embedded server differs
        Assert.Equal("+>", MarkersAfterAFlush(client, "FLUSHALL"));
        Assert.Equal("+>", MarkersAfterAFlush(client, "FLUSHDB"));
        Assert.Equal("+>", MarkersAfterAFlush(client, "SWAPDB 0 1"));
        Assert.Equal(("listpack", "quicklist"), EncodingsOfShrunkenLists(client));
        client.Run("ACL SETUSER u \"+get|a b\"").IsError("ERR Error in ACL SETUSER modifier '+get|a b': Syntax error");
        Assert.EndsWith("Unknown command or category name in ACL", client.Run("ACL SETUSER u \"+get\\x00x\"").Text, StringComparison.Ordinal);
        Assert.EndsWith("Unknown command or category name in ACL", client.Run("ACL SETUSER u \"+@read\\x00x\"").Text, StringComparison.Ordinal);
        Assert.True(KeysAfterLoadingNothing(client) > 0);
        Assert.Matches(@"^(>\*|\*>)$", MarkersOfABlockedSubscriber(server));
        Assert.StartsWith("ERR unknown command", OriginalNameBehindTheNewOne(ServerProgram.UnderTest).Text, StringComparison.Ordinal);
        BlockedBehindAPause(server).IsNull();
        client.Run("CONFIG SET bind -192.0.2.1").IsError("ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses.");
        using RespConnection another = server.Connect();
        another.Run("PING").IsSimple("PONG");
    }

    private static long ObjectsFreedLaterByDel(RespConnection client)
    {
        // 750 blocks: a slice frees 512 at most.
        for (int i = 0; i < 60; i++) client.Run($"RPUSH long {string.Join(' ', Enumerable.Repeat(new string('x', 1000), 100))}").IsInteger((i + 1) * 100);
        client.Run("CONFIG RESETSTAT").IsOk();
        client.Run("DEL long").IsInteger(1);
        Assert.True(SpinWait.SpinUntil(() => Field("lazyfree_pending_objects") == 0, 60_000));
        return Field("lazyfreed_objects");

        long Field(string name) => long.Parse(client.Run("INFO memory").Text.Split($"{name}:")[1].Split('\r')[0], System.Globalization.CultureInfo.InvariantCulture);
    }

    private static long KeysAfterLoadingNothing(RespConnection client)
    {
        client.Run("SET kept 1").IsOk();
        client.Run("DEBUG LOADAOF").IsError("ERR Error trying to load the AOF files, check server logs.");
        return client.Run("DBSIZE").Number;
    }

    private static string[] SubexpiryWithoutExpiries(RespConnection client)
    {
        return [.. new[] { "HPERSIST fields FIELDS 1 a", "HGETEX fields PERSIST FIELDS 1 a", "HSET fields a 2", "HSETEX fields FIELDS 1 a 2" }.Select(SubexpiryAfter)];

        string SubexpiryAfter(string line)
        {
            client.Run("DEL fields");
            client.Run("HSET fields a 1 b 2").IsInteger(2);
            client.Run("HEXPIRE fields 100 FIELDS 1 a").IsIntegers(1);
            client.Run(line);
            client.Run("HTTL fields FIELDS 1 a").IsIntegers(-1);
            string keyspace = client.Run("INFO keyspace").Text;
            client.Run("DEL fields").IsInteger(1);
            return keyspace.Split("subexpiry=")[1].TrimEnd();
        }
    }

    [Fact]
    public void Redis_behaves_as_in_the_table()
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "what is not copied: " + OracleProgram.Redis8Missing);
        using ServerProcess server = ServerProcess.Start(OracleProgram.Redis8!, "--enable-debug-command", "local");
        using RespConnection client = server.Connect();
        client.Run($"SET {new string('a', 2_000)} 1").IsOk();
        Assert.Single(client.Run("KEYS " + string.Concat(Enumerable.Repeat("*?", 1_000))).Items);
        Assert.Empty(client.Run("KEYS " + string.Concat(Enumerable.Repeat("*?", 1_001))).Items);
        Assert.Equal(["1", "1", "1", "1"], SubexpiryWithoutExpiries(client));
        client.Run("COMMAND GETKEYS ZUNION +1 a").IsArray("a");
        client.Run("RPUSH l a b").IsInteger(2);
        client.Run("LSET l 4294967296 c").IsOk();
        client.Run("LINDEX l 0").IsBulk("c");
        client.Send([.. CommandLine.Encode(CommandLine.Split("ECHO a")), .. CommandLine.Encode(CommandLine.Split("AUTH nosuch x")), .. CommandLine.Encode(CommandLine.Split("ECHO b"))]);
        client.Read().IsBulk("a");
        client.Read().IsBulk("b");
        client.Run("CONFIG SET zset-max-listpack-entries 0").IsOk();
        client.Run("ZADD z 1 a 2 b").IsInteger(2);
        Assert.NotEmpty(client.Run("ZRANGEBYSCORE z -inf inf LIMIT -1 1").Items);
        long keys = client.Run("DBSIZE").Number;
        client.Run($"RESTORE k 9223372036854775807 {CommandLine.Format(RedisDumps.OfRedis70["integer"])}").IsOk();
        client.Run("DBSIZE").IsInteger(keys + 1);
        Assert.Contains(Enumerable.Range(0, 50), _ => HlenCountsExpiredFields(client));
        Assert.Contains(Enumerable.Range(0, 50), _ => HdelCountsExpiredFields(client));
        Assert.Equal(">+", MarkersAfterAFlush(client, "FLUSHALL"));
        Assert.Equal(">+", MarkersAfterAFlush(client, "FLUSHDB"));
        Assert.Equal("+", MarkersAfterAFlush(client, "SWAPDB 0 1"));
        Assert.Equal(("quicklist", "listpack"), EncodingsOfShrunkenLists(client));
        client.Run("ACL SETUSER u \"+get|a b\"").IsOk(); // ACL LIST would end the server
        client.Run("ACL SETUSER v \"+get\\x00x\"").IsOk();
        client.Run("ACL SETUSER v \"+@read\\x00x\"").IsOk();
        Assert.Equal(0, KeysAfterLoadingNothing(client));
        Assert.Equal("*>", MarkersOfABlockedSubscriber(server));
        OriginalNameBehindTheNewOne(OracleProgram.Redis8!).IsNull();
        Assert.Equal("3600 1 300 100 60 10000", SaveWithoutAFile(OracleProgram.Redis8!));
        Assert.True(BlockedBehindAPause(server).IsTimeout);
        client.Run("CONFIG SET bind -192.0.2.1").IsOk();
        Assert.ThrowsAny<System.Net.Sockets.SocketException>(() => server.Connect().Dispose());
    }

    private static (string AfterAChangedLimit, string AfterALongElement) EncodingsOfShrunkenLists(RespConnection client)
    {
        client.Run("CONFIG SET list-max-listpack-size 8").IsOk();
        client.Run("RPUSH grown " + string.Join(' ', Enumerable.Range(0, 10))).IsInteger(10);
        client.Run("CONFIG SET list-max-listpack-size 64").IsOk();
        client.Run("RPUSH grown " + string.Join(' ', Enumerable.Range(0, 40))).IsInteger(50);
        client.Run("LTRIM grown 30 44").IsOk();
        client.Run("CONFIG SET list-max-listpack-size -1").IsOk();
        client.Run("RPUSH lengthened " + string.Join(' ', Enumerable.Repeat(new string('a', 500), 16))).IsInteger(16);
        client.Run($"LSET lengthened 0 {new string('b', 3000)}").IsOk();
        client.Run($"LSET lengthened 1 {new string('b', 3000)}").IsOk();
        client.Run("LSET lengthened 0 b").IsOk();
        client.Run("LSET lengthened 1 b").IsOk();
        client.Run("LTRIM lengthened 0 3").IsOk();
        return (client.Run("OBJECT ENCODING grown").Text, client.Run("OBJECT ENCODING lengthened").Text);
    }

    private static RespValue BlockedBehindAPause(ServerProcess server)
    {
        using RespConnection admin = server.Connect();
        using RespConnection client = RespConnection.Connect(server.Port, timeoutMs: 1_500);
        admin.Run("CLIENT PAUSE 200 ALL").IsOk();
        client.SendCommand("BLPOP nosuch 0.05");
        return client.Read();
    }

    // An array for the reply of BLPOP and a push for the event of its LPOP.
    private static string MarkersOfABlockedSubscriber(ServerProcess server)
    {
        using RespConnection blocked = server.Connect();
        using RespConnection other = server.Connect();
        other.Run("CONFIG SET notify-keyspace-events KEA").IsOk();
        blocked.Run("HELLO 3");
        blocked.SendCommand("SUBSCRIBE __keyevent@0__:lpop");
        Assert.Equal('>', blocked.ReadAny().Marker);
        blocked.SendCommand("BLPOP awaited 0");
        long deadline = Environment.TickCount64 + 30_000;
        while (!other.Run("INFO clients").Text.Contains("blocked_clients:1", StringComparison.Ordinal)) Assert.True(Environment.TickCount64 < deadline);
        other.Run("RPUSH awaited x").IsInteger(1);
        return $"{blocked.ReadAny().Marker}{blocked.ReadAny().Marker}";
    }

    private static string SaveWithoutAFile(ServerProgram program)
    {
        using ServerProcess server = ServerProcess.Start(program with { CommandLine = program.CommandLine.Replace(" --save \"\"", "", StringComparison.Ordinal) });
        using RespConnection client = server.Connect();
        return client.Run("CONFIG GET save").Items[1].Text;
    }

    private static RespValue OriginalNameBehindTheNewOne(ServerProgram program)
    {
        using ServerProcess server = ServerProcess.Start(program, "--rename-command", "get", "fetch");
        using RespConnection client = server.Connect();
        client.Run("FETCH k").IsNull();
        return client.Run("GET k");
    }

    // Unless Redis's own cycle has just removed it.
    private static bool HlenCountsExpiredFields(RespConnection client)
    {
        client.Run("DEL h");
        client.Run("HSET h a 1 b 2").IsInteger(2);
        client.Run("HPEXPIRE h 1 FIELDS 1 a");
        Thread.Sleep(3);
        return client.Run("HLEN h").Number == 2 && client.Run("HGET h a").IsNull;
    }

    private static bool HdelCountsExpiredFields(RespConnection client)
    {
        client.Run("DEL h");
        client.Run("HSET h a 1 b 2").IsInteger(2);
        client.Run("HPEXPIRE h 1 FIELDS 1 a");
        Thread.Sleep(3);
        return client.Run("HDEL h a").Number == 1;
    }

    // A push for the invalidation and a simple string for the reply.
    private static string MarkersAfterAFlush(RespConnection client, string flush)
    {
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON").IsOk();
        client.Run("GET tracked");
        return MarkersAfter(client, flush);
    }

    private static string MarkersAfter(RespConnection client, string command)
    {
        client.SendCommand(command);
        string markers = client.ReadAny().Marker.ToString();
        client.SendCommand("PING end");
        while (client.ReadAny() is { Text: not "end" } message) markers += message.Marker;
        return markers;
    }
}
