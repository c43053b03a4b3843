using System.Globalization;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Sketches.Tests;

/// <summary>Replies as Redis's documentation, its clients' tests and its list of errors have them.</summary>
public sealed class CommandTests
{
    // Requests and replies, in order, on one server; an element that is an error begins with ERR, CMS: or TopK:.
    public static TheoryData<string> Dialogues => new(
        """
        BF.RESERVE f 0 10|ERR error rate must be in the range (0.000000, 1.000000)
        BF.RESERVE f x 10|ERR bad error rate
        BF.RESERVE f 0.01 x|ERR bad capacity
        BF.RESERVE f 0.01 0|ERR capacity must be in the range [1, 1073741824]
        BF.RESERVE f 0.01 10 EXPANSION|ERR no expansion
        BF.RESERVE f 0.01 10 EXPANSION x|ERR bad expansion
        BF.RESERVE f 0.01 10 EXPANSION 32769|ERR expansion must be in the range [0, 32768]
        BF.RESERVE f 0.01 10 NONSCALING EXPANSION 2|Nonscaling filters cannot expand
        BF.RESERVE f 0.01 3 NONSCALING|OK
        BF.RESERVE f 0.01 3|ERR item exists
        BF.INSERT f ITEMS a b c d e|1 1 1 ERR non scaling filter is full
        BF.ADD f d|ERR non scaling filter is full
        BF.MADD f a d|0 ERR non scaling filter is full
        BF.INFO f EXPANSION|
        BF.INFO f CAPACITY|3
        BF.INFO f ITEMS|3
        BF.INFO f nothing|Invalid information value
        BF.INFO missing|ERR not found
        BF.CARD missing|0
        BF.MEXISTS missing a b|0 0
        BF.INSERT missing NOCREATE ITEMS a|ERR not found
        BF.INSERT new CAPACITY 0 ITEMS a|Bad capacity
        BF.INSERT new ERROR 2 ITEMS a|Bad error rate
        BF.INSERT new other ITEMS a|Unknown argument received
        BF.INSERT new ITEMS|ERR wrong number of arguments for 'bf.insert' command
        BF.INSERT new ERROR 0.001 CAPACITY 50000 EXPANSION 2 ITEMS foo|1
        BF.DEBUG new|size:1 bytes:98880 bits:791040 hashes:11 hashwidth:64 capacity:50000 size:1 ratio:0.0005
        BF.RESERVE small 0.01 10|OK
        EVAL "for i = 1, 100 do redis.call('BF.ADD', KEYS[1], i) end" 1 small|(nil)
        BF.INFO small FILTERS|4
        BF.SCANDUMP missing 0|ERR not found
        BF.SCANDUMP f x|Second argument must be numeric
        BF.LOADCHUNK f x data|ERR Second argument must be numeric
        BF.LOADCHUNK loaded 1 nonsense|ERR received bad data
        BF.LOADCHUNK f 922337203685477588 1|ERR invalid offset - no link found
        EXISTS loaded|0
        """,
        """
        CF.RESERVE f x|Bad capacity
        CF.RESERVE f 1|Capacity must be in the range [2 * BUCKETSIZE, 1073741824]
        CF.RESERVE f 10 BUCKETSIZE x|Couldn't parse BUCKETSIZE
        CF.RESERVE f 10 BUCKETSIZE 0|BUCKETSIZE: value must be in the range [1, 255]
        CF.RESERVE f 10 MAXITERATIONS 0|MAXITERATIONS: value must be in the range [1, 65535]
        CF.RESERVE f 10 EXPANSION -1|EXPANSION: value must be in the range [0, 32768]
        CF.RESERVE f 10 MAXITERATIONS 10|OK
        CF.RESERVE f 10|ERR item exists
        CF.DEBUG f|bktsize:2 buckets:8 items:0 deletes:0 filters:1 max_iterations:10 expansion:1
        CF.ADD f k1|1
        CF.ADD f k1|1
        CF.COUNT f k1|2
        CF.ADDNX f k1|0
        CF.DEL f k1|1
        CF.COUNT f k1|1
        CF.DEL f k1|1
        CF.DEL f k1|0
        CF.COMPACT f|OK
        CF.COMPACT missing|Cuckoo filter was not found
        CF.DEL missing k1|Not found
        CF.INFO missing|ERR not found
        CF.EXISTS missing k|0
        CF.MEXISTS missing k|0
        CF.COUNT missing k|0
        CF.INSERT new NOCREATE ITEMS a|ERR not found
        CF.INSERT new CAPACITY 3 ITEMS a|Capacity must be in the range [cf-bucket-size * 2, 1073741824]
        CF.INSERT new other ITEMS a|Unknown argument received
        CF.INSERT new CAPACITY 10000 ITEMS foo|1
        CF.DEBUG new|bktsize:2 buckets:8192 items:1 deletes:0 filters:1 max_iterations:20 expansion:1
        CF.INSERTNX new ITEMS foo bar baz|0 1 1
        CF.RESERVE fixed 4 EXPANSION 0|OK
        CF.INSERT fixed ITEMS 1 2 3 4 5 6|1 1 1 1 -1 -1
        CF.ADD fixed 7|Filter is full
        CONFIG SET cf-max-expansions 2|OK
        CF.RESERVE growing 4|OK
        CF.INSERT growing ITEMS a a a a a a|1 1 1 1 1 1
        CF.LOADCHUNK loaded 1 nonsense|Invalid header
        CF.LOADCHUNK f 0 x|Invalid position
        CF.SCANDUMP f x|Invalid position
        """,
        """
        CMS.INITBYDIM m 0 5|CMS: invalid width
        CMS.INITBYDIM m 5 x|CMS: invalid depth
        CMS.INITBYPROB m 1 0.1|CMS: invalid overestimation value
        CMS.INITBYPROB m 0.1 1|CMS: invalid prob value
        CMS.INITBYDIM m 8589934592 8589934592|CMS: Insufficient memory to create the key
        CMS.INITBYPROB m 0.001 0.01|OK
        CMS.INFO m|width 2000 depth 7 count 0
        CMS.INITBYDIM m 5 5|CMS: key already exists
        CMS.INCRBY m a x|CMS: Cannot parse number
        CMS.INCRBY m a -1|CMS: Number cannot be negative
        CMS.INCRBY m bar 5 baz 42|5 42
        CMS.QUERY m foo bar baz|0 5 42
        CMS.INCRBY m bar 4294967295 baz 1|CMS: INCRBY overflow 43
        CMS.QUERY m bar|5
        CMS.QUERY missing a|CMS: key does not exist
        CMS.INITBYDIM a 1000 5|OK
        CMS.INITBYDIM b 1000 5|OK
        CMS.INITBYDIM c 1000 5|OK
        CMS.INCRBY a foo 5 bar 3 baz 9|5 3 9
        CMS.INCRBY b foo 2 bar 3 baz 1|2 3 1
        CMS.MERGE c 2 a b|OK
        CMS.QUERY c foo bar baz|7 6 10
        CMS.MERGE c 2 a b WEIGHTS 2 3|OK
        CMS.QUERY c foo bar baz|16 15 21
        CMS.INFO c|width 1000 depth 5 count 52
        CMS.MERGE c 2 c a WEIGHTS 1 -2|OK
        CMS.QUERY c foo bar baz|6 9 3
        CMS.MERGE c 2 c a WEIGHTS 1 -2|CMS: MERGE overflow
        CMS.QUERY c foo bar baz|6 9 3
        CMS.MERGE c 2 a m|CMS: width/depth is not equal
        CMS.MERGE c 3 a b|CMS: wrong number of keys
        CMS.MERGE c 2 a b WEIGHTS 1|CMS: wrong number of keys/weights
        CMS.MERGE c 1 a WEIGHTS x|CMS: invalid weight value
        CMS.MERGE missing 1 a|CMS: key does not exist
        CMS.MERGE c 0 a|CMS: Number of keys must be positive
        """,
        """
        TOPK.RESERVE t x|TopK: invalid k
        TOPK.RESERVE t 5 0 5 0.9|TopK: invalid width
        TOPK.RESERVE t 5 5 0 0.9|TopK: invalid depth
        TOPK.RESERVE t 5 5 5 42|TopK: invalid decay value. must be '<= 1' & '> 0'
        TOPK.RESERVE t 3 50 4 0.9|OK
        TOPK.RESERVE t 3|TopK: key already exists
        TOPK.ADD t A B C D E A A B C G D B D A E E 1|(nil) (nil) (nil) A C D (nil) (nil) E (nil) B C (nil) (nil) (nil) D (nil)
        TOPK.QUERY t A B C D E F G|1 1 0 0 1 0 0
        TOPK.COUNT t A B C D E F G|4 3 2 3 3 0 1
        TOPK.LIST t|A B E
        TOPK.LIST t WITHCOUNT|A 4 B 3 E 3
        TOPK.LIST t other|WITHCOUNT keyword expected
        TOPK.INFO t|k 3 width 50 depth 4 decay 0.9
        TOPK.LIST missing|TopK: key does not exist
        TOPK.RESERVE u 3 10 3 1|OK
        TOPK.INCRBY u bar 3 baz 6 42 2|(nil) (nil) (nil)
        TOPK.INCRBY u 42 8 xyzzy 4|(nil) bar
        TOPK.COUNT u bar baz 42 xyzzy 4|3 6 10 4 0
        TOPK.INCRBY u foo 123456 42 1|TopK: increment must be an integer greater or equal to 0                             and smaller or equal to 100,000 (nil)
        """,
        """
        TDIGEST.CREATE d COMPRESSION x|ERR T-Digest: error parsing compression parameter
        TDIGEST.CREATE d COMPRESSION 0|ERR T-Digest: compression parameter needs to be a positive integer
        TDIGEST.CREATE d COMPRESSION 100000001|ERR T-Digest: allocation failed
        TDIGEST.CREATE d other 100|ERR T-Digest: wrong keyword
        TDIGEST.CREATE d|OK
        TDIGEST.CREATE d|ERR T-Digest: key already exists
        TDIGEST.QUANTILE d 0.5|nan
        TDIGEST.CDF d 1|nan
        TDIGEST.MIN d|nan
        TDIGEST.RANK d 1 2|-2 -2
        TDIGEST.BYRANK d 0|nan
        TDIGEST.TRIMMED_MEAN d 0 1|nan
        TDIGEST.ADD d x|ERR T-Digest: error parsing val parameter
        TDIGEST.ADD d inf|ERR T-Digest: val parameter needs to be a finite number
        TDIGEST.ADD missing 1|ERR T-Digest: key does not exist
        TDIGEST.ADD d 10 20 30 40 50 60|OK
        TDIGEST.RANK d 0 10 20 30 40 50 60 70|-1 0 1 2 3 4 5 6
        TDIGEST.REVRANK d 0 10 20 30 40 50 60 70|6 5 4 3 2 1 0 -1
        TDIGEST.RESET d|OK
        TDIGEST.ADD d 10 10 10 20 20|OK
        TDIGEST.RANK d 10 20|1 4
        TDIGEST.REVRANK d 10 20|3 1
        TDIGEST.RESET d|OK
        TDIGEST.ADD d 1 2 2 3 3 3 4 4 4 4 5 5 5 5 5|OK
        TDIGEST.BYRANK d 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15|1 2 2 3 3 3 4 4 4 4 5 5 5 5 5 inf
        TDIGEST.BYREVRANK d 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15|5 5 5 5 5 4 4 4 4 3 3 3 2 2 1 -inf
        TDIGEST.QUANTILE d 0 0.5 1|1 4 5
        TDIGEST.CDF d 0 2 6|0 0.13333333333333333 1
        TDIGEST.RESET d|OK
        TDIGEST.ADD d 1 2 3 4 5 6 7 8 9 10|OK
        TDIGEST.TRIMMED_MEAN d 0.1 0.6|4
        TDIGEST.TRIMMED_MEAN d 0 0.6|3.5
        TDIGEST.TRIMMED_MEAN d 0.3 0.9|6.5
        TDIGEST.TRIMMED_MEAN d 0.9 0.3|ERR T-Digest: low_cut_percentile should be lower than high_cut_percentile
        TDIGEST.TRIMMED_MEAN d 0 2|ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]
        TDIGEST.TRIMMED_MEAN d x 1|ERR T-Digest: error parsing low_cut_percentile
        TDIGEST.QUANTILE d 2|ERR T-Digest: quantile should be in [0,1]
        TDIGEST.QUANTILE d x|ERR T-Digest: error parsing quantile
        TDIGEST.CDF d x|ERR T-Digest: error parsing cdf
        TDIGEST.RANK d x|ERR T-Digest: error parsing value
        TDIGEST.BYRANK d x|ERR T-Digest: error parsing rank
        TDIGEST.BYRANK d -1|ERR T-Digest: rank needs to be non negative
        TDIGEST.CREATE e COMPRESSION 55|OK
        TDIGEST.ADD e 100 200|OK
        TDIGEST.MERGE new 2 d e|OK
        TDIGEST.MAX new|200
        TDIGEST.MERGE e 1 d|OK
        TDIGEST.RANK e 200|11
        TDIGEST.MERGE e 1 e|OK
        TDIGEST.RANK e 300|24
        TDIGEST.MERGE e 1 d OVERRIDE|OK
        TDIGEST.MAX e|10
        TDIGEST.MERGE e 1 d COMPRESSION 500|OK
        TDIGEST.MERGE e 0 d|ERR T-Digest: numkeys needs to be a positive integer
        TDIGEST.MERGE e x d|ERR T-Digest: error parsing numkeys
        TDIGEST.MERGE e 1 d other|ERR T-Digest: wrong keyword
        TDIGEST.MERGE e 1 missing|ERR T-Digest: key does not exist
        """);

