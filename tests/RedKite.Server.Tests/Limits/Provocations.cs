using System.Globalization;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Limits;

/// <summary>The provocation of a limit: the settings that lower it, and the client's actions.</summary>
internal sealed record Provocation(Action<RedKiteServer> Run, params (string Name, string Value)[] Settings)
{
    internal bool NeedsTls { get; init; }
}

/// <summary>A provocation for each row of the table of limits.</summary>
internal static class Provocations
{
    private const int Many = 400;

    private static readonly string Large = new('v', 100_000);
    private static readonly string LongName = new('n', 600_000);

    internal static Dictionary<string, Provocation> Of { get; } = new(StringComparer.Ordinal)
    {
        ["Requests that are incomplete or queued"] = new(IncompleteRequest, ("client-query-buffer-limit", "1mb")),
        ["Arguments of a request"] = new(ManyArguments, ("max-request-arguments", "1024")),
        ["One argument"] = new(server => Refused(server, "*2\r\n$4\r\nECHO\r\n$1048577\r\n", "ERR Protocol error: invalid bulk length"), ("proto-max-bulk-len", "1mb")),
        ["A request before the login"] = new(BeforeTheLogin, ("requirepass", "secret")),
        ["Replies that are not read"] = new(UnreadReplies, ("client-output-buffer-limit", "normal 1000000 0 0")),
        ["Replies before the login that are not read"] = new(UnreadErrors, ("requirepass", "secret")),
        ["Messages that are not read"] = new(UnreadMessages, ("client-output-buffer-limit", "pubsub 1000000 0 0")),
        ["Lines of MONITOR that are not read"] = new(UnreadLines, ("client-output-buffer-limit", "pubsub 1000000 0 0")),
        ["All buffers and state of all clients"] = new(LargeState, ("maxmemory-clients", "4mb")),
        ["Queued commands of a transaction"] = new(QueuedCommands, ("max-transaction-commands", "2")),
        ["Bytes of queued commands"] = new(QueuedBytes, ("client-query-buffer-limit", "1mb")),
        ["Watched keys"] = new(WatchedKeys, ("max-watched-keys", "2")),
        ["Channels and patterns of a client"] = new(Subscriptions, ("max-subscriptions-per-client", "2")),
        ["Prefixes that a client follows"] = new(Prefixes, ("max-tracking-prefixes-per-client", "2")),
        ["Names of watched keys, channels, patterns and prefixes"] = new(BytesOfNames, ("max-client-state-bytes", "1mb")),
        ["Keys that a client is blocked on"] = new(BlockedKeys, ("max-blocked-keys", "2")),
        ["A client's name, library and version"] = new(Names, ("max-client-name-bytes", "64")),
        ["Tracked keys"] = new(TrackedKeys, ("tracking-table-max-keys", "5")),
        ["Names of tracked keys"] = new(TrackedBytes, ("tracking-table-max-bytes", "5000")),
        ["Scripts of EVAL"] = new(EvaluatedScripts),
        ["Scripts of SCRIPT LOAD"] = new(LoadedScripts, ("max-cached-scripts", "2")),
        ["Text of scripts"] = new(TextOfScripts, ("max-cached-script-bytes", "1024")),
        ["Functions of libraries"] = new(Functions, ("max-functions", "2")),
        ["Text of libraries"] = new(TextOfLibraries, ("max-function-bytes", "1024")),
        ["Memory of an interpreter"] = new(ScriptMemory, ("script-memory-limit", "16mb")),
        ["Users"] = new(Users, ("max-acl-users", "3")),
        ["Rules of a user"] = new(Rules, ("max-acl-rules-per-user", "16")),
        ["Name and rules of a user, in bytes"] = new(RuleBytes, ("max-acl-rule-bytes-per-user", "1024")),
        ["ACL LOG"] = new(AclLog, ("acllog-max-len", "2")),
        ["SLOWLOG"] = new(SlowLog, ("slowlog-log-slower-than", "0"), ("slowlog-max-len", "2")),
        ["COMMANDLOG, large requests"] = new(server => LargeRequests(server, "large-request"), ("commandlog-request-larger-than", "1000"), ("commandlog-large-request-max-len", "2")),
        ["COMMANDLOG, large replies"] = new(server => LargeRequests(server, "large-reply"), ("commandlog-reply-larger-than", "1000"), ("commandlog-large-reply-max-len", "2")),
        ["Connections"] = new(Connections, ("maxclients", "2")),
        ["TLS handshakes in progress"] = new(Handshakes, ("tls-handshakes-max", "2")) { NeedsTls = true },
        ["Time of a TLS handshake"] = new(SlowHandshake, ("tls-handshake-timeout", "1")) { NeedsTls = true },
        ["Failed logins of an address in a minute"] = new(FailedLogins, ("failed-logins-per-minute", "2"), ("requirepass", "secret")),
        ["Addresses with failed logins"] = new(FailedAddresses),
    };

