using RedKite.Dashboard.Tests;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Sketches.Tests;

/// <summary>The project's types and commands are in a server.</summary>
public sealed class ServerTests
{
    [Fact]
    public async Task Commands_have_their_categories_and_the_module_is_listed()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        foreach ((string category, string command, int count) in ((string, string, int)[])[("bloom", "bf.add", 11), ("cuckoo", "cf.compact", 14), ("cms", "cms.merge", 6), ("topk", "topk.list", 7), ("tdigest", "tdigest.trimmed_mean", 14)])
        {
            string[] names = [.. server.Client.Run($"ACL CAT {category}").Items.Select(item => item.Text)];
            Assert.Contains(command, names);
            Assert.Equal(count, names.Length);
        }

        Assert.Contains("name bf", server.Client.Run("MODULE LIST").Items.Select(module => $"{module.Items[0].Text} {module.Items[1].Text}"));
        server.Run("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read");
        server.Run("AUTH", "reader", "pw");
        Assert.Equal("0", server.Run("BF.EXISTS", "f", "x"));
        Assert.Contains("no permissions to run the 'bf.add' command", server.Run("BF.ADD", "f", "x"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("BF.RESERVE", "bf.reserve")]
    [InlineData("CF.ADD k", "cf.add")]
    [InlineData("CMS.INCRBY k a 1 b", "cms.incrby")]
    [InlineData("TOPK.RESERVE k 1 2", "topk.reserve")]
    [InlineData("TDIGEST.CREATE k COMPRESSION", "tdigest.create")]
    public async Task Wrong_numbers_of_arguments_are_refused(string request, string name)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal($"ERR wrong number of arguments for '{name}' command", server.Client.Run(request).Text);
    }

    [Fact]
    public async Task Other_types_are_refused()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("SET", "k", "x");
        foreach (string request in (string[])["BF.ADD k a", "BF.EXISTS k a", "BF.RESERVE k 0.01 5", "CF.ADD k a", "CF.DEL k a", "CMS.QUERY k a", "TOPK.ADD k a", "TDIGEST.ADD k 1", "TDIGEST.MERGE k 1 k", "BF.SCANDUMP k 0"])
        {
            Assert.Equal("WRONGTYPE Operation against a key holding the wrong kind of value", server.Client.Run(request).Text);
        }

