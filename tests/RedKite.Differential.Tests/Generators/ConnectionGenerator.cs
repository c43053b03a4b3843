using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Commands on the connection itself.</summary>
internal static class ConnectionGenerator
{
    public static readonly CommandFamily Family = new("connection",
    [
        new("PING", 5, random => random.Chance(50) ? Episode.Of(random.Word("PING")) : Episode.Of("PING", random.Value())),
        new("ECHO", 5, random => Episode.Of("ECHO", random.Value())),
        new("SELECT", 12, random => Episode.Of("SELECT", random.Database())),
        new("HELLO", 8, Hello),
        new("AUTH", 2, random => random.Chance(50) ? Episode.Of("AUTH", random.Value()) : Episode.Of("AUTH", random.Word("default", "nosuchuser"), random.Value())),
        // RESET ends NO-EVICT by itself since Redis 7.2; AllowedDifferences has no row that hides the flag.
        new("RESET", 1, _ => Episode.Of("RESET").Then("CLIENT", "NO-EVICT", "OFF")),
        new("QUIT", 1, _ => Episode.Of("QUIT") with { ClosesConnection = true }),
        new("CLIENT ID", 1, _ => Episode.Of("CLIENT", "ID")),
        new("CLIENT GETNAME", 4, random => Episode.Of("CLIENT", random.Word("GETNAME"))),
        new("CLIENT SETNAME", 4, random => Episode.Of("CLIENT", "SETNAME", random.Chance(60) ? random.Word("alpha", "beta") : random.Value())),
        new("CLIENT INFO", 1, _ => Episode.Of("CLIENT", "INFO")),
        new("CLIENT LIST", 2, ClientList),
        new("CLIENT NO-EVICT", 2, random => Episode.Of("CLIENT", "NO-EVICT", random.Word("ON", "OFF", "maybe"))),
        new("CLIENT NO-TOUCH", 2, random => Episode.Of("CLIENT", "NO-TOUCH", random.Word("ON", "OFF", "maybe"))),
        new("CLIENT SETINFO", 2, random => Episode.Of("CLIENT", "SETINFO", random.Word("LIB-NAME", "LIB-VER", "maybe"), random.Chance(60) ? random.Word("kite", "1.2.3") : random.Value())),
        new("CLIENT REPLY", 1, random => Episode.Of("CLIENT", "REPLY", random.Word("ON", "maybe"))),
        new("CLIENT GETREDIR", 1, _ => Episode.Of("CLIENT", "GETREDIR")),
        new("CLIENT TRACKINGINFO", 1, _ => Episode.Of("CLIENT", "TRACKINGINFO")),
        new("CLIENT TRACKING", 1, random => Episode.Of("CLIENT", "TRACKING", random.Word("OFF", "maybe"))),
        new("CLIENT CACHING", 1, random => Episode.Of("CLIENT", "CACHING", random.Word("YES", "NO", "maybe"))),
        new("CLIENT UNPAUSE", 1, _ => Episode.Of("CLIENT", "UNPAUSE")),
        new("CLIENT PAUSE", 1, random => Episode.Of("CLIENT", "PAUSE", random.Pick<Argument>("abc", "-1", "", "1.5"), random.Word("WRITE", "ALL", "maybe"))),
        new("CLIENT UNBLOCK", 2, random => Episode.Of("CLIENT", "UNBLOCK", random.Pick<Argument>("999999999", "abc", "-1", ""), random.Word("TIMEOUT", "ERROR", "maybe"))),
        new("CLIENT PAUSE for a moment", 1, random => Episode.Of("CLIENT", "PAUSE", 1 + random.Below(4), random.Word("WRITE", "ALL")).Then("SET", "paused", random.Value()).Then("GET", "paused")),
        new("CLIENT KILL", 4, ClientKill),
        new("CLIENT KILL of a connection", 3, ClientKillOne),
        new("CLIENT HELP", 1, _ => Episode.Of("CLIENT", "HELP")),
        new("CLIENT unknown", 1, random => Episode.Of("CLIENT", random.Junk(), random.Junk())),
        new("unknown command", 5, UnknownCommand),
    ]);