    internal static (string Name, string Value)[] Tls(TestCertificates certificates)
    {
        certificates.Issue("server").Dispose();
        return
        [
            ("tls-port", LoopbackPort.Next().ToString(CultureInfo.InvariantCulture)), ("tls-cert-file", certificates.PathOf("server.crt")), ("tls-key-file", certificates.PathOf("server.key")),
            ("tls-auth-clients", "no"),
        ];
    }

    // Requests

    private static void IncompleteRequest(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send("*2\r\n$4\r\nECHO\r\n$4000000\r\n" + new string('x', 3_000_000));
        client.Read().IsClosed();
    }

    private static void ManyArguments(RedKiteServer server)
    {
        const string Error = "ERR Protocol error: too many arguments, see max-request-arguments";
        using RespConnection allowed = RespConnection.Connect(server.Port);
        allowed.Send(Request(1024));
        allowed.Read().IsInteger(0);
        Refused(server, Request(1025), Error);

        // In pieces: what was read before is remembered.
        using RespConnection pieces = RespConnection.Connect(server.Port);
        string request = Request(1025);
        for (int i = 0; i < request.Length; i += 1000)
        {
            pieces.Send(request[i..Math.Min(i + 1000, request.Length)]);
            Thread.Sleep(1);
        }

        pieces.Read().IsError(Error);
        pieces.Read().IsClosed();
        NetworkTests.WaitFor(() => server.Engine.Limits[Metrics.Limit.RequestArguments] == 2, "both to be counted");

        static string Request(int count) => string.Create(CultureInfo.InvariantCulture, $"*{count}\r\n$3\r\nDEL\r\n") + string.Concat(Enumerable.Repeat("$1\r\na\r\n", count - 1));
    }

    private static void BeforeTheLogin(RedKiteServer server)
    {
        Refused(server, "*11\r\n", "ERR Protocol error: unauthenticated multibulk length");
        Refused(server, "*1\r\n$16385\r\n", "ERR Protocol error: unauthenticated bulk length");
    }

    // Output

    private static void UnreadReplies(RedKiteServer server)
    {
        using RespConnection slow = RespConnection.Connect(server.Port);
        slow.Run("SET k " + Large).IsOk();
        slow.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", Many)));
        NetworkTests.WaitFor(() => server.Engine.Clients.Count == 0, "it is closed");
    }

    private static void UnreadErrors(RedKiteServer server)
    {
        using RespConnection slow = RespConnection.Connect(server.Port);
        string requests = string.Concat(Enumerable.Repeat("PING\r\n", 1000));
        NetworkTests.WaitFor(() => server.Engine.Clients.Count == 1, "it is connected");
        for (int i = 0; i < 10_000 && server.Engine.Clients.Count > 0; i++) slow.Send(requests);
        NetworkTests.WaitFor(() => server.Engine.Clients.Count == 0, "it is closed");
    }

    private static void UnreadMessages(RedKiteServer server)
    {
        using RespConnection slow = RespConnection.Connect(server.Port);
        using RespConnection publisher = RespConnection.Connect(server.Port);
        slow.Run("SUBSCRIBE c");
        NetworkTests.WaitFor(() => publisher.Run("PUBLISH c " + Large).Number == 0, "it is closed");
    }