        server.Run("BF.ADD", "f", "x");
        Assert.StartsWith("WRONGTYPE", server.Run("CF.ADD", "f", "x"), StringComparison.Ordinal);
        Assert.StartsWith("WRONGTYPE", server.Run("GET", "f"), StringComparison.Ordinal);
        Assert.Equal("MBbloom--", server.Run("TYPE", "f"));
    }

    [Fact]
    public async Task Settings_are_those_of_Redis()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        foreach ((string name, string text, string other, string bad) in ((string, string, string, string)[])
        [
            ("bf-error-rate", "0.01", "0.02", "1"), ("bf-initial-size", "100", "200", "0"), ("bf-expansion-factor", "2", "3", "32769"), ("cf-bucket-size", "2", "3", "256"),
            ("cf-initial-size", "1024", "2048", "4294967296"), ("cf-max-iterations", "20", "30", "65536"), ("cf-expansion-factor", "1", "2", "-1"), ("cf-max-expansions", "32", "64", "65537"),
        ])
        {
            Assert.Equal($"{name} {text}", server.Run("CONFIG", "GET", name));
            Assert.Contains("must be in the range", server.Run("CONFIG", "SET", name, bad), StringComparison.Ordinal);
            Assert.Equal("OK", server.Run("CONFIG", "SET", name, other));
            Assert.Equal($"{name} {other}", server.Run("CONFIG", "GET", name));
        }

        server.Run("BF.ADD", "f", "x");
        Assert.Equal("size:1 bytes:360 bits:2880 hashes:7 hashwidth:64 capacity:200 size:1 ratio:0.01".Replace("360", "240", StringComparison.Ordinal).Replace("2880", "1920", StringComparison.Ordinal), server.Run("BF.DEBUG", "f"));
        server.Run("CF.ADD", "c", "x");
        Assert.Equal("bktsize:3 buckets:1024 items:1 deletes:0 filters:1 max_iterations:30 expansion:2", server.Run("CF.DEBUG", "c"));
    }

    [Fact]
    public async Task Replies_have_the_types_of_RESP3()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        client.Run("HELLO 3");
        foreach ((string request, string reply) in ((string, string)[])
        [
            ("BF.ADD f a", "#t\r\n"), ("BF.INSERT f ITEMS a b", "*2\r\n#f\r\n#t\r\n"), ("BF.MEXISTS f a x", "*2\r\n#t\r\n#f\r\n"), ("BF.CARD f", ":2\r\n"), ("BF.INFO f CAPACITY", "%1\r\n+Capacity\r\n:100\r\n"),
            ("CF.ADD c a", "#t\r\n"), ("CF.INSERT c ITEMS a b", "*2\r\n#t\r\n#t\r\n"), ("CF.INSERTNX c ITEMS a d", "*2\r\n:0\r\n:1\r\n"), ("CF.COUNT c a", ":2\r\n"), ("CF.DEL c a", "#t\r\n"),
            ("CMS.INITBYDIM m 10 2", "+OK\r\n"), ("CMS.INFO m", "%3\r\n+width\r\n:10\r\n+depth\r\n:2\r\n+count\r\n:0\r\n"),
            ("TOPK.RESERVE t 1", "+OK\r\n"), ("TOPK.ADD t a b", "*2\r\n_\r\n$1\r\na\r\n"), ("TOPK.QUERY t a b", "*2\r\n#f\r\n#t\r\n"), ("TOPK.INFO t", "%4\r\n+k\r\n:1\r\n+width\r\n:8\r\n+depth\r\n:7\r\n+decay\r\n,0.9\r\n"),
            ("TDIGEST.CREATE d", "+OK\r\n"), ("TDIGEST.MIN d", ",nan\r\n"), ("TDIGEST.ADD d 1 2 3", "+OK\r\n"), ("TDIGEST.QUANTILE d 0.5 1", "*2\r\n,2\r\n,3\r\n"), ("TDIGEST.RANK d 2", "*1\r\n:1\r\n"),
        ])
        {
            Assert.Equal((request, reply), (request, Raw(client, request)));
        }
    }

    [Fact]
    public async Task Merges_in_a_cluster_have_their_keys_in_one_slot()
    {
        await using TypeServer server = await TypeServer.StartAsync("cluster-enabled", "yes", "stripes", "64");
        Assert.Equal("OK", server.Run("CLUSTER", "ADDSLOTSRANGE", "0", "16383"));
        foreach (string key in (string[])["a{x}", "b{x}", "c{x}", "a", "b"])
        {
            Assert.Equal("OK", server.Run("CMS.INITBYDIM", "cms" + key, "10", "2"));
            Assert.Equal("OK", server.Run("TDIGEST.CREATE", "digest" + key));
        }

        server.Run("CMS.INCRBY", "cmsa{x}", "e", "3");
        server.Run("TDIGEST.ADD", "digesta{x}", "3");
        Assert.Equal("OK", server.Run("CMS.MERGE", "cmsc{x}", "2", "cmsa{x}", "cmsb{x}"));
        Assert.Equal("OK", server.Run("TDIGEST.MERGE", "digestc{x}", "2", "digesta{x}", "digestb{x}"));
        Assert.Equal("3 3", server.Run("CMS.QUERY", "cmsc{x}", "e") + " " + server.Run("TDIGEST.MAX", "digestc{x}"));
        foreach (string request in (string[])["CMS.MERGE cmsc{x} 2 cmsa{x} cmsb", "CMS.MERGE cmsa 1 cmsb", "CMS.MERGE cmsa{x} 2 cmsb{x} cmsa WEIGHTS 1 1", "TDIGEST.MERGE digestc{x} 2 digesta{x} digestb", "TDIGEST.MERGE digesta 1 digestb COMPRESSION 50"])
        {
            Assert.StartsWith("CROSSSLOT ", server.Client.Run(request).Text, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Page_shows_what_INFO_has()
    {
        await using PageServer page = await PageServer.StartAsync();
        page.Server.Execute("BF.MADD", "seen", "a", "b");
        page.Server.Execute("TOPK.RESERVE", "top", "3");
        Assert.Contains("""{"key":"seen","database":0,"type":"MBbloom--","ttl_ms":-1,"size":2}""", await page.Http.GetStringAsync("/api/keys?pattern=seen", TestContext.Current.CancellationToken), StringComparison.Ordinal);
        Assert.Contains("\"elements\":[\"Capacity\",\"100\",\"Size\",", await page.Http.GetStringAsync("/api/keys/value?key=seen", TestContext.Current.CancellationToken), StringComparison.Ordinal);
        Assert.Contains("\"size\":3,\"elements\":[\"k\",\"3\",\"width\",\"8\"", await page.Http.GetStringAsync("/api/keys/value?key=top", TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }

    private static string Raw(RespConnection client, string request) => Written(client.Run(request));

    private static string Written(RespValue value)
    {
        string head = value.Marker + (value.IsAggregate ? (value.Marker == '%' ? value.Items.Count / 2 : value.Items.Count).ToString(System.Globalization.CultureInfo.InvariantCulture) : "");
        if (value.IsAggregate) return head + "\r\n" + string.Concat(value.Items.Select(Written));
        if (value.IsNull) return "_\r\n";
        return value.Marker == '$' ? $"${value.Text.Length}\r\n{value.Text}\r\n" : $"{value.Marker}{value.Text}\r\n";
    }
}
