using System.Diagnostics;
using System.Security.Cryptography;
using System.Text;
using RedKite.Net;
using RedKite.Persistence.Types;
using RedKite.Server.Execution;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Debug;

/// <summary>DEBUG DIGEST in slices. The digests themselves are compared with Redis's in the differential tests.</summary>
public sealed class DigestTests
{
    private const int Keys = 20_000; // no machine hashes them in one slice
    private const int LargeElements = 600; // more than a packed hash has
    private const string Empty = "0000000000000000000000000000000000000000";

    [Fact]
    public void Own_sha1_equals_the_platforms()
    {
        byte[] text = new byte[4 * Sha1.ShortBytesMax];
        new Random(1).NextBytes(text);
        Span<byte> hash = stackalloc byte[DatasetDigest.Bytes];
        for (int bytes = 0; bytes <= text.Length; bytes++)
        {
            Sha1.Hash(text.AsSpan(0, bytes), hash);
#pragma warning disable CA5350 // It protects nothing; Redis uses this hash.
            Assert.Equal(SHA1.HashData(text.AsSpan(0, bytes)), hash.ToArray());
#pragma warning restore CA5350
            if (bytes < DatasetDigest.Bytes) continue;
            hash.CopyTo(text);
            Sha1.Hash(text.AsSpan(0, DatasetDigest.Bytes), text);
            Sha1.Hash(hash, hash);
            Assert.Equal(hash, text.AsSpan(0, DatasetDigest.Bytes));
        }
    }

    [Fact]
    public async Task In_slices_it_is_that_of_one_piece()
    {
        await using RedKiteServer server = await StartAsync();
        Fill(server);
        foreach (int database in (int[])[3, 7])
        {
            using RedKiteSession session = server.CreateSession();
            session.Execute("SELECT", $"{database}");
            for (int i = 0; i < 50; i++)
            {
                session.Execute("HSET", $"hash{i}", "f", $"{i}", "g", "x");
                session.Execute("ZADD", $"zset{i}", $"{i}", "m", "2", "n");
                session.Execute("SADD", $"set{i}", "a", $"{i}");
                session.Execute("RPUSH", $"list{i}", "a", $"{i}");
                session.Execute("XADD", $"stream{i}", "1-1", "f", $"{i}");
                Assert.False(session.Execute("ARSET", $"array{i}", "5", $"{i}").IsError);
                session.Execute("SET", $"expiring{i}", "v", "EX", "1000");
            }
        }

        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("MULTI").IsOk();
        client.Run("DEBUG DIGEST").IsSimple("QUEUED");
        string inOnePiece = client.Run("EXEC").Items[0].Text;
        using var digest = new SlicedCommand(server.Engine, ["DEBUG", "DIGEST"]);
        Assert.Equal("+" + inOnePiece, digest.RunToEnd());
        Assert.InRange(digest.Slices, 2, int.MaxValue);
        Assert.Equal(inOnePiece, server.Execute("DEBUG", "DIGEST").Text); // a caller in the process
    }

    // However small the parts are.
    [Theory]
    [InlineData(1)]
    [InlineData(5000)]
    public async Task Large_values_are_digested_in_parts(int partBytes)
    {
        await using RedKiteServer server = await StartAsync();
        FillLarge(server);
        Keyspace keyspace = server.Engine.Keyspace;
        Span<byte> whole = stackalloc byte[DatasetDigest.Bytes], inParts = stackalloc byte[DatasetDigest.Bytes];
        foreach (string key in LargeKeys)
        {
            Entry entry = keyspace.Databases[0].FindByHash(keyspace.Hash(Encoding.Latin1.GetBytes(key)));
            Assert.True(entry.Exists, key);
            whole.Clear();
            inParts.Clear();
            new DatasetDigest(whole).MixValue(keyspace.Databases[0], entry, ExpiryClock.Never);
            var position = default(DatasetDigest.ValuePosition);
            int parts = 1;
            while (!new DatasetDigest(inParts).MixValue(keyspace.Databases[0], entry, ExpiryClock.Never, ref position, new DatasetDigest.WorkLeft(partBytes))) parts++;
            Assert.True(whole.SequenceEqual(inParts), key);
            Assert.InRange(parts, LargeElements * 500 / Math.Max(partBytes, 1000) / 8, 2 * LargeElements); // a bucket of a table is one part at least
        }
    }

