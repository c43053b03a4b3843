using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Messages;

/// <summary>
/// Random steps of several clients that subscribe, publish, track and change a few keys and channels, so that they interact. `{A}` stands for a
/// client's id. What expires or is evicted is in the handwritten transcripts, because its time is the server's.
/// </summary>
internal sealed class MessageStreamGenerator(int seed, IReadOnlyList<char> clients)
{
    private static readonly string[] Channels = ["a", "b", "ab", "__redis__:invalidate"];
    private static readonly string[] Patterns = ["a*", "?", "[ab]", "*", "nosuch*"];
    private static readonly string[] Keys = ["a", "ab", "abc", "b", "bc", "k:1", "k:2"];
    private static readonly string[] Prefixes = ["a", "ab", "b", "k:", "k:1", "c"];

    private readonly RandomSource _random = new(seed);

    internal MessageStep Next()
    {
        char client = _random.Pick(clients);
        int kind = _random.Below(100);
        return kind switch
        {
            < 2 => new(client, [], Reconnects: true, IsOrdered: true),
            < 4 => new(client, ["RESET"]),
            < 12 => new(client, [Protocol()]),
            < 17 => new(client, [_random.Pick("UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE")], IsOrdered: false),
            < 35 => new(client, [Tracking(client)]),
            < 37 => new(client, [_random.Pick("FLUSHALL", "FLUSHDB", "FLUSHALL ASYNC")], IsOrdered: false),
            < 50 => Pipeline(client),
            < 60 => new(client, ["MULTI", .. Several(4, Inside()), _random.Chance(90) ? "EXEC" : "DISCARD"]),
            < 68 => new(client, [Script(client)]),
            _ => new(client, [Simple()]),
        };
    }

    private MessageStep Pipeline(char client)
    {
        if (_random.Chance(40)) return new(client, [Caching(), _random.Chance(70) ? Read() : Simple(), Read()]);
        if (_random.Chance(20)) return new(client, [Caching(), "MULTI", .. Several(3, Read), "EXEC"]);
        return new(client, Several(5, Simple));
    }

    // In one transaction or script, either writes or messages: Redis sends the invalidations of the client's own writes behind all messages.
    private Func<string> Inside()
    {
        string[] left = _random.Chance(50) ? ["PUBLISH", "SPUBLISH"] : ["SET", "MSET", "DEL", "UNLINK", "INCR", "EXPIRE", "PERSIST", "RENAME", "COPY", "GETDEL", "SETNX", "APPEND", "GETSET"];
        return () =>
        {
            while (true)
            {
                string command = Simple();
                if (!left.Contains(command.Split(' ')[0])) return command;
            }
        };
    }

    private string Simple() => _random.Below(100) switch
    {
        < 30 => Read(),
        < 60 => Write(),
        < 75 => _random.Chance(70) ? $"PUBLISH {_random.Pick(Channels)} {_random.Below(10)}" : $"SPUBLISH {_random.Pick(Channels)} {_random.Below(10)}",
        < 90 => Subscription(),
        < 92 => "PUBSUB NUMPAT",
        < 94 => "PUBSUB NUMSUB a b ab",
        < 96 => "PUBSUB SHARDNUMSUB a b ab",
        < 97 => "NOSUCH",
        < 98 => "GET",
        _ => Caching(),
    };

    private string Read() => _random.Pick(
        () => $"GET {Key()}", () => $"MGET {Key()} {Key()}", () => $"EXISTS {Key()} {Key()}", () => $"STRLEN {Key()}", () => $"TYPE {Key()}", () => $"TTL {Key()}", () => $"LCS {Key()} {Key()}")();

    private string Write() => _random.Pick(
        () => $"SET {Key()} {_random.Below(10)}", () => $"MSET {Key()} 1 {Key()} 2 {Key()} 3", () => $"DEL {Key()} {Key()}", () => $"UNLINK {Key()}", () => $"INCR {Key()}",
        () => $"EXPIRE {Key()} 10000", () => $"PERSIST {Key()}", () => $"RENAME {Key()} {Key()}", () => $"COPY {Key()} {Key()} REPLACE", () => $"GETDEL {Key()}", () => $"SETNX {Key()} 1",
        () => $"APPEND {Key()} 1", () => $"EXPIRE {Key()} 0", () => $"GETSET {Key()} 5")();

    private string Subscription()
    {
        string verb = _random.Pick("SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE");
        return $"{verb} {string.Join(' ', Several(3, () => _random.Pick(verb.StartsWith('P') ? Patterns : Channels)))}";
    }

    // A script's write is NotCopied for a client with BCAST and NOLOOP.
    private string Script(char client)
    {
        bool writes = !MayIgnoreOwn(client) && _random.Chance(60);
        string body = string.Join(' ', Several(4, () => $"redis.pcall({Quoted(_random.Chance(40) ? Read() : writes ? Write() : $"PUBLISH {_random.Pick(Channels)} x")})"));
        return $"{_random.Pick("EVAL", "EVAL", "EVAL_RO")} \"{body} return 1\" 0";
    }

    private string Tracking(char client)
    {
        if (_random.Chance(25)) return "CLIENT TRACKING OFF";
        if (_random.Chance(10)) return "CLIENT TRACKINGINFO";
        string mode = _random.Pick("", "", "OPTIN", "OPTOUT", "BCAST", $"BCAST PREFIX {_random.Pick(Prefixes)}", $"BCAST PREFIX {_random.Pick(Prefixes)} PREFIX {_random.Pick(Prefixes)}");
        bool mayIgnoreOwn = !mode.StartsWith("BCAST", StringComparison.Ordinal) || MayIgnoreOwn(client);
        return $"CLIENT TRACKING ON {mode} {(mayIgnoreOwn && _random.Chance(30) ? "NOLOOP" : "")} {(_random.Chance(30) ? $"REDIRECT {{{_random.Pick(clients)}}}" : "")}";
    }

    // Half of the clients use NOLOOP with BCAST, the others write in scripts.
    private bool MayIgnoreOwn(char client) => client < clients[clients.Count / 2];

    private string Protocol() => _random.Chance(70) ? "HELLO 3" : "HELLO 2";

    private string Caching() => _random.Pick("CLIENT CACHING YES", "CLIENT CACHING NO");

    private string Key() => _random.Pick(Keys);

    private string[] Several(int max, Func<string> one) => [.. Enumerable.Range(0, 1 + _random.Below(max)).Select(_ => one())];

    private static string Quoted(string command) => string.Join(',', command.Split(' ', StringSplitOptions.RemoveEmptyEntries).Select(word => $"'{word}'"));
}

/// <summary>The next step of one client.</summary>
/// <param name="Client">Its name.</param>
/// <param name="Commands">Commands that are sent at once.</param>
/// <param name="IsOrdered">Whether the order of the messages that follow is defined.</param>
/// <param name="Reconnects">The connection ends, and there is a new one.</param>
internal sealed record MessageStep(char Client, string[] Commands, bool IsOrdered = true, bool Reconnects = false)
{
    public override string ToString() => Reconnects ? $"{Client} reconnects" : $"{Client}: {string.Join(" ; ", Commands)}";
}