    private static void UnreadLines(RedKiteServer server)
    {
        using RespConnection slow = RespConnection.Connect(server.Port);
        using RespConnection other = RespConnection.Connect(server.Port);
        slow.Run("MONITOR").IsOk();
        NetworkTests.WaitFor(() => other.Run("EXISTS " + Large).Number == 0 && server.Engine.Clients.Count == 1, "it is closed");
    }

    // The state counts like buffers.
    private static void LargeState(RedKiteServer server)
    {
        using RespConnection small = RespConnection.Connect(server.Port);
        foreach (string state in (string[])["MULTI", "WATCH", "SUBSCRIBE", "CLIENT TRACKING ON BCAST", "BLPOP"])
        {
            using RespConnection client = RespConnection.Connect(server.Port);
            long evicted = server.Engine.Metrics.Server.EvictedClients;
            if (state == "MULTI") client.SendCommand("MULTI");
            if (state == "BLPOP") client.SendCommand($"BLPOP {string.Join(' ', Enumerable.Range(0, 10).Select(i => i + LongName))} 0");
            for (int i = 0; i < 10 && state != "BLPOP"; i++)
            {
                client.SendCommand(state switch
                {
                    "MULTI" => "ECHO " + LongName,
                    "WATCH" or "SUBSCRIBE" => $"{state} {i}{LongName}",
                    _ => $"{state} PREFIX {i}{LongName}",
                });
            }

            NetworkTests.WaitFor(() => server.Engine.Metrics.Server.EvictedClients > evicted, "eviction after " + state);
        }

        small.Run("PING").IsSimple("PONG");
    }

    // State of a client

    private static void QueuedCommands(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        foreach (string line in (string[])["MULTI", "PING", "PING"]) client.Run(line);
        client.Run("PING").IsError("ERR the transaction has too many commands, see max-transaction-commands");
        client.Run("EXEC").IsError("EXECABORT Transaction discarded because of previous errors.");
    }

    private static void QueuedBytes(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("MULTI").IsOk();
        client.Run("ECHO " + LongName).IsSimple("QUEUED");
        client.Run("ECHO " + LongName).IsClosed();
        Assert.Equal(1, server.Engine.Metrics.Server.QueryBufferDisconnections);
        using RedKiteSession caller = server.CreateSession();
        caller.Execute("MULTI");
        caller.Execute("ECHO", LongName);
        Assert.Equal("ERR the transaction is larger than client-query-buffer-limit", caller.Execute("ECHO", LongName).Text);
        Assert.StartsWith("EXECABORT", caller.Execute("EXEC").Text, StringComparison.Ordinal);
    }

    private static void WatchedKeys(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("WATCH a b").IsOk();
        client.Run("WATCH c").IsError("ERR too many watched keys, see max-watched-keys");
        client.Run("UNWATCH").IsOk();
        client.Run("WATCH c").IsOk();
    }

    private static void Subscriptions(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("HELLO 3");
        client.SendCommand("SUBSCRIBE a b a");
        client.Run("PSUBSCRIBE p").IsError("ERR too many subscriptions, max-subscriptions-per-client is 2");
        client.Run("SSUBSCRIBE s").IsError("ERR too many subscriptions, max-subscriptions-per-client is 2");
        client.SendCommand("UNSUBSCRIBE a");
        client.SendCommand("SUBSCRIBE b c");
        client.Run("PING").IsSimple("PONG");
    }

    private static void Prefixes(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("CLIENT TRACKING ON BCAST PREFIX a PREFIX b").IsOk();
        client.Run("CLIENT TRACKING ON BCAST PREFIX c").IsError("ERR too many prefixes, max-tracking-prefixes-per-client is 2");
    }