    [Fact]
    public async Task Large_values_are_digested_in_slices()
    {
        await using RedKiteServer server = await StartAsync();
        FillLarge(server);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("MULTI").IsOk();
        client.Run("DEBUG DIGEST").IsSimple("QUEUED");
        string inOnePiece = client.Run("EXEC").Items[0].Text;
        using var digest = new SlicedCommand(server.Engine, ["DEBUG", "DIGEST"]);
        for (int i = 0; digest.RunSlice(); i++) server.Execute("SET", "other", $"{i}", "GET"); // moves nothing
        Assert.InRange(digest.Slices, 10, int.MaxValue);
        server.Execute("DEL", "other");
        Assert.Equal(inOnePiece, server.Execute("DEBUG", "DIGEST").Text);

        foreach (string[] change in (string[][])[["DEL", .. LargeKeys], ["FLUSHALL"], ["RENAME", "hash", "set"], ["SET", "hash", "text"], ["HDEL", "hash", "f1", "f2"], ["LTRIM", "list", "0", "10"], ["SWAPDB", "0", "1"]])
        {
            server.Execute("FLUSHALL");
            FillLarge(server);
            using var changed = new SlicedCommand(server.Engine, ["DEBUG", "DIGEST"]);
            for (int i = 0; i < 5 && changed.RunSlice(); i++) server.Execute(change);
            Assert.Matches("^\\+[0-9a-f]{40}$", changed.RunToEnd());
        }
    }

    [Fact]
    public async Task What_changes_meanwhile_does_no_harm()
    {
        await using RedKiteServer server = await StartAsync();
        foreach (string[] change in (string[][])[["FLUSHALL"], ["SWAPDB", "0", "1"], ["DEBUG", "POPULATE", "30000", "more"], ["FLUSHALL", "ASYNC"]])
        {
            Fill(server);
            using var digest = new SlicedCommand(server.Engine, ["DEBUG", "DIGEST"]);
            Assert.True(digest.RunSlice());
            server.Execute(change);
            Assert.Matches("^\\+[0-9a-f]{40}$", digest.RunToEnd());
        }

        Fill(server);
        using var abandoned = new SlicedCommand(server.Engine, ["DEBUG", "DIGEST"]);
        Assert.True(abandoned.RunSlice());
        abandoned.Client.TryEnd();
        Assert.False(abandoned.RunSlice());
        server.Execute("FLUSHALL");
        Assert.Equal(Empty, server.Execute("DEBUG", "DIGEST").Text);
    }

    // The digest cannot end while the test holds the last stripe.
    [Fact]
    public async Task Clients_of_its_loop_are_served_meanwhile()
    {
        await using RedKiteServer server = await StartAsync();
        Fill(server);
        Keyspace keyspace = server.Engine.Keyspace;
        using RespConnection waiting = RespConnection.Connect(server.Port), other = RespConnection.Connect(server.Port);
        string key = Enumerable.Range(0, 1000).Select(i => $"key:{i}").First(name => keyspace.StripeOf(keyspace.Hash(Encoding.Latin1.GetBytes(name))) == 0);
        using (var held = new HeldStripe(keyspace.Stripes[^1]))
        {
            waiting.Send("DEBUG DIGEST\r\n");
            NetworkTests.WaitFor(() => server.Engine.Blocked.Count > 0, "it waits");
            for (int i = 0; i < 10; i++) other.Run($"GET {key}").IsBulk("value:" + key[4..]);
        }

        Assert.Equal(server.Execute("DEBUG", "DIGEST").Text, waiting.Read().Text);
    }

