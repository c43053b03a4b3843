using RedKite.Net;

namespace RedKite.Server.Tests.Loops;

/// <summary>A script that runs long on a server that cannot make another loop.</summary>
public sealed class ReserveLoopTests
{
    // The script's thread makes it: what it throws there would end the script's loop, and the server.
    [Fact]
    public async Task A_reserve_loop_that_cannot_begin_is_a_line_of_the_log()
    {
        List<string> lines = [];
        int loops = 0;
        var options = new RedKiteOptions
        {
            Port = 0,
            Log = entry =>
            {
                lock (lines) lines.Add(entry.Message);
            },
            NewTransport = loop => ++loops == 1 ? new SocketsTransport(loop) : throw new IOException("Too many open files"),
        };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("save", ""), ("busy-reply-threshold", "1")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Task<RedKiteReply> script = Task.Run(() => server.Execute("EVAL", "while true do end", "0"), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => script.IsCompleted || HasLine(), 60_000));
        Assert.Equal("OK", server.Execute("SCRIPT", "KILL").Text);
        Assert.StartsWith("ERR Script killed by user", (await script).Text, StringComparison.Ordinal);
        Assert.True(HasLine());
        Assert.Null(server.Failure);

        bool HasLine()
        {
            lock (lines) return lines.Exists(static line => line.StartsWith("A script runs long, and no reserve loop can begin (Too many open files)", StringComparison.Ordinal));
        }
    }

    // It would go on with memory that is freed. The script's thread makes it while the stop has already ended the loops that were listed.
    [Fact]
    public async Task A_reserve_loop_that_begins_during_a_stop_ends_before_the_server()
    {
        List<EventLoop> loops = [];
        bool wasListed = true;
        var options = new RedKiteOptions
        {
            Port = 0,
            NewTransport = loop =>
            {
                loops.Add(loop);
                if (loops.Count == 2) wasListed = !SpinWait.SpinUntil(() => HasEnded(loops[0]), 60_000);
                return new SocketsTransport(loop);
            },
        };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("save", ""), ("busy-reply-threshold", "1")]) options.Settings[name] = value;
        RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Task script = Task.Run(() => Assert.ThrowsAny<Exception>(() => Assert.False(server.Execute("EVAL", "while true do end", "0").IsError)), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref loops).Count == 2, 60_000));
        await server.StopAsync().WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        await script.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.False(wasListed);
        Assert.True(HasEnded(loops[1]));
        Assert.Null(server.Failure);

        // A loop that has ended leaves what is posted to the thread that posts.
        static bool HasEnded(EventLoop loop)
        {
            int thread = 0;
            loop.PostOrRun(() => thread = Environment.CurrentManagedThreadId);
            return Volatile.Read(ref thread) == Environment.CurrentManagedThreadId;
        }
    }
}
