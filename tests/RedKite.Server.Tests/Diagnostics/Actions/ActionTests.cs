using System.Text;
using System.Text.Json;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics.Actions;

/// <summary>The server's own actions: each one is provoked, and is then counted, on the timeline and in the report.</summary>
public class ActionTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public async Task New_clients_beyond_the_limit_of_a_second_are_refused_and_connected_ones_are_served()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        server.Run("CONFIG SET shed-connections-per-second 5").IsOk();
        for (int attempt = 0; attempt < 20 && CountOf(server, ActionTable.ShedConnections) == 0; attempt++)
        {
            var storm = new List<RespConnection>();
            try
            {
                for (int i = 0; i < 20; i++) storm.Add(RespConnection.Connect(server.Server.Port));
                foreach (RespConnection client in storm) client.Send("*1\r\n$4\r\nPING\r\n");
                string[] replies = [.. storm.Select(client => client.Read().Text)];
                Assert.All(replies, reply => Assert.Contains(reply, (string[])["PONG", "ERR too many clients connect at the moment, try again later"]));
                Assert.InRange(replies.Count(reply => reply == "PONG"), 5, 20);
            }
            finally
            {
                foreach (RespConnection client in storm) client.Dispose();
            }
        }

        server.Run("PING");
        AssertTaken(server, ActionTable.ShedConnections);
    }

    [Fact]
    public async Task Client_that_leaves_its_replies_unread_is_closed_and_others_are_not()
    {
        await using LiveServer server = await LiveServer.StartAsync("close-hogs-above", "3mb");
        using RespConnection hog = RespConnection.Connect(server.Server.Port);
        hog.Run("CLIENT SETNAME hog").IsOk();
        hog.Run($"SET big {new string('x', 2_000_000)}").IsOk();
        hog.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n", 30)));
        Assert.True(SpinWait.SpinUntil(() => CountOf(server, ActionTable.CloseHogs) == 1, PatienceMs), "it is closed");
        server.Run("PING");
        Assert.True(SpinWait.SpinUntil(() => !server.Run("CLIENT LIST").Text.Contains("name=hog", StringComparison.Ordinal), PatienceMs), "it is gone");
        Assert.Equal("hog", AssertTaken(server, ActionTable.CloseHogs).Name);
    }

    [Fact]
    public async Task Commands_on_all_keys_are_refused_if_there_are_many_keys()
    {
        await using LiveServer server = await LiveServer.StartAsync("refuse-dangerous-commands", "3");
        for (int i = 0; i < 3; i++) server.Run($"SET key:{i} value").IsOk();
        Assert.Equal(3, server.Run("KEYS *").Items.Count);
        server.Run("SET one-more value").IsOk();
        server.Run("KEYS *").IsError("ERR KEYS is refused, because there are 4 keys and refuse-dangerous-commands allows it for 3 at most");
        server.Run("FLUSHDB").IsError("ERR FLUSHDB is refused, because there are 4 keys and refuse-dangerous-commands allows it for 3 at most");
        server.Run("SELECT 1").IsOk();
        server.Run("FLUSHDB").IsOk();
        server.Run("FLUSHALL").IsError("ERR FLUSHALL is refused, because there are 4 keys and refuse-dangerous-commands allows it for 3 at most");
        Assert.Equal(3, CountOf(server, ActionTable.RefuseCommands));
        AssertTaken(server, ActionTable.RefuseCommands);
        server.Run("CONFIG SET refuse-dangerous-commands 0").IsOk();
        server.Run("FLUSHALL").IsOk();
    }

    // A machine never has all of its memory available, so the limit of 100 % is always reached.
    [Fact]
    public async Task Unused_memory_is_returned_when_memory_is_short()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "how much memory is available is known on Linux alone");
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["return-memory-below"] = "100" } }, TestContext.Current.CancellationToken);
        long start = Environment.TickCount64;
        while (server.Engine.Actions.CountOf(ActionTable.ReturnMemory) == 0)
        {
            // The sweep returns memory too, but not all and not at once: there is something left to be returned in most seconds.
            for (int i = 0; i < 50_000; i++) server.Execute("SET", $"key:{i}", new string('x', 1000));
            server.Execute("FLUSHALL");
            Assert.True(Environment.TickCount64 - start < PatienceMs, "it acts");
        }

        Assert.Matches("^[0-9.]+ % of the memory was available, and [1-9][0-9]+ bytes were returned to the system$", server.Engine.Actions.Taken[0].Detail);
    }

    [Fact]
    public void Memory_is_short_by_the_machine_or_by_the_container()
    {
        Assert.Equal(5, MemoryReturn.AvailablePercent(5, 100, double.NaN, double.NaN));
        Assert.Equal(10, MemoryReturn.AvailablePercent(50, 100, 90, 100)!.Value, 6);
        Assert.Equal(10, MemoryReturn.AvailablePercent(double.NaN, double.NaN, 90, 100)!.Value, 6);
        Assert.Null(MemoryReturn.AvailablePercent(double.NaN, double.NaN, 90, double.NaN));
    }

    [Fact]
    public async Task Background_work_is_slowed_while_a_loop_is_busy()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "slow-background-work-above", "1");
        string pipeline = string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n", 1000));
        Assert.True(SpinWait.SpinUntil(Work, PatienceMs), "it is slowed");
        AssertTaken(server, ActionTable.SlowBackgroundWork);

        bool Work()
        {
            server.Client.Send(pipeline);
            for (int i = 0; i < 1000; i++) server.Client.Read();
            server.Server.Diagnostics!.SkipSecond(); // it takes ten of them
            return CountOf(server, ActionTable.SlowBackgroundWork) == 1;
        }
    }

    [Fact]
    public void Frequent_actions_are_counted_and_noted_once_a_second()
    {
        var lines = new List<string>();
        var timeline = new Timeline();
        var time = new ManualClock();
        var log = new ActionLog(timeline, new ServerLog(new Settings(), entry => lines.Add(entry.Message)), new ServerClock(time));
        for (int i = 0; i < 100; i++) log.Note(ActionTable.CloseHogs, "a reason");
        Assert.Equal(100, log.CountOf(ActionTable.CloseHogs));
        Assert.EndsWith("Action close-hogs: a reason. The setting is close-hogs-above.", Assert.Single(lines));
        Assert.Single(timeline.Events);
        time.Advance(1000);
        log.Note(ActionTable.CloseHogs, "a reason");
        Assert.EndsWith("Action close-hogs: a reason, and 99 times since the last such line. The setting is close-hogs-above.", lines[^1]);
        Assert.Equal(99, log.Taken[0].Unnoted);
    }

    [Fact]
    public void Actions_that_clients_notice_are_off_by_default()
    {
        Assert.All(ActionTable.All, action => Assert.NotNull(SettingTable.Find(action.Setting)));
        Assert.All(ActionTable.All.Where(action => action.TouchesClients), action => Assert.Equal("0", SettingTable.Find(action.Setting)!.DefaultText));
    }

    private static long CountOf(LiveServer server, ServerAction action) => server.Server.Engine.Actions.CountOf(action);

    // On the timeline, and in the report.
    private static TimelineEvent AssertTaken(LiveServer server, ServerAction action)
    {
        TimelineEvent noted = server.Server.Engine.Timeline.Events.Last(item => item.Kind == TimelineKind.Action && item.Detail == action.Name);
        using JsonDocument report = JsonDocument.Parse(Encoding.UTF8.GetString(server.Server.Reports!.Read("actions", TestContext.Current.CancellationToken)!));
        JsonElement row = report.RootElement.GetProperty("actions").EnumerateArray().Single(item => item.GetProperty("name").GetString() == action.Name);
        Assert.Equal(CountOf(server, action), row.GetProperty("count").GetInt64());
        Assert.Equal(action.Name, report.RootElement.GetProperty("taken")[0].GetProperty("name").GetString());
        return noted;
    }
}
