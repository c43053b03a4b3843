using System.Globalization;
using System.Text;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Tests.Commands.Server;
using RedKite.Server.Tests.Execution.Eviction;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Limits;

/// <summary>What clients make the server keep is counted, by each row of the table, and its memory is free when it ends.</summary>
public sealed class KeptMemoryTests : TranscriptTests
{
    private const int Count = 400;

    // Names here are shorter than what is kept beside each.
    private const int MostTimes = 50;

    // What clients report late, and the log entries of the commands that read the figures.
    private const long SlackBytes = 2 * KeptMemory.StepBytes;

    public static TheoryData<string> Rows => [.. KeptTable.Rows.Select(row => row.What)];

    [Theory]
    [MemberData(nameof(Rows))]
    public void Figure_grows_by_what_is_kept_and_returns(string what)
    {
        KeptRow row = KeptTable.Rows.Single(row => row.What == what);
        if (row.Keep.Length == 0) return; // Samples_of_LATENCY_are_counted
        if (row.Blocks)
        {
            BlockAndRelease(row);
            return;
        }

        long connected;
        using (RespConnection client = RespConnection.Connect(Server.Port))
        {
            foreach (string line in row.Before) Assert.False(client.Run(line).IsError, line);
            client.Run("PING");
            connected = Server.Info("mem_clients_normal");
            long figure = Server.Info(row.Figure), used = Server.Info("used_memory");
            int count = row.IsOne ? 1 : Count;
            long least = 0;
            for (int i = 0; i < count; i++)
            {
                string line = string.Format(CultureInfo.InvariantCulture, row.Keep, i);
                RespValue reply = client.Run(line);
                Assert.True(row.IsRefused == reply.IsError, $"{line}: {reply.Text}");
                least += line.Split(' ')[^1].Length;
            }

            Assert.InRange(Server.Info(row.Figure) - figure, least - KeptMemory.StepBytes, row.BytesMax > 0 ? row.BytesMax * count : (row.IsOne ? 2 : MostTimes) * least);
            Assert.InRange(Server.Info("used_memory") - used, least - KeptMemory.StepBytes, long.MaxValue); // a script counts its compiled form, too
            foreach (string line in row.Release.Split('|')) Assert.False(client.Run(line).IsError, line);
            Assert.InRange(Server.Info(row.Figure) - figure, -SlackBytes, SlackBytes);
            foreach (string line in row.Before.Where(line => line.StartsWith("CONFIG", StringComparison.Ordinal))) client.Run("CONFIG SET slowlog-log-slower-than -1 commandlog-request-larger-than -1").IsOk();
        }

        Assert.True(SpinWait.SpinUntil(() => Server.Engine.Clients.All.All(session => session.Connection is null), 60_000));
        Assert.InRange(Server.Info("mem_clients_normal") - connected, -LoopMetrics.ConnectionBytes - SlackBytes, 0);
    }

    // No command is slow for sure.
    [Fact]
    public void Samples_of_LATENCY_are_counted()
    {
        long before = Server.Info("used_memory_overhead");
        for (int i = 1; i < 1000; i++) Server.Engine.LatencyMonitor.Add("command", i * 1000, i * 1_000_000);
        Server.Engine.LatencyMonitor.Add("fork", 1000, 1_000_000);
        Assert.InRange(Server.Info("used_memory_overhead") - before, 2 * 160 * 16, 8192);
        Assert.Equal(1, Run("LATENCY RESET fork").Integer);
        Run("LATENCY RESET");
        Assert.InRange(Server.Info("used_memory_overhead") - before, -SlackBytes, SlackBytes);
    }

    // As the others, but the client is busy.
    private void BlockAndRelease(KeptRow row)
    {
        using RespConnection client = RespConnection.Connect(Server.Port);
        string id = client.Run("CLIENT ID").Text!;
        long figure = Server.Info(row.Figure), used = Server.Info("used_memory");
        string keys = string.Join(' ', Enumerable.Range(0, Count).Select(i => $"key:{i}"));
        client.SendCommand($"{row.Keep} {keys} 0");
        long most = row.BytesMax * Count;
        Assert.True(SpinWait.SpinUntil(() => Server.Info(row.Figure) - figure >= keys.Length, 60_000));
        Assert.InRange(Server.Info(row.Figure) - figure, keys.Length, most);
        Assert.InRange(Server.Info("used_memory") - used, keys.Length, long.MaxValue);
        Assert.Equal(1, Run(string.Format(CultureInfo.InvariantCulture, row.Release, id)).Integer);
        client.ReadAny();
        client.Run("PING"); // the next command counts it, or within a second the loop
        Assert.InRange(Server.Info(row.Figure) - figure, -SlackBytes, SlackBytes);
    }

    // A client that ends without releasing anything: only logs and scripts, and tracked keys until they change, outlive it.
    [Fact]
    public void Client_that_ends_keeps_nothing()
    {
        long before = Server.Engine.Kept[Kept.Clients] + Server.Engine.Kept[Kept.Channels];
        using (RespConnection client = RespConnection.Connect(Server.Port))
        {
            for (int i = 0; i < Count; i++)
            {
                client.Run($"WATCH key:{i}").IsOk();
                client.Run($"HIMPORT PREPARE set:{i} field").IsOk();
            }

            client.Run("HELLO 3");
            for (int i = 0; i < Count; i++) Subscribe($"SUBSCRIBE channel:{i}");
            for (int i = 0; i < Count; i++) Subscribe($"PSUBSCRIBE pattern:{i}");
            client.Run("MULTI").IsOk();
            for (int i = 0; i < Count; i++) client.Run("SET k v");
            Assert.InRange(Server.Engine.Kept[Kept.Clients] + Server.Engine.Kept[Kept.Channels] - before, Count * 600, Count * 2000);

            void Subscribe(string line)
            {
                client.SendCommand(line);
                client.ReadAny(); // a push
            }
        }

        Assert.True(SpinWait.SpinUntil(() => before == Server.Engine.Kept[Kept.Clients] + Server.Engine.Kept[Kept.Channels], 60_000));
    }

