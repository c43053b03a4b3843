using System.Diagnostics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Cluster;

/// <summary>What a move of slots waits for while writes wait: commands that have begun. Whatever they are, it waits no longer than writes may.</summary>
public sealed class BarrierTests
{
    private const int HangMs = 30_000;

    [Theory]
    [InlineData("a command")]
    [InlineData("a script")]
    public async Task A_barrier_gives_up_whatever_it_waits_for(string holder)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["save"] = "", ["stripes"] = "8", ["busy-reply-threshold"] = "0" } }, TestContext.Current.CancellationToken);
        Keyspace keyspace = server.Engine.Keyspace;
        Stripe last = keyspace.Stripes[^1];
        var script = new ScriptMutexHold(keyspace.Scripts);
        bool isOver = false;
        int asked = 0;
        if (holder == "a command") last.Enter();
        else Assert.True(script.TryBegin(Stopwatch.GetTimestamp()));
        try
        {
            Task<bool> barrier = Task.Run(() => server.Parts.Durability.TryBarrier(GivesUp), TestContext.Current.CancellationToken);
            Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref asked) > 1, HangMs), "it asks whether to give up");
            Assert.False(barrier.IsCompleted);
            Assert.True(SpinWait.SpinUntil(keyspace.Stripes[0].TryEnter, HangMs), "it holds no stripe while it waits for another one");
            keyspace.Stripes[0].Exit();
            Volatile.Write(ref isOver, true);
            Assert.False(await barrier.WaitAsync(TimeSpan.FromMilliseconds(HangMs), TestContext.Current.CancellationToken));
        }
        finally
        {
            if (holder == "a command") last.Exit();
            else script.End();
        }

        Assert.True(await Task.Run(() => server.Parts.Durability.TryBarrier(static () => false), TestContext.Current.CancellationToken));

        bool GivesUp()
        {
            Interlocked.Increment(ref asked);
            return Volatile.Read(ref isOver);
        }
    }

    // It has no stripe before its first call, and no loop executes it.
    [Fact]
    public async Task A_handover_waits_for_the_script_of_a_call_in_the_process()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["save"] = "", ["stripes"] = "8" } }, TestContext.Current.CancellationToken);
        var script = new ScriptMutexHold(server.Engine.Keyspace.Scripts);
        Assert.True(script.TryBegin(Stopwatch.GetTimestamp()));
        using (var limit = new CancellationTokenSource(100)) Assert.ThrowsAny<OperationCanceledException>(() => server.EndCommandsBegunBefore(limit.Token));
        script.End();
        server.EndCommandsBegunBefore(TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task A_handover_gives_up_on_a_command_when_its_time_is_over()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["save"] = "", ["stripes"] = "8" } }, TestContext.Current.CancellationToken);
        Stripe last = server.Engine.Keyspace.Stripes[^1];
        last.Enter();
        try
        {
            using var limit = new CancellationTokenSource(100);
            Task handover = Task.Run(() => server.EndCommandsBegunBefore(limit.Token), TestContext.Current.CancellationToken);
            Assert.Same(handover, await Task.WhenAny(handover, Task.Delay(HangMs, TestContext.Current.CancellationToken)));
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => handover);
        }
        finally
        {
            last.Exit();
        }
    }
}