    private static void BytesOfNames(RedKiteServer server)
    {
        const string Error = "ERR too many bytes of watched keys, subscriptions, prefixes and lists of fields, max-client-state-bytes is 1048576";
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("HELLO 3");
        client.Run("WATCH " + LongName).IsOk();
        client.Run("WATCH b" + LongName).IsError(Error);
        client.Run("SUBSCRIBE " + LongName).IsError(Error);
        client.Run("CLIENT TRACKING ON BCAST PREFIX " + LongName).IsError(Error);
        client.Run("UNWATCH").IsOk();
        client.SendCommand("SUBSCRIBE " + LongName);
        client.Run("WATCH " + LongName).IsError(Error);
        client.SendCommand("UNSUBSCRIBE");
        client.Run("WATCH " + LongName).IsOk();
    }

    private static void BlockedKeys(RedKiteServer server)
    {
        const string Error = "ERR too many keys to block on, max-blocked-keys is 2";
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("BLPOP a b 0.001").IsNull();
        client.Run("XREAD BLOCK 1 STREAMS a b 0 0").IsNull();
        client.Run("BLPOP a b c 0").IsError(Error);
        client.Run("XREAD BLOCK 0 STREAMS a b c 0 0 0").IsError(Error);
        client.Run("BZMPOP 0 3 a b c MIN").IsError(Error);
        client.Run("RPUSH c x").IsInteger(1);
        client.Run("BLPOP a b c 0").IsArray("c", "x");
        NetworkTests.WaitFor(() => server.Engine.Blocked.Count == 0, "no client to be blocked");
    }

    private static void Names(RedKiteServer server)
    {
        const string Error = "ERR the name is too long, max-client-name-bytes is 64";
        using RespConnection client = RespConnection.Connect(server.Port);
        string longest = new('n', 64);
        client.Run("CLIENT SETNAME " + longest).IsOk();
        client.Run($"CLIENT SETNAME {longest}x").IsError(Error);
        client.Run($"HELLO 3 SETNAME {longest}x").IsError(Error);
        client.Run("CLIENT SETINFO LIB-NAME " + longest).IsOk();
        client.Run($"CLIENT SETINFO LIB-NAME {longest}x").IsError(Error);
        client.Run($"CLIENT SETINFO LIB-VER {longest}x").IsError(Error);
        client.Run("CLIENT GETNAME").IsBulk(longest);
    }

    // Shared

    private static void TrackedKeys(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON").IsOk();
        for (int i = 0; i < 200; i++) client.Run("GET key:" + i).IsNull();
        NetworkTests.WaitFor(() => server.Engine.Tracking.Keys <= 5, "the table to be trimmed");
        NetworkTests.WaitFor(() => client.Run("PING").Marker == '+' && client.Pushes.Count >= 195, "the invalidations");
    }

    private static void TrackedBytes(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKING ON").IsOk();
        for (int i = 0; i < 100; i++) client.Run(string.Create(CultureInfo.InvariantCulture, $"GET {i}{LongName.AsSpan(0, 500)}")).IsNull();
        NetworkTests.WaitFor(() => server.Engine.Tracking.Keys <= 8, "the table to be trimmed");
        client.Run("GET " + LongName).IsNull();
        NetworkTests.WaitFor(() => client.Run("PING").Marker == '+' && client.Pushes.Exists(push => push.Items[1].Items[0].Text == LongName), "the long key to be invalidated at once");
    }

    private static void EvaluatedScripts(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        string kept = client.Run("SCRIPT LOAD \"return 'kept'\"").Text;
        for (int i = 0; i < 600; i++) client.Run(string.Create(CultureInfo.InvariantCulture, $"EVAL \"return {i}\" 0")).IsInteger(i);
        Assert.Contains("number_of_cached_scripts:501\r\n", client.Run("INFO memory").Text, StringComparison.Ordinal);
        client.Run($"EVALSHA {kept} 0").IsBulk("kept");
    }

    private static void LoadedScripts(RedKiteServer server)
    {
        const string Error = "ERR too many cached scripts, max-cached-scripts is 2. SCRIPT FLUSH removes them";
        using RespConnection client = RespConnection.Connect(server.Port);
        foreach (string text in (string[])["1", "2", "1"]) Assert.Equal(40, client.Run($"SCRIPT LOAD \"return {text}\"").Text.Length);
        client.Run("SCRIPT LOAD \"return 3\"").IsError(Error);
        client.Run("EVAL \"return 4\" 0").IsInteger(4);
        client.Run("SCRIPT LOAD \"return 4\"").IsError(Error);
        client.Run("SCRIPT FLUSH").IsOk();
        Assert.Equal(40, client.Run("SCRIPT LOAD \"return 3\"").Text.Length);
    }