    [Theory]
    [MemberData(nameof(Dialogues))]
    public async Task Replies_are_those_of_Redis(string dialogue)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        List<string> expected = [], actual = [];
        foreach (string line in dialogue.Split('\n', StringSplitOptions.RemoveEmptyEntries))
        {
            string request = line[..line.IndexOf('|', StringComparison.Ordinal)];
            expected.Add(line);
            string[] quoted = request.Split('"');
            string[] words = quoted.Length == 1 ? request.Split(' ') : [.. quoted[0].Trim().Split(' '), quoted[1], .. quoted[2].Trim().Split(' ')];
            actual.Add(request + "|" + Text(server.Client.Run([.. words.Select(System.Text.Encoding.ASCII.GetBytes)])));
        }

        Assert.Equal(expected, actual);
    }

    // A command looks for groups of its elements at the same time. Layers are added within a group, and elements come twice.
    [Theory]
    [InlineData("0.4", 1)] // few bits in each layer, and many wrong yeses
    [InlineData("0.01", 1)]
    [InlineData("0.01", 2)]
    public async Task Adding_many_elements_is_adding_one_after_the_other(string errorRate, int expansion)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        var random = new Random(5);
        foreach (string key in (string[])["one", "many"]) server.Run("BF.RESERVE", key, errorRate, "5", "EXPANSION", $"{expansion}");
        for (int round = 0; round < 30; round++)
        {
            string[] items = [.. Enumerable.Range(0, random.Next(1, 40)).Select(_ => $"{random.Next(600)}")];
            Assert.Equal(string.Join(' ', items.Select(item => server.Run("BF.ADD", "one", item))), server.Run(["BF.MADD", "many", .. items]));
        }

        Assert.InRange(server.Client.Run("BF.INFO many FILTERS").Items[0].Number, expansion == 1 ? 20 : 5, 100);
        Assert.Equal(server.DigestOf("one"), server.DigestOf("many"));
    }

    // 32 layers, of which nine elements in ten are deleted.
    [Fact]
    public async Task Compacting_moves_elements_to_earlier_layers_and_removes_the_last_ones()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true);
        long usedBefore = server.UsedBytes;
        string[] items = [.. Enumerable.Range(0, 4000).Select(i => i.ToString(CultureInfo.InvariantCulture))];
        server.Run("CF.RESERVE", "f", "128", "BUCKETSIZE", "3");
        Assert.Equal(4000, server.Run(["CF.INSERT", "f", "ITEMS", .. items]).AsSpan().Count('1'));
        (long memory, long layers) = (server.Client.Run("CF.INFO f").Items[1].Number, server.Client.Run("CF.INFO f").Items[5].Number);
        Assert.InRange(layers, 20, 50);
        string digest = server.DigestOf("f");
        Assert.Equal("OK", server.Run("CF.COMPACT", "f"));
        foreach (string item in items[400..]) Assert.Equal("1", server.Run("CF.DEL", "f", item));
        Assert.Equal(layers, server.Client.Run("CF.INFO f").Items[5].Number);
        server.Run("COPY", "f", "copy");
        Assert.Equal("OK", server.Run("CF.COMPACT", "f"));
        Assert.InRange(server.Client.Run("CF.INFO f").Items[5].Number, 3, 6);
        Assert.InRange(server.Client.Run("CF.INFO f").Items[1].Number, 1, memory / 2);
        Assert.Equal("400 3600", server.Run("CF.INFO", "f").Split("Number of items inserted ")[1].Replace("Number of items deleted ", "", StringComparison.Ordinal).Split(" Bucket")[0]);
        Assert.Equal(400, server.Run(["CF.MEXISTS", "f", .. items[..400]]).AsSpan().Count('1'));
        Assert.InRange(server.Run(["CF.MEXISTS", "f", .. items[400..]]).AsSpan().Count('1'), 0, server.Run(["CF.MEXISTS", "copy", .. items[400..]]).AsSpan().Count('1'));
        foreach (string item in items[..400]) Assert.Equal("1", server.Run("CF.DEL", "f", item));
        Assert.Equal("OK", server.Run("CF.COMPACT", "f"));
        Assert.Equal(1, server.Client.Run("CF.INFO f").Items[5].Number);
        digest = server.DigestOf("f");
        Assert.Equal("OK", server.Run("CF.COMPACT", "f"));
        Assert.Equal(digest, server.DigestOf("f"));
        server.Run("FLUSHALL");
        server.WaitForMemory(usedBefore);
        server.CheckGuards();
    }

    // One command looks at a limited number of places, and the next one goes on, until all elements are where they stay.
    [Fact]
    public async Task Compacting_is_bounded_and_goes_on()
    {
        const int Count = 6000;
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, boundsDivisor: 16, "cf-max-expansions", "1000");
        server.Run("CF.RESERVE", "f", "64", "MAXITERATIONS", "4");
        for (int i = 0; i < Count; i += 1000) server.Run(["CF.INSERT", "f", "ITEMS", .. Enumerable.Range(i, 1000).Select(n => n.ToString(CultureInfo.InvariantCulture))]);
        long layers = server.Client.Run("CF.INFO f").Items[5].Number;
        for (int i = 0; i < Count; i += 10) server.Run("CF.DEL", "f", i.ToString(CultureInfo.InvariantCulture));
        Assert.InRange(CompactionsOf(server, "f"), 4, 100);
        Assert.InRange(server.Client.Run("CF.INFO f").Items[5].Number, 1, layers * 95 / 100);
        string[] kept = [.. Enumerable.Range(0, Count).Where(i => i % 10 != 0).Select(i => i.ToString(CultureInfo.InvariantCulture))];
        Assert.Equal(kept.Length, server.Run(["CF.MEXISTS", "f", .. kept]).AsSpan().Count('1'));
    }

    // A pass that has moved nothing is not followed by another one until the filter changes. What changes during a pass is for the next one.
    [Theory]
    [InlineData("CF.DEL", "3")]
    [InlineData("CF.ADD", "new")]
    [InlineData("CF.INSERT", "ITEMS", "new")]
    public async Task Compacting_ends_until_an_element_is_added_or_deleted(string command, params string[] arguments)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: false, boundsDivisor: 64, "cf-max-expansions", "1000");
        server.Run("CF.RESERVE", "f", "64", "MAXITERATIONS", "4");
        server.Run(["CF.INSERT", "f", "ITEMS", .. Enumerable.Range(0, 4000).Select(n => n.ToString(CultureInfo.InvariantCulture))]);
        int passAfterMoves = CompactionsOf(server, "f");
        Assert.Equal(0, CompactionsOf(server, "f"));
        server.Run([command, "f", .. arguments]);
        int pass = CompactionsOf(server, "f");
        Assert.InRange(pass, 3, passAfterMoves);
        server.Run([command, "f", .. arguments.Select(argument => argument == "ITEMS" ? argument : $"{argument}1")]);
        server.Run("CF.COMPACT", "f");
        server.Run([command, "f", .. arguments.Select(argument => argument == "ITEMS" ? argument : $"{argument}2")]);
        Assert.InRange(CompactionsOf(server, "f"), pass + 1, 2 * pass);
    }

    // Calls of CF.COMPACT that had something to do.
    private static int CompactionsOf(TypeServer server, string key)
    {
        for (int calls = 0; ; calls++)
        {
            string digest = server.DigestOf(key);
            Assert.Equal("OK", server.Run("CF.COMPACT", key));
            if (digest == server.DigestOf(key)) return calls;
            Assert.InRange(calls, 0, 1000);
        }
    }

    // The work of a command is the number of its elements or keys times what each looks at.
    [Fact]
    public async Task Work_of_a_command_is_bounded()
    {
        const string Refusal = "ERR the command takes too long on sketches of this size: give it fewer elements or keys", UnitRefusal = "ERR the command takes too long for a transaction or script";
        await using TypeServer server = await TypeServer.StartAsync("cf-max-expansions", "65535");
        string[] words = [.. Enumerable.Repeat("a", 65_600)];
        server.Run("CMS.INITBYDIM", "rows", "10", "4096");
        server.Run("CMS.INITBYDIM", "large", "67108864", "1");
        server.Run("TOPK.RESERVE", "top", "3", "10", "4096", "0.9");
        server.Run("TDIGEST.CREATE", "digest", "COMPRESSION", "10000");
        server.Run(["TDIGEST.ADD", "digest", .. Enumerable.Range(0, 60_000).Select(i => i.ToString(CultureInfo.InvariantCulture))]);
        server.Run("CF.RESERVE", "filter", "510", "BUCKETSIZE", "255");
        server.Run(["CF.INSERT", "filter", "ITEMS", .. words[..5200]]); // the same element: 10 layers
        server.Run(["BF.INSERT", "bits", "ERROR", "1e-200", "CAPACITY", "1", "EXPANSION", "1", "ITEMS", .. Enumerable.Range(0, 200).Select(i => i.ToString(CultureInfo.InvariantCulture))]);
        string digest = server.Digest;
        foreach (string[] request in (string[][])
        [
            ["CMS.QUERY", "rows", .. words], ["CMS.INCRBY", "rows", .. words.SelectMany(word => new[] { word, "1" })], ["TOPK.ADD", "top", .. words], ["TOPK.QUERY", "top", .. words], ["TOPK.COUNT", "top", .. words],
            ["TOPK.INCRBY", "top", .. words.SelectMany(word => new[] { word, "1" })], ["CF.MEXISTS", "filter", .. words], ["CF.INSERT", "filter", "ITEMS", .. words],
            ["BF.MEXISTS", "bits", .. Enumerable.Repeat("a", 300_000)], ["BF.MADD", "bits", .. Enumerable.Repeat("a", 300_000)],
            ["CMS.MERGE", "large", "17", .. Enumerable.Repeat("large", 17)], ["TDIGEST.MERGE", "digest", "230", .. Enumerable.Repeat("digest", 230)],
        ])
        {
            Assert.Equal((request[0], Refusal), (request[0], server.Run(request)));
            string[] part = request[0] switch
            {
                "CMS.MERGE" => ["CMS.MERGE", "large", "5", .. Enumerable.Repeat("large", 5)],
                "TDIGEST.MERGE" => ["TDIGEST.MERGE", "digest", "60", .. Enumerable.Repeat("digest", 60)],
                _ => request[..(request.Length / 3 / 2 * 2)],
            };
            server.Run("MULTI");
            server.Run(part);
            Assert.Equal((request[0], UnitRefusal), (request[0], server.Run("EXEC")));
        }

        Assert.Equal(digest, server.Digest);
        Assert.Equal("OK", server.Run("CMS.MERGE", "large", "2", "large", "large"));
        Assert.Equal("OK", server.Run("TDIGEST.MERGE", "digest", "2", "digest", "digest"));
    }

    // Without the bound, a hundred thousand additions take the counter of the other element in each row.
    [Fact]
    public async Task Decays_of_a_command_are_bounded()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TOPK.RESERVE", "t", "1", "1", "50", "1");
        server.Run("TOPK.INCRBY", "t", "a", "100000");
        server.Run("TOPK.INCRBY", "t", "b", "100000");
        Assert.Equal("100000 1", server.Run("TOPK.COUNT", "t", "a", "b"));
        server.Run("TOPK.INCRBY", "t", "b", "100000");
        Assert.Equal("0 100001", server.Run("TOPK.COUNT", "t", "a", "b"));
    }

    [Fact]
    public async Task Events_of_sketches_are_published()
    {
        await using TypeServer server = await TypeServer.StartAsync("notify-keyspace-events", "Kd");
        using RespConnection subscriber = RespConnection.Connect(server.Server.Port);
        subscriber.Run("SUBSCRIBE __keyspace@0__:k");
        foreach ((string request, string[] events) in ((string, string[])[])
        [
            ("BF.ADD k a", ["bf.reserve", "bf.add"]), ("BF.ADD k b", ["bf.add"]), ("DEL k", []), ("CF.ADD k a", ["cf.reserve", "cf.add"]), ("CF.DEL k a", ["cf.del"]), ("DEL k", []),
            ("CF.RESERVE k 2 BUCKETSIZE 1", ["cf.reserve"]), ("CF.INSERT k ITEMS a a a a", ["cf.add"]), ("CF.DEL k a", ["cf.del"]), ("CF.DEL k a", ["cf.del"]), ("CF.COMPACT k", ["cf.compact"]), ("CF.COMPACT k", []), ("DEL k", []),
            ("CMS.INITBYDIM k 5 5", ["cms.init"]), ("CMS.INCRBY k a 1", ["cms.incrby"]), ("DEL k", []), ("TOPK.RESERVE k 5", ["topk.reserve"]), ("TOPK.ADD k a", ["topk.add"]), ("DEL k", []),
            ("TDIGEST.CREATE k", ["tdigest.create"]), ("TDIGEST.ADD k 1", ["tdigest.add"]), ("TDIGEST.RESET k", ["tdigest.reset"]),
        ])
        {
            server.Client.Run(request);
            foreach (string expected in events) Assert.Equal(expected, subscriber.Read().Items[2].Text);
        }
    }

    private static string Text(RespValue reply) => reply.IsNull ? "(nil)" : reply.IsAggregate ? string.Join(' ', reply.Items.Select(item => item.IsNull ? reply.Items.Count == 1 ? "" : "(nil)" : item.Text)) : reply.Text;
}
