using RedKite.Server.Config;

namespace RedKite.Server.Tests.Config;

/// <summary>Every setting's default, and its replies to good and bad values, against a running redis-server.</summary>
public class ConfigurationOracleTests
{
    private static readonly HashSet<string> RedKiteOnly =
        [.. SettingTable.Rows.Where(row => row.Remark?.StartsWith("RedKite's own", StringComparison.Ordinal) == true || row.Remark?.StartsWith("as in ", StringComparison.Ordinal) == true).Select(row => row.Name)];

    private static readonly Dictionary<string, string> DifferentDefaults = new()
    {
        ["port"] = "the oracle's is the free port that it was given",
        ["bind"] = "the oracle is bound to loopback",
        ["dir"] = "the oracle's own folder",
        ["logfile"] = "the oracle's own log",
        ["save"] = "an embedded server saves nothing unless it is told to",
    };

    // Settings that must not be changed on a running oracle.
    private static readonly Dictionary<string, string> Untested = new()
    {
        ["port"] = "it would leave its port",
        ["bind"] = "it would leave its address",
        ["tls-port"] = "it has no certificate, and its error is about that",
        ["maxclients"] = "large numbers fail for lack of file descriptors, which is a change handler's matter",
        ["requirepass"] = "the connection would go on, but later runs would need the password",
        ["watchdog-period"] = "it would crash on purpose when it is slow",
        ["key-load-delay"] = "it would only wait",
        ["rdb-key-save-delay"] = "it would only wait",
        ["tls-replication"] = "it has no certificate",
        ["tls-cluster"] = "it has no certificate",
        ["cluster-announce-ip"] = "what cannot stand in a topology is refused here (docs/reference/differences.md), which tests of their own cover",
        ["cluster-announce-human-nodename"] = "the same",
    };

    private static readonly (string Name, string Value)[] NotCompared =
    [
        ("activedefrag", "yes"), ("activedefrag", "yes\0x"), // needs another allocator in Redis
        ("notify-keyspace-events", "no"), // a class of newer versions
    ];

    // What newer versions accept, as the errors list it.
    private static readonly string[] NewerWords = [", volatile-lrm, allkeys-lrm", "ocSTIV"];

    private static readonly string[] Values =
    [
        "", "abc", "yes", "NO", "no", "0", "1", "-1", "-2", "7", "50", "99", "100", "101", "1000", "1001", "65535", "65536",
        "1048575", "1048576", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967296", "9223372036854775807",
        "9223372036854775808", "18446744073709551615", "99999999999999999999999", "01", "+1", " 1", "1 ", "-0", "1.5", "0x10",
        "1b", "1k", "1kb", "1K", "1KB", "3m", "3mb", "2g", "2gb", "2tb", "20000000000gb", "50%", "0%", "101%", "-5%", "5.5%", "%",
        "99999999999999999999%", "k", "1 k", "a b", "a  b", "\x01\xff", "\"q\"",
        "900 1", "900 1 300", "900 1 300 10", "0 1", "60 0", "60 -1", "010 1", "60  5",
        "normal 1 2 3", "Replica 1mb 2mb 3", "slave 5 5 5", "foo 1 1 1", "normal a 1 1", "normal 1 1 x", "normal 1 1 -1",
        "pubsub 1 1 1 normal 2 2 2", "normal 0 0 99999999999999999999", "normal 99999999999999999999 0 0", "normal 0 0 2147483648",
        "3 2 1", "-2000 0 2000", "-2001 0 1", "0 0 2001", "1 2", "1 2 3 4",
        "50.0 99.99", "1e1", "nan", "inf", "33.333333333333336 1.000001", "0.0000001", "100.1",
        "KEA", "AKE", "Kx", "g$lshzxetd", "KEg$lshzxet", "mnA", "nK", "KEAq", "mEK",
        "save", "NoSave", "force save", "save nosave", "now", "default save", "default", "bad save", "save  now",
        "relative", "absolute", "allkeys-lru", "NoEviction", "everysec", "ALWAYS", "debug", "Warning", "clients", "swapdb",
        "panic", "allchannels", "resetchannels", "ip", "hostname", "unknown-endpoint", "optional",
        "{title} x}", "{foo}", "{title", "{}", "{port} {tls-port} {unixsocket} {config-file}", "{{title}}", " ",
        "nothing", "64", "65", "16383", "16384", "C", "POSIX", "C.UTF-8", "posix", "xx", "a:b", "{x}", "a\0b", "a,b=c/d\\e",
        "host.example-1", "host_name", "a/b",
        "yes\0x", "1mb\0x", "5\0x", "\0x", "K\0x", "noeviction\0x",
    ];