    private static Episode Hello(RandomSource random)
    {
        List<Argument> words = [random.Word("HELLO")];
        if (random.Chance(95)) words.Add(random.Chance(90) ? random.Pick<Argument>("2", "3") : random.Pick<Argument>("1", "4", "0", "-1", "abc", "", "3.0", "99999999999999999999"));
        if (random.Chance(10)) words.AddRange([random.Word("AUTH"), random.Word("default", "nosuchuser"), random.Value()]);
        bool named = random.Chance(10);
        if (named) words.AddRange([random.Word("SETNAME"), random.Chance(70) ? random.Word("gamma", "delta") : random.Value()]);
        if (random.Chance(4)) words.Add(random.Junk());

        // A HELLO that fails at an option other than its SETNAME has set the name in Redis 7.0, but not since 7.2. The commands
        // after it equalize the state, and keep the HELLO from being mutated.
        Episode hello = Episode.Of([.. words]);
        if (!named) return hello;
        return words.Count > 4 ? hello.Then("CLIENT", "SETNAME", "gamma") : hello.Then("CLIENT", "GETNAME");
    }

    private static Episode ClientList(RandomSource random) => random.Below(4) switch
    {
        0 => Episode.Of("CLIENT", "LIST"),
        1 => Episode.Of("CLIENT", "LIST", "TYPE", random.Word("normal", "master", "replica", "slave", "pubsub", "nosuch")),
        2 => Episode.Of("CLIENT", "LIST", "ID", random.Pick<Argument>("999999999", "abc", "-1", "0")),
        _ => Episode.Of("CLIENT", "LIST", random.Junk()),
    };

    // Filters that match no client, because the two servers have different connections.
    private static Episode ClientKill(RandomSource random) => random.Below(6) switch
    {
        0 => Episode.Of("CLIENT", "KILL", random.Word("127.0.0.1:1", "nonsense", "")),
        1 => Episode.Of("CLIENT", "KILL", "ID", random.Pick<Argument>("999999999", "abc", "-1", "0", "")),
        2 => Episode.Of("CLIENT", "KILL", "ADDR", "127.0.0.1:1", "SKIPME", random.Word("yes", "no", "maybe")),
        3 => Episode.Of("CLIENT", "KILL", "TYPE", random.Word("pubsub", "replica", "nosuch")),
        4 => Episode.Of("CLIENT", "KILL", "USER", random.Word("nosuchuser")),
        _ => Episode.Of("CLIENT", "KILL", random.Word("LADDR", "ID", "ADDR", "nosuch"), "1.2.3.4:5", random.Junk()),
    };

    // With SKIPME, whose default is yes with filters, a client does not close its own connection.
    private static Episode ClientKillOne(RandomSource random)
    {
        bool own = random.Chance(30);
        List<Argument> words = ["CLIENT", random.Word("KILL")];
        if (random.Chance(20)) words.Add(Episode.AddressOfKilled);
        else
        {
            words.AddRange(random.Chance(50) ? [random.Word("ID"), Episode.IdOfKilled] : [random.Word("ADDR"), Episode.AddressOfKilled]);
            if (random.Chance(30)) words.AddRange([random.Word("USER"), "default"]);
            if (random.Chance(30)) words.AddRange([random.Word("TYPE"), "normal"]);
            if (random.Chance(20)) words.AddRange([random.Word("LADDR"), Episode.AddressOfServer]);
            if (own || random.Chance(20)) words.AddRange([random.Word("SKIPME"), own ? random.Word("NO") : random.Word("yes", "no")]);
        }

        return Episode.Of([.. words]) with { Kills = own ? 0 : 1 + random.Below(StreamGenerator.Connections - 1) };
    }

    private static Episode UnknownCommand(RandomSource random)
    {
        Argument name = random.Pick<Argument>("FOO", "foo", "", "GETT", "foo bar", "new\r\nline", "'quoted'", new string('n', 127), new string('n', 128), new string('n', 200), new byte[] { 0, 1, 255 });
        return Episode.Of([name, .. Enumerable.Range(0, random.Below(5)).Select(_ => random.Chance(80) ? random.Value() : new string('x', 100 + random.Below(60)))]);
    }
}
