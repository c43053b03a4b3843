using RedKite.Differential.Tests.Streams;
using RedKite.Differential.Tests.Transcripts;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Acl;

/// <summary>Users and their rules, each reply compared with Redis 8: grammar, descriptions, errors, logins and denials.</summary>
public sealed class AclTranscriptTests(AclTranscriptTests.Servers servers) : IClassFixture<AclTranscriptTests.Servers>
{
    // Categories of Redis 8.8, and of the modules that Debian's Redis does not have.
    private static readonly string[] OfOthers = ["array", "json", "bloom", "cuckoo", "cms", "topk", "tdigest", "timeseries"];

    private const string Hash = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    [Theory]
    [InlineData("on >a >b nopass >c")]
    [InlineData("on >a <a", "<zz", "<")]
    [InlineData("#" + Hash, "#" + Hash, "!" + Hash, "!" + Hash)]
    [InlineData("#abc", "!abc", "#", "#Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
    [InlineData(">", ">pw !30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4")]
    [InlineData("nopass ON", "resetpass RESETPASS NoPass off", "on RESET")]
    [InlineData("sanitize-payload skip-sanitize-payload", "sanitize-payload", "SKIP-SANITIZE-PAYLOAD")]
    [InlineData("+get -get +config|get +config +config|set -config|get")]
    [InlineData("+config|get +config|set -config +config|get")]
    [InlineData("+@all -config|get +config +@admin -@admin -config|set +@dangerous")]
    [InlineData("+@read -@write +get|x", "-get|x", "+@read", "+@read -@READ")]
    [InlineData("+client|nope", "+nope", "+@nope", "-@nope", "+config|get|x", "+nope|x", "+get|x|y", "+@connection|x", "+config|get|")]
    [InlineData("+config|", "+get|", "+|", "+", "-", "foo", "", "+@", "-@", "%", "+ ", "+@all|x", "-|", "-config|", "-config|nope", "+config|GET|")]
    [InlineData("~* ~a", "allkeys %R~b", "~a ~*", "~b resetkeys ~c", "%RW~* ~a", "~* resetkeys")]
    [InlineData("~a ~b %R~c %W~d %RW~e %WR~f %~g", "%RR~g", "%X~g", "%R", "%", "~", "%r~lower", "%w~lower", "%Rx~a", "%R~~a", "%~")]
    [InlineData("~a ~b %R~c %W~d %RW~e %WR~f ~a %R~a %W~a %RW~z %R~* %W~*")]
    [InlineData("%R~one", "%W~one", "%R~one ~two %W~two")]
    [InlineData("&* &a", "&", "&a &b &a resetchannels &c", "allchannels", "ALLCHANNELS resetchannels", "&a &*")]
    [InlineData("(+get ~x) (%R~y &c -@all +@read)", "()", "(on)", "(>a)", "(reset)", "(+nope)", "( )")]
    [InlineData("(", "(+get", "( +get ~x )", "(+get ~x ( )", "+get)", "(+get) x)", ")", "(+get ~x (", "(~a) (~b", "(~a)(~b)", "((~a))")]
    [InlineData("(+get ~x)", "clearselectors", "(+get) (+get)", "CLEARSELECTORS (~*)", "reset")]
    [InlineData("ALLKEYS ALLCHANNELS ALLCOMMANDS", "NOCOMMANDS RESETKEYS", "+@ALL -@READ +GET -Config|Get")]
    [InlineData("+select|0 +select|1", "+SELECT|0", "+GET|Xy +GET|xy +get|x -@read", "-select", "+select|2", "+select", "+select|3", "+@connection")]
    [InlineData("-@all", "+@all", "allcommands -@all +@all", "+get -@all +set", "+@all -get +@all")]
    public void Rules(params string[] lines)
    {
        using PairedConnection connection = servers.Connect();
        foreach (string line in lines)
        {
            connection.Run("ACL SETUSER u " + (line.Contains('"') ? line.Replace("\"", "\\\"", StringComparison.Ordinal) : line.Length == 0 ? "\"\"" : line));
            connection.Run("ACL LIST");
            connection.Run("ACL GETUSER u");
        }

        connection.Run("HELLO 3");
        connection.Run("ACL GETUSER u");
    }

    [Theory]
    [InlineData("ACL SETUSER \"a b\"", "ACL SETUSER \"a\\x00b\" on", "ACL SETUSER", "ACL SETUSER v", "ACL USERS", "ACL GETUSER V", "ACL GETUSER v", "ACL DELUSER v v", "ACL DELUSER", "ACL DELUSER default", "ACL DELUSER nope")]
    [InlineData("ACL SETUSER u \"~a b\"", "ACL SETUSER u \"+a b\"", "ACL SETUSER u \"&a b\"", "ACL SETUSER u \"(~a b)\"", "ACL SETUSER u \"(~a\" \"b)\"", "ACL SETUSER u \"(~a  +get )\"", "ACL SETUSER u \"( ~a\" \"+get\"  \")\"", "ACL LIST")]
    [InlineData("ACL SETUSER u \"~a\\tb\"", "ACL SETUSER u \"~a\\x00b\"", "ACL SETUSER u \"foo\\x00bar\"", "ACL LIST")]
    [InlineData("ACL CAT nope", "ACL CAT a b", "ACL NOPE", "ACL", "ACL WHOAMI x", "ACL WHOAMI", "ACL GETUSER", "ACL GETUSER nope")]
    [InlineData("ACL GENPASS 0", "ACL GENPASS 4097", "ACL GENPASS -1", "ACL GENPASS x", "ACL GENPASS 1 2")]
    [InlineData("ACL LOG RESET", "ACL LOG", "ACL LOG x", "ACL LOG -1", "ACL LOG 0", "ACL LOG 1 2", "ACL LOG reset", "ACL LOG 99999999999")]
    [InlineData("ACL SAVE", "ACL LOAD", "ACL SAVE x", "ACL LOAD x")]
    [InlineData("ACL DRYRUN", "ACL DRYRUN default", "ACL DRYRUN nope get x", "ACL DRYRUN default nope x", "ACL DRYRUN default get", "ACL DRYRUN default get x", "ACL DRYRUN default get x y", "ACL DRYRUN default config nope", "ACL DRYRUN default acl", "ACL DRYRUN default config", "ACL DRYRUN default CONFIG get x")]
    [InlineData("CLIENT KILL USER nope", "CONFIG SET acllog-max-len -1", "CONFIG SET acl-pubsub-default x", "CONFIG SET aclfile x", "CONFIG GET acllog-max-len", "CONFIG GET aclfile")]
    [InlineData("CONFIG SET acl-pubsub-default allchannels", "ACL SETUSER v", "ACL SETUSER v (+get)", "ACL LIST", "ACL SETUSER v resetchannels reset", "ACL LIST", "CONFIG SET acl-pubsub-default resetchannels", "ACL SETUSER v reset", "ACL LIST", "ACL DELUSER v")]
    public void Commands(params string[] lines)
    {
        using PairedConnection connection = servers.Connect();
        foreach (string line in lines) connection.Run(line);
    }

    [Theory]
    [InlineData("~a* %R~r* %W~w* &ch* +@all", "get a|get x|set rx v|set rx v get|get rx|get wx|set wx 1|set wx 1 get|exists wx|exists rx|exists x|type wx|mset a1 1 x1 2|mget a1 rx wx|zunionstore a 9 foo|zunionstore x abc foo|zunionstore a 2 rx rx|xread streams a x 0 0|xread count 1 a x 0 0|xread streams a 0|sort a by x|sort a get #|sort a store x|sort x store a|sort_ro x|georadius a 1 1 1 m store x|bitfield rx get u8 0|bitfield rx set u8 0 1|pfcount rx|pfcount wx|auth x|hello 3|reset|quit|copy rx wx|copy wx rx|rename wx a|rename a rx|getdel rx|getdel a|getex rx|append wx x|incr wx|incr a|lmove a wx left left|lmpop 2 a rx left|sinterstore wx rx rx|object encoding wx|memory usage rx|xinfo stream wx|dump wx|restore wx 0 x")]
    [InlineData("+get|Abc +select|0 +config|get", "get abc|get aBc|get x|get|select 0|select 1|config get x|config set x y|config help|acl whoami|object help")]
    [InlineData("(+get ~x) (+set ~y) (+@all ~z -get)", "get z|set q 1|lpush q 1|get x|set y 1|set z 1|get y|del x|lpush z 1")]
    [InlineData("+mget ~a (%R~b +mget) (%W~b +set)", "mget a b|mget b b|mget b a|set b 1|get b|set b 1 get|mget a c b|mget c a")]
    [InlineData("%R~* %W~w +@all", "get \"\"|set \"\" 1|get x|set w 1|set x 1|sort x get #|sort x by y*|incr w")]
    [InlineData("~[a-c]? ~\\*x ~h?llo ~k[^z] +@all", "get a1|get d1|get *x|get ax|get hello|get hllo|get kz|get ka|get a|get \"\"")]
    [InlineData("-@all", "ping|auth x|hello|quit|reset|get a|acl whoami|acl help|command|client id|multi")]
    public void Dry_runs(string rules, string commands)
    {
        using PairedConnection connection = servers.Connect();
        connection.Run("ACL SETUSER u " + rules.Replace("\\", "\\\\", StringComparison.Ordinal)).IsOk();
        foreach (string command in commands.Split('|'))
        {
            if (AbsentCommands.Contains(command.Split(' ')[0])) continue;
            connection.Run("ACL DRYRUN u " + command);
        }
    }

    // Rules and files that were written for Redis know all of its commands, whether RedKite has them or not.
    [Fact]
    public void Rules_know_every_command_of_redis()
    {
        using PairedConnection connection = servers.Connect();
        RespConnection oracle = servers.Pair.Oracle.Control, subject = servers.Pair.Subject.Control;
        foreach (RespValue name in oracle.Run("COMMAND LIST").Items)
        {
            if (!name.Text.Contains('|', StringComparison.Ordinal)) connection.Run($"ACL SETUSER u +{name.Text} -{name.Text} +{name.Text}").IsOk();
            else connection.Run($"ACL SETUSER u +{name.Text}").IsOk();
        }

        connection.Run("ACL SETUSER u reset +save +vadd +migrate +replicaof +save|x ~k*").IsOk();
        foreach (string line in (string[])["ACL LIST", "ACL DRYRUN u save", "ACL DRYRUN u save x", "ACL DRYRUN u vadd k VALUES 1 1 b", "ACL DRYRUN u vadd a VALUES 1 1 b", "ACL DRYRUN u bgsave", "ACL DRYRUN u migrate h 1 k 0 1", "ACL DRYRUN u migrate h 1 a 0 1"]) connection.Run(line);
        connection.Run("ACL SETUSER u reset +@all -@dangerous -@write +bgsave").IsOk();
        connection.Run("ACL LIST");
        IEnumerable<string> categories = subject.Run("ACL CAT").Items.Select(name => name.Text).Where(name => !OfOthers.Contains(name));
        Assert.Equal(oracle.Run("ACL CAT").Items.Select(name => name.Text), categories);
        foreach (RespValue category in oracle.Run("ACL CAT").Items)
        {
            IEnumerable<string> expected = oracle.Run("ACL CAT " + category.Text).Items.Select(name => name.Text).Order(StringComparer.Ordinal);
            Assert.Equal(expected, subject.Run("ACL CAT " + category.Text).Items.Select(name => name.Text).Where(name => !AddedCommands.Contains(name)).Order(StringComparer.Ordinal));
        }
    }

    // The digits are random: of the replies only their form is compared.
    [Theory]
    [InlineData("ACL GENPASS", 64)]
    [InlineData("ACL GENPASS 256", 64)]
    [InlineData("ACL GENPASS 1", 1)]
    [InlineData("ACL GENPASS 4", 1)]
    [InlineData("ACL GENPASS 5", 2)]
    [InlineData("ACL GENPASS 64", 16)]
    [InlineData("ACL GENPASS 1024", 256)]
    [InlineData("ACL GENPASS 4096", 1024)]
    public void Generated_passwords_have_the_same_form(string line, int digits)
    {
        using PairedConnection connection = servers.Connect();
        foreach (ServerPair.Side side in (ServerPair.Side[])[servers.Pair.Oracle, servers.Pair.Subject])
        {
            string first = side.Control.Run(line).Text, second = side.Control.Run(line).Text;
            Assert.Matches($"^[0-9a-f]{{{digits}}}$", first);
            Assert.Matches($"^[0-9a-f]{{{digits}}}$", second);
            if (digits >= 16) Assert.NotEqual(first, second);
        }
    }

    [Fact]
    public void Denials_are_replied_and_counted()
    {
        using PairedConnection admin = servers.Connect();
        using PairedConnection client = new(servers.Pair);
        admin.Run("ACL SETUSER u on >p ~a* +@all &c -flushall +config|get").IsOk();
        foreach (string line in (string[])["AUTH u bad", "AUTH nope x", "auth x", "HELLO 3 AUTH u bad", "hello 2 AUTH u bad", "AUTH u p", "ACL WHOAMI", "GET x", "GET x", "get y", "MGET a x", "FLUSHALL", "config get x", "AUTH u bad", "SORT a BY x", "SORT a BY nosort GET #", "SORT a BY x*", "SORT_RO a GET #", "SORT a BY nosort"]) client.Run(line);
        admin.Run("ACL SETUSER u resetkeys -config").IsOk();
        foreach (string line in (string[])["GET a1", "CONFIG GET x", "CONFIG", "CONFIG NOPE", "NOPE", "GET", "SET a1 1", "PING"]) client.Run(line);
        admin.Run("ACL SETUSER u off").IsOk();
        client.Run("PING").IsSimple("PONG");
        client.Run("AUTH u p");
        client.Run("ACL WHOAMI").IsBulk("u");
        client.Run("RESET");
        client.Run("ACL WHOAMI").IsBulk("default");
        foreach (string field in (string[])["auth", "cmd", "key"])
        {
            Assert.Equal(ServerPair.Info(servers.Pair.Oracle.Control, "stats", "acl_access_denied_" + field), ServerPair.Info(servers.Pair.Subject.Control, "stats", "acl_access_denied_" + field));
        }

        Assert.Equal(AclLogText.Of(servers.Pair.Oracle.Control), AclLogText.Of(servers.Pair.Subject.Control));
    }

    [Fact]
    public void Deleted_users_are_disconnected()
    {
        using PairedConnection admin = servers.Connect();
        admin.Run("ACL SETUSER u on nopass +@all ~*").IsOk();
        using PairedConnection client = new(servers.Pair);
        using PairedConnection suicide = new(servers.Pair);
        client.Run("AUTH u x").IsOk();
        suicide.Run("AUTH u x").IsOk();
        suicide.Run("ACL DELUSER u").IsInteger(1);
        suicide.Run("PING").IsClosed();
        client.Run("PING").IsClosed();
        admin.Run("ACL USERS");
    }

    [Theory]
    [InlineData("BLPOP q 0")]
    [InlineData("XREAD BLOCK 0 STREAMS s $")]
    [InlineData("SUBSCRIBE c", "PSUBSCRIBE *")]
    [InlineData("MULTI", "SET a 1")]
    [InlineData("MONITOR")]
    [InlineData("CLIENT TRACKING ON BCAST")]
    public void Deleted_users_are_disconnected_whatever_they_do(params string[] lines)
    {
        using PairedConnection admin = servers.Connect();
        admin.Run("ACL SETUSER u on nopass +@all ~* &*").IsOk();
        using PairedConnection client = new(servers.Pair);
        client.Run("AUTH u x").IsOk();
        client.Run("HELLO 3");
        bool isBlocked = lines[0].EndsWith(" 0", StringComparison.Ordinal) || lines[0].Contains("BLOCK", StringComparison.Ordinal);
        foreach (string line in lines)
        {
            if (isBlocked)
            {
                client.Send(line);
            }
            else if (line.Contains("SUBSCRIBE", StringComparison.Ordinal))
            {
                client.Send(line);
                client.ReadPush(); // there is no other reply
            }
            else
            {
                client.Run(line);
            }
        }

        if (isBlocked) servers.Pair.WaitForBlocked(1);
        admin.Run("ACL DELUSER u").IsInteger(1);
        servers.Pair.WaitUntil(control => !control.Run("CLIENT LIST").Text.Contains(" user=u ", StringComparison.Ordinal), "no client of the user");
        admin.Run("RPUSH q 1");
        admin.Run("XADD s 1-1 f v");
        admin.Run("EXISTS a").IsInteger(0);
        admin.Run("LLEN q").IsInteger(1);
    }

    [Fact]
    public void Blocked_clients_lose_revoked_permissions()
    {
        using PairedConnection admin = servers.Connect();
        admin.Run("ACL SETUSER u on nopass +@all ~q").IsOk();
        using PairedConnection client = new(servers.Pair);
        client.Run("AUTH u x").IsOk();
        client.Send("BLPOP q 0");
        servers.Pair.WaitForBlocked(1);
        admin.Run("ACL SETUSER u resetkeys").IsOk();
        admin.Run("RPUSH q x");
        client.Read("BLPOP q 0").IsError("NOPERM No permissions to access a key");
        admin.Run("LRANGE q 0 -1").IsArray("x");
        client.Run("BLPOP q 0");
    }

    [Fact]
    public void Queued_commands_lose_revoked_permissions()
    {
        Assert.SkipWhen(AbsentCommands.Contains("multi"), "there are no transactions yet");
        using PairedConnection admin = servers.Connect();
        admin.Run("ACL SETUSER u on nopass +@all ~a* &*").IsOk();
        using PairedConnection client = new(servers.Pair);
        client.Run("AUTH u x").IsOk();
        foreach (string line in (string[])["MULTI", "GET x", "SET a1 1", "EXEC", "MULTI", "SET a1 1", "GET a1", "MGET a1 a2", "PING"]) client.Run(line);
        admin.Run("ACL SETUSER u -get resetkeys ~a1").IsOk();
        client.Run("EXEC");
        client.Run("GET a1");
        admin.Run("ACL SETUSER u +get").IsOk();
        client.Run("GET a1").IsBulk("1");
        Assert.Equal(AclLogText.Of(servers.Pair.Oracle.Control), AclLogText.Of(servers.Pair.Subject.Control));
    }

    [Fact]
    public void Scripts_have_their_users_permissions()
    {
        Assert.SkipWhen(AbsentCommands.Contains("eval"), "there are no scripts yet");
        using PairedConnection admin = servers.Connect();
        admin.Run("ACL SETUSER u on nopass +@all -set ~a* &c").IsOk();
        using PairedConnection client = new(servers.Pair);
        client.Run("AUTH u x").IsOk();
        client.Run("EVAL \"return redis.call('set','a1',1)\" 0");
        client.Run("EVAL \"return redis.call('get','x')\" 0");
        client.Run("EVAL \"return redis.pcall('get','x')\" 0");
        client.Run("EVAL \"return redis.call('get','a')\" 0");
        client.Run("EVAL \"return 1\" 1 x");
        client.Run("EVAL \"return redis.call('publish','x','y')\" 0");
        Assert.Equal(AclLogText.Of(servers.Pair.Oracle.Control), AclLogText.Of(servers.Pair.Subject.Control));
    }

    [Fact]
    public void Functions_and_scripts_in_transactions_have_their_users_permissions()
    {
        using PairedConnection admin = servers.Connect();
        admin.Run("FUNCTION FLUSH").IsOk();
        admin.Run("FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function(keys, args) return redis.pcall(unpack(args)) end)\"").IsBulk("l");
        admin.Run("ACL SETUSER u on nopass +@all -set -config|set ~a* %R~r &c").IsOk();
        using PairedConnection client = new(servers.Pair);
        client.Run("AUTH u x").IsOk();
        string[] calls =
        [
            "set a1 1", "get x", "get a1", "mset a1 1 x 2", "publish x y", "publish c y", "spublish x y", "spublish c y", "sort a1 by x*", "sort a1 get x*", "sort a1 store x", "sort_ro a1", "copy r a1", "copy a1 r", "rename r a1", "getdel r",
            "zunionstore a1 2 r x", "bitfield r set u8 0 1", "bitfield r get u8 0", "object encoding x", "exists x", "incr x", "lmove a1 x left left", "xread streams a1 x 0 0", "georadius a1 1 1 1 m store x",
        ];
        foreach (string call in calls)
        {
            string arguments = string.Join(' ', call.Split(' '));
            string quoted = string.Join(',', call.Split(' ').Select(word => $"'{word}'"));
            client.Run("FCALL f 0 " + arguments);
            client.Run($"EVAL \"return redis.pcall({quoted})\" 0");
            client.Run($"EVAL \"return redis.call({quoted})\" 0");
        }

        Assert.Equal(AclLogText.Of(servers.Pair.Oracle.Control), AclLogText.Of(servers.Pair.Subject.Control));
        admin.Run("ACL LOG RESET").IsOk();
        foreach (string line in (string[])["MULTI", "FCALL f 0 get x", "EVAL \"return redis.pcall('get','x')\" 0", "GET a1", "EXEC", "MULTI", "FCALL f 1 x get a1", "EXEC", "MULTI", "PUBLISH c y", "SPUBLISH x y", "EXEC", "MULTI", "CONFIG SET maxmemory-samples 5", "EXEC"]) client.Run(line);
        client.Run("MULTI").IsOk();
        client.Run("FCALL f 0 get a1").IsSimple("QUEUED");
        client.Run("SPUBLISH c y").IsSimple("QUEUED");
        client.Run("GET r").IsSimple("QUEUED");
        admin.Run("ACL SETUSER u -fcall resetchannels resetkeys ~a*").IsOk();
        client.Run("EXEC");
        Assert.Equal(AclLogText.Of(servers.Pair.Oracle.Control), AclLogText.Of(servers.Pair.Subject.Control));
        admin.Run("FUNCTION FLUSH").IsOk();
    }

    [Fact]
    public void Channels_are_denied_and_subscribers_disconnected()
    {
        Assert.SkipWhen(AbsentCommands.Contains("subscribe"), "there is no publish/subscribe yet");
        using PairedConnection admin = servers.Connect();
        admin.Run("ACL SETUSER u on nopass +@all ~* &c &p*").IsOk();
        using PairedConnection client = new(servers.Pair);
        client.Run("AUTH u x").IsOk();
        foreach (string line in (string[])["PUBLISH x y", "PUBLISH c y", "SPUBLISH x y", "SPUBLISH p1 y", "SUBSCRIBE d", "SUBSCRIBE c d", "PSUBSCRIBE p1*", "PSUBSCRIBE c", "SSUBSCRIBE x"]) client.Run(line);
        client.Run("PSUBSCRIBE p*");
        admin.Run("ACL SETUSER u +get").IsOk();
        client.Run("PING");
        admin.Run("ACL SETUSER u resetchannels &c").IsOk();
        servers.Pair.WaitUntil(control => ServerPair.Info(control, "clients", "pubsub_clients") == 0, "no subscriber");
        client.Run("PING").IsClosed();
        Assert.Equal(AclLogText.Of(servers.Pair.Oracle.Control), AclLogText.Of(servers.Pair.Subject.Control));
    }

    [Fact]
    public void Default_user_can_be_restricted_and_switched_off()
    {
        using PairedConnection admin = servers.Connect();
        admin.Run("ACL SETUSER boss on nopass ~* &* +@all").IsOk();
        admin.Run("AUTH boss x").IsOk();
        using PairedConnection old = new(servers.Pair);
        old.Run("PING");
        foreach (string rules in (string[])["off", "on resetpass", ">pw", "nopass", "-ping", "+@all -@read", "reset", "on nopass ~* &* +@all"])
        {
            admin.Run("ACL SETUSER default " + rules).IsOk();
            using PairedConnection client = new(servers.Pair);
            foreach (string line in (string[])["PING", "GET a", "HELLO 3", "AUTH pw", "AUTH default pw", "PING"])
            {
                client.Run(line);
                old.Run(line == "PING" ? line : "GET a");
            }

            admin.Run("CONFIG GET requirepass");
        }

        foreach (string password in (string[])["one", "two", "\"\""])
        {
            admin.Run("CONFIG SET requirepass " + password);
            admin.Run("ACL LIST");
        }
    }

    [Fact]
    public void Client_list_and_kill_know_users()
    {
        using PairedConnection admin = servers.Connect();
        admin.Run("ACL SETUSER u on nopass +@all").IsOk();
        using PairedConnection client = new(servers.Pair);
        client.Run("AUTH u x").IsOk();
        client.Run("CLIENT KILL USER u").IsInteger(0);
        admin.Run("CLIENT KILL USER u").IsInteger(1);
        admin.Run("CLIENT KILL USER u").IsInteger(0);
    }

    public sealed class Servers : IDisposable
    {
        private ServerPair? _pair;

        internal ServerPair Pair => _pair ??= ServerPair.Start();

        /// <summary>A client of the default user; all other users are gone.</summary>
        internal PairedConnection Connect()
        {
            foreach (ServerPair.Side side in (ServerPair.Side[])[Pair.Oracle, Pair.Subject])
            {
                foreach (RespValue user in side.Control.Run("ACL USERS").Items)
                {
                    if (user.Text != "default") side.Control.Run("ACL DELUSER " + user.Text);
                }

                side.Control.Run("ACL LOG RESET").IsOk();
                side.Control.Run("FLUSHALL").IsOk();
            }

            return new PairedConnection(Pair);
        }

        public void Dispose() => _pair?.Dispose();
    }
}
