using System.Globalization;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Server;

/// <summary>The memory figures of INFO memory and CLIENT LIST are close to the actual memory.</summary>
public sealed class MemoryFiguresTests
{
    // What the buffers of the test's own connection may change by.
    private const long Slack = 300_000;

    [Fact]
    public async Task Empty_server_counts_the_process_so_that_fragmentation_means_something()
    {
        await using LiveServer server = await LiveServer.StartAsProgramAsync();
        long startup = server.Number("memory", "used_memory_startup");
        Assert.InRange(startup, 10_000_000, server.Number("memory", "used_memory_rss") * 2);
        Assert.InRange(server.Number("memory", "used_memory"), startup + LoopMetrics.ConnectionBytes, startup + 1_000_000);
        Assert.InRange(Decimals(server, "mem_fragmentation_ratio"), 0.5, 10);
        Assert.InRange(Decimals(server, "used_memory_dataset_perc"), 0, 100);
    }

    [Fact]
    public async Task Allocator_figures_are_in_order()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        server.Run("DEBUG POPULATE 300000 key 200").IsOk();
        long allocated = server.Number("memory", "allocator_allocated"), active = server.Number("memory", "allocator_active"), resident = server.Number("memory", "allocator_resident");
        Assert.InRange(allocated, 300_000 * 200, 300_000 * 400);
        Assert.InRange(active, allocated, allocated * 2);
        Assert.InRange(resident, active, active + (16 << 20));
        Assert.InRange(server.Number("memory", "used_memory"), allocated + server.Number("memory", "used_memory_startup"), long.MaxValue);
        Assert.InRange(server.Number("memory", "used_memory_rss"), allocated, long.MaxValue);
    }

    [Fact]
    public async Task Objects_that_are_freed_later_are_counted()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        Assert.Equal(0, server.Number("memory", "lazyfreed_objects"));
        server.Run("DEBUG POPULATE 50000").IsOk();
        server.Run("FLUSHALL").IsOk();
        Assert.True(SpinWait.SpinUntil(() => server.Number("memory", "lazyfree_pending_objects") == 0, 60_000));
        Assert.Equal(50_000, server.Number("memory", "lazyfreed_objects"));

        for (int i = 0; i < 200; i++) server.Run($"SADD set {string.Join(' ', Enumerable.Range(i * 1000, 1000).Select(number => "member:" + number))}").IsInteger(1000);
        server.Run("DEL set").IsInteger(1);
        Assert.True(SpinWait.SpinUntil(() => server.Number("memory", "lazyfreed_objects") == 50_001, 60_000));
        Assert.Equal(0, server.Number("memory", "lazyfree_pending_objects"));
        server.Run("CONFIG RESETSTAT").IsOk();
        Assert.Equal(0, server.Number("memory", "lazyfreed_objects"));
    }

    // In a host's process, where nothing else is counted, and in the program.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Scripts_are_counted_until_they_are_flushed(bool asProgram)
    {
        await using LiveServer server = asProgram ? await LiveServer.StartAsProgramAsync() : await LiveServer.StartAsync();
        long used = server.Number("memory", "used_memory"), overhead = server.Number("memory", "used_memory_overhead"), dataset = server.Number("memory", "used_memory_dataset");
        server.Run("EVAL \"local t = {} for i = 1, 200000 do t[i] = i end return #t\" 0").IsInteger(200_000);
        server.Run($"FUNCTION LOAD \"#!lua name=l\nredis.register_function('f', function() end) -- {new string('x', 100_000)}\"").IsBulk("l");
        long scripts = server.Number("memory", "used_memory_vm_total") + server.Number("memory", "used_memory_scripts");
        Assert.InRange(scripts, 1_000_000, 50_000_000);
        Assert.InRange(server.Number("memory", "used_memory") - used, scripts - Slack, scripts + Slack);
        Assert.InRange(server.Number("memory", "used_memory_overhead") - overhead, scripts - Slack, scripts + Slack);
        Assert.InRange(server.Number("memory", "used_memory_dataset") - dataset, -Slack, Slack);
        server.Run("SCRIPT FLUSH").IsOk();
        server.Run("FUNCTION FLUSH").IsOk();
        Assert.InRange(server.Number("memory", "used_memory") - used, -Slack, Slack);
    }

    [Fact]
    public async Task Memory_of_scripts_reduces_the_space_for_data()
    {
        await using LiveServer server = await LiveServer.StartAsync("maxmemory", "20mb");
        server.Run("SET k v").IsOk();
        server.Run("EVAL \"local t = {} for i = 1, 2000000 do t[i] = i end return 1\" 0").IsInteger(1);
        Assert.InRange(server.Number("memory", "used_memory"), 20 << 20, long.MaxValue);
        NetworkTests.WaitFor(() => server.Run("SET k v").Text.StartsWith("OOM", StringComparison.Ordinal), "the limit to be noticed");
        server.Run("SCRIPT FLUSH").IsOk();
        NetworkTests.WaitFor(() => server.Run("SET k v").Text == "OK", "the memory to be noticed that is free again");
    }

    // The room for the rest of a request is reserved, but takes no memory yet.
    [Fact]
    public async Task Half_a_request_takes_the_memory_of_half_a_request()
    {
        const int Sent = 500_000;
        await using LiveServer server = await LiveServer.StartAsync();
        using RespConnection other = RespConnection.Connect(server.Server.Port);
        string id = other.Run("CLIENT ID").Number.ToString(CultureInfo.InvariantCulture);
        string head = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n";
        other.Send(head + new string('x', Sent - head.Length));
        Assert.True(SpinWait.SpinUntil(() => Field("qbuf") == Sent, 60_000));
        Assert.InRange(Field("tot-mem"), Sent, Sent + LoopMetrics.ConnectionBytes + 4096);
        other.Send(new string('x', 1_000_000 - Sent + head.Length) + "\r\n");
        other.Read().IsOk();
        Assert.Equal(1_000_000, server.Run("STRLEN k").Number);

        long Field(string name) => long.Parse(server.Run("CLIENT LIST ID " + id).Text.Split(' ').Single(field => field.StartsWith(name + "=", StringComparison.Ordinal))[(name.Length + 1)..], CultureInfo.InvariantCulture);
    }

    [Fact]
    public async Task Client_list_shows_the_buffers_that_a_client_has()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        using RespConnection other = RespConnection.Connect(server.Server.Port);
        other.Run("CLIENT SETNAME other").IsOk();
        Assert.Equal((0L, 0L, 0L), (Field("other", "qbuf"), Field("other", "rbs"), Field("other", "obl")));
        Assert.Equal(LoopMetrics.ConnectionBytes + ("other".Length * sizeof(char)), Field("other", "tot-mem"));

        // An incomplete request stays in a buffer of the client.
        other.Send("*2\r\n$3\r\nGET\r\n$10\r\nabc");
        Assert.True(SpinWait.SpinUntil(() => Field("other", "qbuf") == 21, 60_000));
        Assert.InRange(Field("other", "tot-mem"), LoopMetrics.ConnectionBytes + 21, LoopMetrics.ConnectionBytes + 100_000);

        // The caller's request and the replies before it in the pipeline, as in Redis.
        server.Client.Send("PING\r\nCLIENT INFO\r\nPING\r\n");
        Assert.Equal("PONG", server.Client.Read().Text);
        string info = server.Client.Read().Text;
        Assert.Equal("PONG", server.Client.Read().Text);
        Assert.Contains(" qbuf=25 ", info, StringComparison.Ordinal);
        Assert.Contains(" obl=7 ", info, StringComparison.Ordinal);
        Assert.DoesNotContain(" rbs=0 ", info, StringComparison.Ordinal);

        long Field(string name, string field)
        {
            string line = server.Run("CLIENT LIST").Text.Split('\n').Single(line => line.Contains($" name={name} ", StringComparison.Ordinal));
            return long.Parse(line.Split(' ').Single(word => word.StartsWith(field + "=", StringComparison.Ordinal)).Split('=')[1]);
        }
    }

    [Fact]
    public async Task Failed_logins_are_counted_and_survive_a_reset()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("AUTH nobody wrong").IsError("WRONGPASS invalid username-password pair or user is disabled.");
        server.Run("CONFIG RESETSTAT").IsOk();
        Assert.Equal(1, server.Number("stats", "acl_access_denied_auth"));
    }

    [Fact]
    public async Task Threads_are_the_event_loops()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "2");
        using RespConnection other = RespConnection.Connect(server.Server.Port);
        other.Run("PING");
        string text = server.Run("INFO threads").Text;
        Assert.Matches(@"^# Threads\r\nio_thread_0:clients=\d+,reads=\d+,writes=\d+\r\nio_thread_1:clients=\d+,reads=\d+,writes=\d+\r\n$", text);
        Assert.Equal("1", server.Info("server", "io_threads_active"));
        Assert.Equal(server.Run("CLIENT LIST").Text.Split('\n').Count(line => line.Contains(" io-thread=1 ", StringComparison.Ordinal)), int.Parse(server.Info("threads", "io_thread_1").Split('=', ',')[1]));
    }

    private static double Decimals(LiveServer server, string field) => double.Parse(server.Info("memory", field).TrimEnd('%'));
}
