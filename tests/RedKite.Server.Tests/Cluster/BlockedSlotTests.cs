using RedKite.Net;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Clients that are served later than the command, or time, that has changed their key: their slot may be about to go by then.</summary>
public sealed class BlockedSlotTests : IAsyncLifetime
{
    private const int WaitMs = 60_000;
    private static readonly SlotSet StreamsSlot = SlotSet.Of([new SlotRange(KeySlot.Of("stream"u8), KeySlot.Of("stream"u8))]);

    private readonly TemporaryFolder _folder = new();
    private RedKiteServer _server = null!;
    private Action _between = static () => { };

    public async ValueTask InitializeAsync()
    {
        Directory.CreateDirectory(_folder.Path);
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("cluster-enabled", "yes"), ("dir", _folder.Path), ("save", ""), ("diagnostics", "no"), ("busy-reply-threshold", "1")]) options.Settings[setting] = value;
        options.Commands.Add("T.BETWEEN", ([RedKiteKey] string key) => _between());
        _server = await RedKiteServer.StartAsync(options);
        Assert.Equal("OK", _server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383").Text);
    }

    public async ValueTask DisposeAsync()
    {
        await _server.DisposeAsync();
        _folder.Dispose();
    }

    // The first look meets a script that has the stripe, and the slot is held before the next one: another client's command on the same loop finds the key.
    [Fact]
    public void A_client_that_could_not_be_served_by_time_is_not_served_in_a_slot_that_is_held()
    {
        foreach (string command in (string[])["XGROUP CREATE stream group 0 MKSTREAM", "XADD stream 1-1 a 1", "XREADGROUP GROUP group me STREAMS stream >"]) Assert.False(_server.Execute(command.Split(' ')).IsError);
        using RespConnection claims = RespConnection.Connect(_server.Port), other = RespConnection.Connect(_server.Port);
        other.Run("PING").IsSimple("PONG");
        claims.SendCommand("XREADGROUP GROUP group other BLOCK 0 CLAIM 60000 STREAMS stream >");
        Assert.True(SpinWait.SpinUntil(() => _server.Engine.Blocked.Count == 1, WaitMs));
        Assert.False(_server.Execute("XCLAIM", "stream", "group", "me", "0", "1-1", "IDLE", "100000", "JUSTID").IsError);
        Assert.Equal(1, _server.Engine.Blocked.Count);
        Task<RedKiteReply> script = Task.Run(() => _server.Execute("EVAL", "while true do end", "1", "stream"), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => _server.Engine.Script.BusyReply is not null, WaitMs));
        bool wasNoted = false, isNoted = true;
        OnLoop(() =>
        {
            BlockedClientServer blocked = _server.Loops[0].Executor.Invoker.Blocked;
            blocked.NoteLooks(long.MaxValue - 1);
            blocked.ServeNoted();
            wasNoted = blocked.MayServe();
            _server.Cluster!.Hold(StreamsSlot);
            Assert.Equal("OK", Task.Run(() => _server.Execute("SCRIPT", "KILL"), TestContext.Current.CancellationToken).Result.Text);
            Assert.True(script.Result.IsError);
            Connection connection = _server.Loops[0].Loop.Connections.Single(static connection => ((Session)connection.State!).Blocked is null);
            _server.Loops[0].Received(connection, CommandLine.Encode(CommandLine.Split("MGET elsewhere {elsewhere}2")));
            isNoted = blocked.MayServe();
        });
        Assert.Equal((true, false), (wasNoted, isNoted)); // it was looked at behind that command
        Assert.Equal("*[$(null) $(null)]", other.Read().ToString());
        Assert.Equal(1, _server.Engine.Blocked.Count);
        _server.Cluster!.Hold(null);
        Assert.Contains("1-1", claims.Read().ToString(), StringComparison.Ordinal);
    }

    // The last save begins while a transaction pushes, and does not end the server.
    [Fact]
    public void A_client_that_was_not_served_because_of_the_last_save_is_not_served_in_a_slot_that_is_held()
    {
        using RespConnection pops = RespConnection.Connect(_server.Port), pushes = RespConnection.Connect(_server.Port);
        pops.SendCommand("BLPOP stream 0");
        Assert.True(SpinWait.SpinUntil(() => _server.Engine.Blocked.Count == 1, WaitMs));
        _between = () => _server.Engine.Pause.Hold(PauseReason.LastSave);
        foreach (string command in (string[])["MULTI", "RPUSH stream a", "T.BETWEEN stream"]) Assert.Equal(command == "MULTI" ? "OK" : "QUEUED", pushes.Run(command).Text);
        pushes.Run("EXEC");
        _server.Cluster!.Hold(StreamsSlot);
        _server.Engine.Pause.Release(PauseReason.LastSave);
        pushes.Run("MGET elsewhere {elsewhere}2");
        Assert.Equal(1, _server.Engine.Blocked.Count);
        _server.Cluster!.Hold(null);
        Assert.Equal("*[$stream $a]", pops.Read().ToString());
    }

    private void OnLoop(Action action)
    {
        var done = new TaskCompletionSource();
        _server.Loops[0].Loop.Post(() =>
        {
            try
            {
                action();
                done.SetResult();
            }
            catch (Exception failure)
            {
                done.SetException(failure);
            }
        });
        Assert.True(done.Task.Wait(WaitMs));
    }
}