    [Fact]
    public async Task Loop_that_has_nothing_else_to_do_is_not_busy_with_it()
    {
        await using RedKiteServer server = await StartAsync();
        Fill(server);
        LoopMetrics loop = server.Engine.Metrics.Loops[0];
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("PING").IsSimple("PONG");
        long spared = loop.WorkMicroseconds - loop.BusyMicroseconds;
        client.Run("DEBUG DIGEST");
        Assert.InRange(loop.WorkMicroseconds - loop.BusyMicroseconds - spared, 1000, long.MaxValue); // of 20,000 keys, which no machine hashes in a millisecond
    }

    // Two seconds altogether, of which others have waited for 5 ms at a time: redkite verify-replica raises no finding by its own work.
    [Fact]
    public async Task Time_in_slices_is_no_stall()
    {
        await using RedKiteServer server = await StartAsync();
        Fill(server);
        server.Execute("CONFIG", "SET", "slowlog-log-slower-than", "1000000");
        using var digest = new SlicedCommand(server.Engine, ["DEBUG", "DIGEST"]);
        for (int i = 0; i < 400; i++) digest.Client.NoteExecuted(5 * Stopwatch.Frequency / 1000);
        CommandExecutor executor = server.Engine.NewExecutor();
        executor.Account.NoteWaited(digest.Client, Stopwatch.GetTimestamp());
        LatencyHistogram latency = executor.Metrics.Of(digest.Client.Request.Command.Index).Latency;
        Assert.Equal(1, latency.Count);
        Assert.InRange(latency.MaxNs, 5_000_000, ServerClock.TicksToNs(digest.Client.LongestTicks) + 1_000_000);
        Assert.InRange(ServerClock.TicksToNs(digest.Client.ExecutedTicks), 2_000_000_000, long.MaxValue);
        Assert.True(server.Engine.LongCalls.Longest(60) is null or { Ns: < 1_000_000_000 });
        Assert.Equal("DEBUG", server.Execute("SLOWLOG", "GET", "1").Items[0].Items[3].Items[0].Text);
    }

    private static readonly string[] LargeKeys = ["list", "set", "zset", "hash", "stream", "array", "vectors"];

    private static void FillLarge(RedKiteServer server)
    {
        string[] numbers = [.. Enumerable.Range(0, LargeElements).Select(i => $"{i}")];
        Run(["RPUSH", "list", .. numbers]);
        Run(["SADD", "set", .. numbers.Select(number => "m" + number)]);
        Run(["ZADD", "zset", .. numbers.SelectMany<string, string>(number => [number, "m" + number])]);
        Run(["HSET", "hash", .. numbers.SelectMany<string, string>(number => ["f" + number, number])]);
        for (int i = 0; i < LargeElements; i++) Run("ARSET", "array", $"{(i * 10) + 7}", $"x{i}");
        Run("HPEXPIRE", "hash", "100000000", "FIELDS", "1", "f7");
        for (int i = 0; i < LargeElements; i++) Run("XADD", "stream", $"{i + 1}-1", "f", $"{i}");
        for (int i = 0; i < LargeElements; i++) Run("VADD", "vectors", "VALUES", "2", "1", $"{i}", $"e{i}");

        void Run(params string[] command) => Assert.False(server.Execute(command).IsError, command[0]);
    }

    private static void Fill(RedKiteServer server) => server.Execute("DEBUG", "POPULATE", $"{Keys}");

    private static async Task<RedKiteServer> StartAsync()
    {
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("bind", "127.0.0.1"), ("enable-debug-command", "yes"), ("loops", "1"), ("stripes", "16")]) options.Settings[name] = value;
        return await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
    }

    private sealed class HeldStripe : IDisposable
    {
        private readonly Stripe _stripe;

        internal HeldStripe(Stripe stripe)
        {
            _stripe = stripe;
            stripe.Enter();
        }

        public void Dispose() => _stripe.Exit();
    }
}
