using System.Buffers;
using System.Globalization;
using System.Text;
using RedKite.Server.Execution.Slices;
using RedKite.Server.Loops;
using RedKite.Server.Model;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution.Slices;

/// <summary>COPY of values of two million elements over connections, beside other clients.</summary>
[Long]
public class LargeCopyTests
{
    private const int Elements = 2_000_000;
    private const int ElementsPerBatch = 100_000;

    private const int StringBytes = 200_000_000;

    // A slice takes about 100 microseconds: 80 of them for the list, thousands for the others. SlicedCopyTests has how much a step copies.
    private const int SlicesMin = 20;

    [Theory]
    [InlineData("SADD a m{0}", "SCARD {0}")]
    [InlineData("HSET a field:{0} value:{0}", "HLEN {0}")]
    [InlineData("ZADD a {0} m{0}", "ZCARD {0}")]
    [InlineData("RPUSH a element:{0}", "LLEN {0}")]
    [InlineData("XADD a * f v{0}", "XLEN {0}")]
    public async Task Copy_of_two_million_elements_holds_its_stripes_in_slices(string command, string count)
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        Fill(server.Server, command);
        AssertSlices(server, count);
    }

    [Fact]
    public async Task Copy_of_a_large_string_holds_its_stripes_in_slices()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        server.Server.Execute("SETRANGE", "a", $"{StringBytes - 1}", "x");
        AssertSlices(server, "STRLEN {0}");
    }

    private static void AssertSlices(LiveServer server, string count)
    {
        using RespConnection other = RespConnection.Connect(server.Server.Port);
        SliceRunner runner = RunnerOf(server);
        server.Client.SendCommand("COPY a b");
        NetworkTests.WaitFor(() => server.Server.Engine.Blocked.Count == 1, "the client waits");

        // The same loop serves other clients meanwhile, also those of the same stripes.
        while (server.Server.Engine.Blocked.Count == 1)
        {
            other.Run("EXISTS b");
            Assert.Equal(1, other.Run("EXISTS a").Number);
        }

        Assert.Equal(1, server.Client.Read().Number);
        Assert.InRange(runner.Slices, SlicesMin, long.MaxValue);
        Assert.Equal(other.Run(string.Format(CultureInfo.InvariantCulture, count, "a")).Number, other.Run(string.Format(CultureInfo.InvariantCulture, count, "b")).Number);
    }

    [Fact]
    public async Task Slow_log_and_latency_have_the_time_of_all_slices_as_one_entry()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Fill(server.Server, "SADD a m{0}");
        server.Run("CONFIG SET slowlog-log-slower-than 20000 latency-monitor-threshold 20"); // far more than a slice takes
        server.Run("CONFIG RESETSTAT");
        server.Run("SLOWLOG RESET");
        Assert.Equal(1, server.Run("COPY a b").Number);

        // The entry is there once the client has its reply.
        RespValue entry = Assert.Single(server.Run("SLOWLOG GET -1").Items, entry => entry.Items[3].Items[0].Text == "COPY");
        Assert.Equal(["COPY", "a", "b"], entry.Items[3].Items.Select(argument => argument.Text));
        string statistics = server.Run("INFO commandstats").Text.Split("cmdstat_copy:calls=1,usec=")[1];
        long executed = long.Parse(statistics[..statistics.IndexOf(',', StringComparison.Ordinal)], CultureInfo.InvariantCulture);
        Assert.InRange(entry.Items[2].Number, executed - 1, executed + 1);
        Assert.Contains(server.Run("LATENCY LATEST").Items, latest => latest.Items[0].Text == "command" && latest.Items[3].Number >= executed / 1000);
        Assert.Equal(1, server.Run("LATENCY HISTOGRAM copy").Items[1].Items[1].Number);
    }

    [Fact]
    public async Task Killed_client_leaves_nothing_of_its_copy()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Fill(server.Server, "SADD a m{0}");
        long used = server.Server.Engine.Keyspace.UsedBytes;
        using RespConnection copier = RespConnection.Connect(server.Server.Port);
        long id = copier.Run("CLIENT ID").Number;
        copier.SendCommand("COPY a b");
        NetworkTests.WaitFor(() => server.Server.Engine.Blocked.Count == 1, "the client waits");
        Assert.Equal(1, server.Run($"CLIENT KILL ID {id}").Number);
        NetworkTests.WaitFor(() => server.Server.Engine.Blocked.Count == 0, "it waits no more");
        NetworkTests.WaitFor(() => server.Server.Engine.Keyspace.Stripes.All(stripe => !stripe.HasCopies), "the copy has ended");
        NetworkTests.WaitFor(() => server.Server.Engine.Keyspace.UsedBytes <= used, "the copy is freed");
        Assert.Equal(1, server.Run("DBSIZE").Number);
    }

    [Fact]
    public async Task Pipeline_continues_after_the_copy()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Fill(server.Server, "SADD a m{0}");
        server.Client.Send("COPY a b\r\nSCARD b\r\nCOPY a b\r\n");
        Assert.Equal([1, Elements, 0], Enumerable.Range(0, 3).Select(_ => server.Client.Read().Number));
    }

    [Fact]
    public async Task Paused_writes_pause_the_copy()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Fill(server.Server, "SADD a m{0}");
        using RespConnection copier = RespConnection.Connect(server.Server.Port);
        copier.SendCommand("COPY a b");
        NetworkTests.WaitFor(() => server.Server.Engine.Blocked.Count == 1, "the client waits");
        server.Run("CLIENT PAUSE 600000 WRITE");
        Assert.Equal(0, server.Run("EXISTS b").Number);
        Assert.Equal(1, server.Server.Engine.Blocked.Count);
        server.Run("CLIENT UNPAUSE");
        Assert.Equal(1, copier.Read().Number);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Server_stops_during_a_copy(bool inProcess)
    {
        LiveServer server = await LiveServer.StartAsync();
        Fill(server.Server, "SADD a m{0}");
        Task copying = Task.CompletedTask;
        if (inProcess) copying = Task.Run(() => server.Server.Execute("COPY", "a", "b"), TestContext.Current.CancellationToken);
        else server.Client.SendCommand("COPY a b");
        NetworkTests.WaitFor(() => server.Server.Engine.Blocked.Count == 1, "the client waits");
        await server.DisposeAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.Null(server.Server.Failure);
        if (inProcess) await Assert.ThrowsAsync<ObjectDisposedException>(() => copying);
    }

    private static SliceRunner RunnerOf(LiveServer server)
    {
        server.Run("PING");
        Session session = server.Server.Engine.Clients.InOrder.First(session => session.Connection is not null);
        return ((SessionLoop)session.Connection!.Loop.Handler).Sliced.Runner;
    }

    private static void Fill(RedKiteServer server, string command)
    {
        var format = CompositeFormat.Parse(command);
        using RedKiteSession client = server.CreateSession();
        for (int first = 0; first < Elements; first += ElementsPerBatch)
        {
            var requests = new StringBuilder();
            for (int i = first; i < first + ElementsPerBatch; i++) requests.AppendFormat(CultureInfo.InvariantCulture, format, i).Append("\r\n");
            byte[] bytes = Encoding.ASCII.GetBytes(requests.ToString());
            Assert.Equal(bytes.Length, client.Execute(bytes, new ArrayBufferWriter<byte>()));
        }
    }
}
