using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

public class FailStopTests
{
    [Fact]
    public async Task Host_gets_the_crash_report_before_the_process_ends()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("redkite-crash");
        var called = new TaskCompletionSource<RedKiteCrash>();
        await using (RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions
        {
            Port = 0,
            Settings = { ["logfile"] = Path.Combine(folder.FullName, "redkite.log") },
            BeforeFailStop = called.SetResult,
        }, TestContext.Current.CancellationToken))
        {
            server.Engine.Keyspace.FailStop.StandIn(TextWriter.Null, static (_, _) => { }); // the loop ends instead of the process
            Stripe stripe = server.Engine.Keyspace.Stripes[5];
            stripe.Enter();
            stripe.Drop(null!, keys: 0); // the sweep fails when it frees this table
            stripe.Exit();

            RedKiteCrash crash = await called.Task.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
            Assert.IsType<NullReferenceException>(crash.Failure);
            Assert.Equal("background sweep", crash.Command);
            Assert.Equal(folder.FullName, Path.GetDirectoryName(crash.ReportPath));
            Assert.Equal(crash.Report, await File.ReadAllTextAsync(crash.ReportPath!, TestContext.Current.CancellationToken));
            Assert.Contains($"RedKite {ServerVersion.Text} has stopped", crash.Report, StringComparison.Ordinal);
            Assert.Contains("stripes:    5", crash.Report, StringComparison.Ordinal);
        }

        folder.Delete(recursive: true);
    }

    public static TheoryData<string, string, bool> Provocations
    {
        get
        {
            var rows = new TheoryData<string, string, bool>();
            foreach ((string setup, string provocation) in Starved)
            {
                rows.Add(setup, provocation, true);
                rows.Add(setup, provocation, false);
            }

            return rows;
        }
    }

    // {0} is a text whose block the system must supply.
    private static readonly (string Setup, string Provocation)[] Starved =
    [
        ("SET key {0}", "APPEND key {0}"),
        ("SET key 1", "SET key {0}"),
        ("SET key 1", "SETRANGE key 100000 x"),
        ("SET key 1", "MSET other 1 key {0}"),
        ("RPUSH key 1", "RPUSH key {0}"),
        ("SADD key 1", "SADD key {0}"),
        ("HSET key f v", "HSET key f {0}"),
        ("ZADD key 1 a", "ZADD key 2 {0}"),
        ("XADD key 1-1 f v", "XADD key 2-1 f {0}"),
        ("SADD key {0}", "SINTERSTORE target key key"),
        ("SET key {0}", "COPY key target"),
        ("RPUSH key {0}", "SORT key ALPHA STORE target"),
    ];

    // The system refuses memory on the thread that executes the command: a loop's, or a caller's.
    [Theory]
    [MemberData(nameof(Provocations))]
    public async Task Refused_memory_ends_in_an_error_or_a_report_that_names_the_command(string setup, string provocation, bool isInProcess)
    {
        await using var server = await StarvedServer.StartAsync();
        Assert.False(server.Run(setup).IsError);
        string? before = server.Run("DEBUG DIGEST").Text;
        if (!server.RepliesStarved(provocation, isInProcess, out bool isError))
        {
            RedKiteCrash crash = await server.CrashAsync();
            Assert.IsAssignableFrom<OutOfMemoryException>(crash.Failure);
            Assert.Equal(provocation[..provocation.IndexOf(' ', StringComparison.Ordinal)], crash.Command, ignoreCase: true);
            Assert.True(File.Exists(crash.ReportPath));
            return;
        }

        Assert.True(isError);
        Assert.Equal(before, server.Run("DEBUG DIGEST").Text);
        Assert.False(server.Run(provocation).IsError); // now that there is memory
    }

    // RENAME itself needs no memory of the system; BLMOVE does, which it serves.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Refused_memory_ends_in_a_report_when_a_blocked_client_is_served(bool isInProcess)
    {
        await using var server = await StarvedServer.StartAsync();
        using RespConnection blocked = server.Connect();
        server.Run("RPUSH filled {0}");
        blocked.SendCommand("BLMOVE source target LEFT LEFT 0");
        NetworkTests.WaitFor(() => server.Server.Engine.Clients.InOrder.Any(session => session.Blocked is not null), "the client waits");
        BlockedClient waiting = server.Server.Engine.Clients.InOrder.Single(session => session.Blocked is not null).Blocked!;
        Assert.False(server.RepliesStarved("RENAME filled source", isInProcess, out _));
        RedKiteCrash crash = await server.CrashAsync();
        Assert.IsAssignableFrom<OutOfMemoryException>(crash.Failure);
        Assert.Equal("rename", crash.Command);
        waiting.EndServing(served: false); // this process continues
    }

    // A batch of a pipeline, with no behavior around its commands.
    [Fact]
    public async Task Refused_memory_ends_in_a_report_within_a_pipeline()
    {
        await using var server = await StarvedServer.StartAsync(hasBehavior: false);
        using RespConnection client = server.Connect();
        client.Run("GET key").IsNull();
        Assert.Single(server.Server.Engine.Clients.InOrder, session => session.Connection is not null).Connection!.Loop.Post(() => SystemMemory.Refuses = true);
        client.Send([.. StarvedServer.Encode("SET a 1"), .. StarvedServer.Encode("SET key {0}"), .. StarvedServer.Encode("SET b 1")]);
        RedKiteCrash crash = await server.CrashAsync();
        Assert.IsAssignableFrom<OutOfMemoryException>(crash.Failure);
        Assert.Equal("set", crash.Command);
        client.SetTimeout(NetworkTests.PatienceMs);
        RespValue reply = client.Read();
        if (!reply.IsClosed) reply.IsOk(); // of the command before
        Assert.True(reply.IsClosed || client.Read().IsClosed);
    }
}