    private static void TextOfScripts(RedKiteServer server)
    {
        const string Error = "ERR the text of scripts is too long, max-cached-script-bytes is 1024. SCRIPT FLUSH removes them";
        using RespConnection client = RespConnection.Connect(server.Port);
        string filler = "-- " + new string('x', 600);
        for (int i = 0; i < 5; i++) client.Run($"EVAL \"return {i} {filler}\" 0").IsInteger(i); // each makes room for the next
        Assert.Equal(40, client.Run($"SCRIPT LOAD \"return 7 {filler}\"").Text.Length);
        client.Run($"SCRIPT LOAD \"return 8 {filler}\"").IsError(Error);
        client.Run($"EVAL \"return 9 {filler}\" 0").IsInteger(9);
        client.Run($"EVAL \"return 9 {filler}{filler}\" 0").IsError(Error);
    }

    private static void Functions(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("FUNCTION LOAD " + Library("one", 2)).IsBulk("one");
        RespValue refused = client.Run("FUNCTION LOAD " + Library("two", 1));
        Assert.True(refused.IsError && refused.Text.Contains("too many functions, see max-functions", StringComparison.Ordinal), refused.ToString());
        client.Run("FUNCTION LOAD REPLACE " + Library("one", 2)).IsBulk("one");
        Assert.True(client.Run("FUNCTION LOAD REPLACE " + Library("one", 3)).IsError);
        client.Run("FCALL one1 0").IsInteger(1);
        client.Run("FUNCTION FLUSH").IsOk();
        client.Run("FUNCTION LOAD " + Library("two", 2)).IsBulk("two");
    }

    private static void TextOfLibraries(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        string filler = "-- " + new string('x', 600);
        client.Run("FUNCTION LOAD " + Library("one", 1, filler)).IsBulk("one");
        client.Run("FUNCTION LOAD " + Library("two", 1, filler)).IsError("ERR the text of libraries is too long, max-function-bytes is 1024");
        byte[] payload = System.Text.Encoding.Latin1.GetBytes(client.Run("FUNCTION DUMP").Text);
        client.Run("FUNCTION LOAD REPLACE " + Library("one", 1, filler)).IsBulk("one");
        client.Run("FUNCTION"u8.ToArray(), "RESTORE"u8.ToArray(), payload, "REPLACE"u8.ToArray()).IsOk();
        client.Run("FUNCTION DELETE one").IsOk();
        client.Run("FUNCTION LOAD " + Library("two", 1, filler)).IsBulk("two");
    }

    private static void ScriptMemory(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        RespValue refused = client.Run("EVAL \"local t = {} while true do t[#t + 1] = string.rep('x', 1000) .. #t end\" 0");
        Assert.True(refused.IsError && refused.Text.Contains("not enough memory", StringComparison.Ordinal), refused.ToString());
        client.Run("EVAL \"return 1\" 0").IsInteger(1);
    }

    private static void Users(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("ACL SETUSER a").IsOk();
        client.Run("ACL SETUSER b").IsOk();
        client.Run("ACL SETUSER c").IsError("ERR too many users, max-acl-users is 3");
        client.Run("ACL SETUSER b on").IsOk();
        client.Run("ACL DELUSER a").IsInteger(1);
        client.Run("ACL SETUSER c").IsOk();
    }

    private static void Rules(RedKiteServer server)
    {
        const string Error = "ERR too many rules, max-acl-rules-per-user is 16";
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("ACL SETUSER u " + string.Join(' ', Enumerable.Range(0, 15).Select(i => "~k" + i))).IsOk();
        foreach (string rule in (string[])["~other", ">password", "+get", "&channel", "(~x)", "+get|x"])
        {
            client.Run($"ACL SETUSER u {rule}").IsError(Error);
        }

        client.Run("ACL SETUSER u resetkeys ~other >password +get &channel (~x) +set|x").IsOk();
    }