    [Fact]
    public void Names_and_defaults_match_redis()
    {
        using Oracle oracle = new();
        Configuration configuration = new(new Settings());
        Dictionary<string, string> expected = Pairs(oracle.RunList("CONFIG", "GET", "*"));
        Dictionary<string, string> actual = new(configuration.Get(["*"]));

        Assert.Equal(expected.Keys.Order(), actual.Keys.Except(RedKiteOnly).Order());
        Assert.Empty(RedKiteOnly.Except(actual.Keys).Except(SettingTable.Rows.Where(row => row.Has(SettingFlags.Hidden)).Select(row => row.Name)));
        foreach (string name in expected.Keys.Except(DifferentDefaults.Keys))
        {
            Assert.Equal((name, expected[name]), (name, actual[name]));
        }

        foreach (Setting hidden in SettingTable.Rows.Where(row => row.Has(SettingFlags.Hidden) && !RedKiteOnly.Contains(row.Name)))
        {
            Assert.Equal([hidden.Name, configuration.Get(hidden.Name)], oracle.RunList("CONFIG", "GET", hidden.Name));
        }
    }

    [Fact]
    public void Every_setting_handles_every_value_as_redis_does()
    {
        using Oracle oracle = new();
        Configuration configuration = new(new Settings());
        List<string> differences = [];
        int accepted = 0;
        foreach (Setting row in SettingTable.Rows)
        {
            if (RedKiteOnly.Contains(row.Name) || Untested.ContainsKey(row.Name)) continue;
            foreach (string name in row.Alias is null ? [row.Name] : new[] { row.Name, row.Alias })
            {
                string before = configuration.Get(name);
                foreach (string value in Values)
                {
                    if (NotCompared.Contains((name, value))) continue;
                    string expected = oracle.RunText("CONFIG", "SET", name, value);
                    string actual = configuration.Set([new(name, value)]) is { } error ? "-ERR " + WithoutNewer(error) : "OK";
                    string expectedText = oracle.RunList("CONFIG", "GET", name)[1];
                    string actualText = configuration.Get(name);
                    if (expected == "OK") accepted++;
                    if (name is "dir" or "logfile") expectedText = actualText;
                    if (expected != actual || expectedText != actualText)
                        differences.Add($"{name} '{value}': {expected} [{expectedText}], here {actual} [{actualText}]");
                }

                oracle.Run("CONFIG", "SET", name, before);
                configuration.Set([new(name, before)]);
            }
        }

        Assert.True(differences.Count == 0, string.Join('\n', differences));
        Assert.True(accepted > 1000, $"only {accepted} values were accepted");
    }

    [Theory]
    [InlineData("timeout", "1", "timeout", "2")]
    [InlineData("timeout", "1", "TIMEOUT", "2")]
    [InlineData("timeout", "7", "maxmemory", "abc")]
    [InlineData("foo", "1", "databases", "2")]
    [InlineData("databases", "2", "foo", "1")]
    [InlineData("timeout", "abc", "maxmemory", "abc")]
    [InlineData("hash-max-ziplist-entries", "1", "hash-max-listpack-entries", "2")]
    [InlineData("Timeout", "3", "HZ", "20")]
    [InlineData("dbfilename", "x", "timeout", "5")]
    [InlineData("timeout", "5", "dir", "/")]
    public void Several_settings_change_atomically_as_in_redis(string name1, string value1, string name2, string value2)
    {
        using Oracle oracle = new();
        Configuration configuration = new(new Settings());

        string expected = oracle.RunText("CONFIG", "SET", name1, value1, name2, value2);
        string actual = configuration.Set([new(name1, value1), new(name2, value2)]) is { } error ? "-ERR " + error : "OK";

        Assert.Equal(expected, actual);
        foreach (string name in new[] { "timeout", "maxmemory", "hz", "hash-max-listpack-entries", "hash-max-ziplist-entries" })
        {
            Assert.Equal(oracle.RunList("CONFIG", "GET", name)[1], configuration.Get(name));
        }
    }

    [Theory]
    [InlineData("HZ", "hz", "h?")]
    [InlineData("timeout", "TIMEOUT")]
    [InlineData("TIMEOU[T]", "timeout")]
    [InlineData(@"t\imeout")]
    [InlineData("nothing", "*nothing*")]
    [InlineData("*ziplist*", "*listpack*")]
    [InlineData("slaveof", "replicaof")]
    [InlineData("key-load-delay", "key-load*")]
    [InlineData("")]
    public void Patterns_match_the_same_names_as_in_redis(params string[] patterns)
    {
        using Oracle oracle = new();
        Configuration configuration = new(new Settings());

        Dictionary<string, string> expected = Pairs(oracle.RunList(["CONFIG", "GET", .. patterns]));
        Dictionary<string, string> actual = new(configuration.Get(patterns));

        Assert.Equal(expected.OrderBy(pair => pair.Key), actual.Where(pair => !RedKiteOnly.Contains(pair.Key)).OrderBy(pair => pair.Key));
    }

    private static string WithoutNewer(string error) => NewerWords.Aggregate(error, (text, newer) => text.Replace(newer, "", StringComparison.Ordinal));

    private static Dictionary<string, string> Pairs(List<string> flat) =>
        new(flat.Chunk(2).Select(pair => KeyValuePair.Create(pair[0], pair[1])));
}