    [Fact]
    public void Queueing_is_refused_over_maxmemory_as_in_Redis()
    {
        Server.LimitMemory(1_000_000);
        Run("MULTI").IsOk();
        string value = new('v', 1000);
        int queued = 0;
        while (Run($"SET key:{queued} {value}").Text == "QUEUED" && queued < 10_000) queued++;
        Assert.InRange(queued, 500, 1100);
        Run("SET k v").IsError("OOM command not allowed when used memory > 'maxmemory'.");
        Assert.Equal("QUEUED", Run("GET k").Text);
        Run("EXEC").IsError("EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'.");
        Run("SET k v").IsOk();
        Assert.Equal(1, Run("DBSIZE").Integer);
    }

    // Outside the managed heap, so that it is free as soon as the transaction ends.
    [Fact]
    public void Queued_command_takes_little_more_than_its_bytes()
    {
        const int HeadBytesMax = 64;
        string value = new('v', 1000);
        Run("MULTI").IsOk();
        Run($"SET key:0000 {value}");
        long before = Server.Engine.Kept[Kept.Clients], bytes = 0;
        for (int i = 1; i < 2000; i++)
        {
            string key = string.Create(CultureInfo.InvariantCulture, $"key:{i:d4}");
            Run($"SET {key} {value}");
            bytes += "SET".Length + key.Length + value.Length;
        }

        const int ChunkBytes = 256 * 1024;
        Assert.InRange(Server.Engine.Kept[Kept.Clients] - before, bytes - ChunkBytes, bytes + (2000 * HeadBytesMax) + ChunkBytes);
        Run("DISCARD").IsOk();
        Assert.InRange(Server.Engine.Kept[Kept.Clients], 0, SlackBytes);
    }

    [Fact]
    public void Queued_commands_evict_keys()
    {
        Server.Set("maxmemory-policy", "allkeys-random");
        string value = new('v', 1000);
        for (int i = 0; i < 1000; i++) Run($"SET key:{i} {value}").IsOk();
        Server.LimitMemory(100_000);
        Run("MULTI").IsOk();
        for (int i = 0; i < 500; i++) Assert.Equal("QUEUED", Run($"GET {value}").Text);
        Run("DISCARD").IsOk();
        Assert.InRange(Run("DBSIZE").Integer, 400, 800);
    }

    [Fact]
    public void Page_lists_every_row()
    {
        const string Head = "| Kept | Counted in | Bounded by |\n|---|---|---|\n";
        string path = Path.Combine(RepositoryRoot.Path, "docs", "memory.md");
        string page = File.ReadAllText(path);
        int start = page.IndexOf(Head, StringComparison.Ordinal);
        Assert.True(start > 0, "docs/memory.md has no table of what clients can make the server keep");
        int end = page.IndexOf("\n\n", start, StringComparison.Ordinal) + 1;
        var table = new StringBuilder(Head);
        foreach (KeptRow row in KeptTable.Rows) table.Append(CultureInfo.InvariantCulture, $"| {row.What} | `{row.Figure}` | {row.Bound} |\n");
        string expected = page[..start] + table + page[end..];
        if (Environment.GetEnvironmentVariable("REDKITE_WRITE_DOCS") == "1") File.WriteAllText(path, expected);
        Assert.Equal(expected, File.ReadAllText(path));
    }

    [Fact]
    public void Bounds_name_settings()
    {
        foreach (KeptRow row in KeptTable.Rows)
        {
            string[] parts = row.Bound.Split('`');
            for (int i = 1; i < parts.Length; i += 2) Assert.NotNull(SettingTable.Find(parts[i]));
        }
    }
}

/// <summary>The figures are near what the managed heap really grows by.</summary>
[Collection(nameof(MeasuresTheHeap))]
public sealed class KeptHeapTests : TranscriptTests
{
    [Alone] // what earlier tests have left may be freed meanwhile
    [Fact]
    public void Figures_are_near_the_heap()
    {
        const int Count = 5000;
        var wrong = new List<string>();
        Server.Set("max-subscriptions-per-client", "1000000");
        foreach (KeptRow row in KeptTable.Rows.Where(row => row is { IsOne: false, IsRefused: false, Blocks: false, Keep.Length: > 0 } && !row.What.EndsWith("LOG", StringComparison.Ordinal) && row.What is not ("Scripts" or "Prefixes of CLIENT TRACKING BCAST" or "Commands queued since MULTI" or "HOTKEYS")))
        {
            using RespConnection client = RespConnection.Connect(Server.Port);
            string[] lines = [.. Enumerable.Range(0, Count).Select(i => string.Format(CultureInfo.InvariantCulture, row.Keep, i))];
            foreach (string line in row.Before) client.Run(line);
            client.Run("PING");
            long kept = Server.Engine.Kept.Bytes, heap = GC.GetTotalMemory(forceFullCollection: true);
            foreach (string line in lines) Assert.False(client.Run(line).IsError, line);
            kept = Server.Engine.Kept.Bytes - kept;
            heap = GC.GetTotalMemory(forceFullCollection: true) - heap;
            if ((double)kept / heap is < 0.6 or > 1.8) wrong.Add($"{row.What}: counted {kept / Count}, heap {heap / Count} bytes each");
            GC.KeepAlive(lines);
        }

        Assert.Empty(wrong);
    }
}