    private static void RuleBytes(RedKiteServer server)
    {
        const string Error = "ERR the user's name and rules are too long, max-acl-rule-bytes-per-user is 1024";
        using RespConnection client = RespConnection.Connect(server.Port);
        string half = new('k', 500), tooLong = new('k', 1025);
        client.Run($"ACL SETUSER u ~{half}").IsOk();
        foreach (string rule in (string[])["~x" + half, "&x" + half, $"(~x{half})", $"+get|x{half}"]) client.Run($"ACL SETUSER u ~another {rule} +get|{half}").IsError(Error);
        client.Run($"ACL SETUSER {tooLong}").IsError(Error);
        Assert.Equal(["~" + half], client.Run("ACL GETUSER u")["keys"]!.Text.Split(' '));
        client.Run($"ACL SETUSER u resetkeys ~x{half}").IsOk();
    }

    private static void AclLog(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        for (int i = 0; i < 5; i++) Assert.True(client.Run($"AUTH user{i} wrong").IsError);
        Assert.Equal(2, client.Run("ACL LOG").Items.Count);
        Assert.True(client.Run($"AUTH {LongName} wrong").IsError);
        Assert.Equal(4096, client.Run("ACL LOG").Items[0]["username"]!.Text.Length); // an entry is limited too
    }

    private static void SlowLog(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        for (int i = 0; i < 5; i++) client.Run("ECHO " + Large);
        Assert.Equal(2, client.Run("SLOWLOG GET 10").Items.Count);
    }

    private static void LargeRequests(RedKiteServer server, string log)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        for (int i = 0; i < 5; i++) client.Run("ECHO " + Large);
        Assert.Equal(2, client.Run("COMMANDLOG GET 10 " + log).Items.Count);
    }

    // Connections

    private static void Connections(RedKiteServer server)
    {
        using RespConnection one = RespConnection.Connect(server.Port);
        using RespConnection two = RespConnection.Connect(server.Port);
        one.Run("PING").IsSimple("PONG");
        two.Run("PING").IsSimple("PONG");
        using RespConnection three = RespConnection.Connect(server.Port);
        three.Read().IsError("ERR max number of clients reached");
        three.Read().IsClosed();
    }

    private static void Handshakes(RedKiteServer server)
    {
        List<TcpClient> halves = [.. Enumerable.Range(0, 10).Select(_ => new TcpClient("127.0.0.1", server.TlsPort))];
        NetworkTests.WaitFor(() => server.Tls.HandshakesRefused > 0, "refused handshakes");
        halves.ForEach(half => half.Dispose());
    }

    private static void SlowHandshake(RedKiteServer server)
    {
        using var half = new TcpClient("127.0.0.1", server.TlsPort);
        Assert.Equal(0, half.GetStream().Read(new byte[1]));
    }

    private static void FailedLogins(RedKiteServer server)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        for (int i = 0; i < 2; i++) client.Run("AUTH wrong").IsError("WRONGPASS invalid username-password pair or user is disabled.");
        client.Run("AUTH secret").IsError("ERR Too many failed logins from this address. Try again in a minute.");
    }

    // Noted directly: a test cannot connect from 10,001 addresses.
    private static void FailedAddresses(RedKiteServer server)
    {
        long nowMs = server.Engine.Clock.NowMs;
        for (int i = 0; i < 10_001; i++) server.Engine.Users.FailedLogins.Note(i.ToString(CultureInfo.InvariantCulture), nowMs);
        Assert.Equal(10_000, server.Engine.Users.FailedLogins.Recent(nowMs, int.MaxValue).Count);
    }

    private static void Refused(RedKiteServer server, string request, string error)
    {
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send(request);
        client.Read().IsError(error);
        client.Read().IsClosed();
    }

    private static string Library(string name, int functions, string filler = "") =>
        $"\"#!lua name={name}\\n" + string.Concat(Enumerable.Range(1, functions).Select(i => $"redis.register_function('{name}{i}', function() return {i} end)\\n")) + filler + "\"";
}
