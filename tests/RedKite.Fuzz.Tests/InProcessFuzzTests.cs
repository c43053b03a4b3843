using System.Buffers;

namespace RedKite.Fuzz.Tests;

/// <summary>The same streams without a socket: a failure has its stack trace, and each seed reproduces exactly.</summary>
public class InProcessFuzzTests
{
    private const int GateRounds = 300;
    private const int RoundsBetweenMemoryChecks = 200;
    private const int RoundsToReachEverything = 3_000;

    [Fact]
    public async Task Random_streams_leave_the_server_intact()
    {
        await using FuzzedServer server = await FuzzedServer.StartAsync("epoll");
        RedKiteSession client = server.Server.CreateSession();
        RedKiteSession witness = server.Server.CreateSession();
        using var ended = new ManualResetEventSlim();
        var ending = new Thread(() => EndWaits(client, ended)) { IsBackground = true };
        ending.Start();
        int rounds = 0;
        await FuzzRun.RunAsync(GateRounds, seed =>
        {
            var random = new Random(seed);
            byte[] stream = server.Stream(random);
            try
            {
                Feed(client, stream, random);
                client.Reset();
                RedKiteReply alive = witness.Execute("SET", "alive", "yes");
                if (alive.Text != "OK") throw new FuzzFailureException($"A well-behaved client's SET was answered with {alive}.");
                if (++rounds % RoundsBetweenMemoryChecks == 0)
                {
                    server.AssertInvariants();
                    server.AssertMemoryReturns();
                }
            }
            catch (Exception failure)
            {
                throw new FuzzFailureException($"{failure.Message}\n{FuzzedServer.Shown(stream)}", failure);
            }

            return Task.CompletedTask;
        });
        ended.Set();
        ending.Join();
        server.AssertMemoryReturns();
    }

    [Fact]
    public async Task Streams_reach_every_command()
    {
        await using FuzzedServer server = await FuzzedServer.StartAsync("epoll");
        RedKiteSession client = server.Server.CreateSession();
        using var ended = new ManualResetEventSlim();
        var ending = new Thread(() => EndWaits(client, ended)) { IsBackground = true };
        ending.Start();
        var random = new Random(1);
        for (int round = 0; round < RoundsToReachEverything; round++)
        {
            Feed(client, server.Grammar.Stream(random, requests: 20), random);
            client.Reset();
        }

        ended.Set();
        ending.Join();
        server.AssertEveryCommandWasReached();
    }

    // A blocked in-process caller, as by BLPOP without a timeout, has no connection whose end would end its wait.
    private static void EndWaits(RedKiteSession client, ManualResetEventSlim ended)
    {
        while (!ended.Wait(millisecondsTimeout: 1)) client.EndWait();
    }

    // Like a connection: consumed bytes leave the buffer, incomplete ones wait for more.
    private static void Feed(RedKiteSession client, byte[] stream, Random random)
    {
        byte[] waiting = [];
        int sent = 0;
        while (sent < stream.Length)
        {
            int piece = Math.Min(stream.Length - sent, random.Next(5) == 0 ? random.Next(1, 4) : random.Next(1, 20_000));
            waiting = [.. waiting, .. stream.AsSpan(sent, piece)];
            sent += piece;
            int consumed;
            do
            {
                var replies = new ArrayBufferWriter<byte>();
                consumed = client.Execute(waiting, replies);
                FuzzedServer.AssertReplies(replies.WrittenSpan.ToArray(), mayBeCut: false);
                waiting = waiting[consumed..];
                if (replies.WrittenSpan.IndexOf("-ERR Protocol error: "u8) >= 0) return;
            }
            while (consumed > 0 && waiting.Length > 0);
        }
    }
}
