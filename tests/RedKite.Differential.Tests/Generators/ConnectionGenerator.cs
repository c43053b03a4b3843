using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Commands on the connection itself.</summary>
internal static class ConnectionGenerator
{
    public static readonly CommandFamily Family = new("connection",
    [
        new("PING", 5, d => d.Chance(50) ? Episode.Of(d.Word("PING")) : Episode.Of("PING", d.Value())),
        new("ECHO", 5, d => Episode.Of("ECHO", d.Value())),
        new("SELECT", 12, d => Episode.Of("SELECT", d.Database())),
        new("HELLO", 8, Hello),
        new("AUTH", 2, d => d.Chance(50) ? Episode.Of("AUTH", d.Value()) : Episode.Of("AUTH", d.Word("default", "nosuchuser"), d.Value())),
        // RESET ends NO-EVICT by itself since Redis 7.2; AllowedDifferences has no row that hides the flag.
        new("RESET", 1, _ => Episode.Of("RESET").Then("CLIENT", "NO-EVICT", "OFF")),
        new("QUIT", 1, _ => Episode.Of("QUIT") with { ClosesConnection = true }),
        new("CLIENT ID", 1, _ => Episode.Of("CLIENT", "ID")),
        new("CLIENT GETNAME", 4, d => Episode.Of("CLIENT", d.Word("GETNAME"))),
        new("CLIENT SETNAME", 4, d => Episode.Of("CLIENT", "SETNAME", d.Chance(60) ? d.Word("alpha", "beta") : d.Value())),
        new("CLIENT INFO", 1, _ => Episode.Of("CLIENT", "INFO")),
        new("CLIENT LIST", 2, ClientList),
        new("CLIENT NO-EVICT", 2, d => Episode.Of("CLIENT", "NO-EVICT", d.Word("ON", "OFF", "maybe"))),
        new("CLIENT REPLY", 1, d => Episode.Of("CLIENT", "REPLY", d.Word("ON", "maybe"))),
        new("CLIENT GETREDIR", 1, _ => Episode.Of("CLIENT", "GETREDIR")),
        new("CLIENT TRACKINGINFO", 1, _ => Episode.Of("CLIENT", "TRACKINGINFO")),
        new("CLIENT TRACKING", 1, d => Episode.Of("CLIENT", "TRACKING", d.Word("OFF", "maybe"))),
        new("CLIENT CACHING", 1, d => Episode.Of("CLIENT", "CACHING", d.Word("YES", "NO", "maybe"))),
        new("CLIENT UNPAUSE", 1, _ => Episode.Of("CLIENT", "UNPAUSE")),
        new("CLIENT PAUSE", 1, d => Episode.Of("CLIENT", "PAUSE", d.Pick<Argument>("abc", "-1", "", "1.5"), d.Word("WRITE", "ALL", "maybe"))),
        new("CLIENT UNBLOCK", 2, d => Episode.Of("CLIENT", "UNBLOCK", d.Pick<Argument>("999999999", "abc", "-1", ""), d.Word("TIMEOUT", "ERROR", "maybe"))),
        new("CLIENT KILL", 4, ClientKill),
        new("CLIENT HELP", 1, _ => Episode.Of("CLIENT", "HELP")),
        new("CLIENT unknown", 1, d => Episode.Of("CLIENT", d.Junk(), d.Junk())),
        new("unknown command", 5, UnknownCommand),
    ]);

    private static Episode Hello(Draw d)
    {
        List<Argument> words = [d.Word("HELLO")];
        if (d.Chance(95)) words.Add(d.Chance(90) ? d.Pick<Argument>("2", "3") : d.Pick<Argument>("1", "4", "0", "-1", "abc", "", "3.0", "99999999999999999999"));
        if (d.Chance(10)) words.AddRange([d.Word("AUTH"), d.Word("default", "nosuchuser"), d.Value()]);
        bool named = d.Chance(10);
        if (named) words.AddRange([d.Word("SETNAME"), d.Chance(70) ? d.Word("gamma", "delta") : d.Value()]);
        if (d.Chance(4)) words.Add(d.Junk());

        // A HELLO that fails at another option than its SETNAME has given the name in Redis 7.0, and has not since 7.2: what
        // follows lets both go on alike, and keeps the HELLO from being damaged.
        Episode hello = Episode.Of([.. words]);
        if (!named) return hello;
        return words.Count > 4 ? hello.Then("CLIENT", "SETNAME", "gamma") : hello.Then("CLIENT", "GETNAME");
    }

    private static Episode ClientList(Draw d) => d.Below(4) switch
    {
        0 => Episode.Of("CLIENT", "LIST"),
        1 => Episode.Of("CLIENT", "LIST", "TYPE", d.Word("normal", "master", "replica", "slave", "pubsub", "nosuch")),
        2 => Episode.Of("CLIENT", "LIST", "ID", d.Pick<Argument>("999999999", "abc", "-1", "0")),
        _ => Episode.Of("CLIENT", "LIST", d.Junk()),
    };

    // Filters that match no client: which connections exist is not the same on both sides.
    private static Episode ClientKill(Draw d) => d.Below(6) switch
    {
        0 => Episode.Of("CLIENT", "KILL", d.Word("127.0.0.1:1", "nonsense", "")),
        1 => Episode.Of("CLIENT", "KILL", "ID", d.Pick<Argument>("999999999", "abc", "-1", "0", "")),
        2 => Episode.Of("CLIENT", "KILL", "ADDR", "127.0.0.1:1", "SKIPME", d.Word("yes", "no", "maybe")),
        3 => Episode.Of("CLIENT", "KILL", "TYPE", d.Word("pubsub", "replica", "nosuch")),
        4 => Episode.Of("CLIENT", "KILL", "USER", d.Word("nosuchuser")),
        _ => Episode.Of("CLIENT", "KILL", d.Word("LADDR", "ID", "ADDR", "nosuch"), "1.2.3.4:5", d.Junk()),
    };

    private static Episode UnknownCommand(Draw d)
    {
        Argument name = d.Pick<Argument>("FOO", "foo", "", "GETT", "foo bar", "new\r\nline", "'quoted'", new string('n', 127), new string('n', 128), new string('n', 200), new byte[] { 0, 1, 255 });
        return Episode.Of([name, .. Enumerable.Range(0, d.Below(5)).Select(_ => d.Chance(80) ? d.Value() : new string('x', 100 + d.Below(60)))]);
    }
}
