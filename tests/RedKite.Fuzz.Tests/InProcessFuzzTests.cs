using System.Buffers;
using System.Text;
using RedKite.TestSupport;

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

    // Vector sets among keys of other types, on guarded memory: copied, dumped, restored from damaged payloads, moved.
    [Fact]
    public async Task Random_streams_leave_vector_sets_intact()
    {
        await using FuzzedServer server = await FuzzedServer.StartAsync("epoll", guardsMemory: true);
        var grammar = new RequestGrammar(server.Server.Engine.Commands, command => RequestGrammar.IsOfVectorSets(command) || command.FullName is "copy" or "del" or "dump" or "rename", often: "vadd");
        RedKiteSession client = server.Server.CreateSession();
        int rounds = 0;
        long elements = 0;
        await FuzzRun.RunAsync(GateRounds, seed =>
        {
            var random = new Random(seed);
            byte[] stream = grammar.Stream(random, random.Next(1, 200));
            try
            {
                Feed(client, stream, random);
                client.Reset();
                Restore(client, random);
                elements = Math.Max(elements, Enumerable.Range(0, 20).Sum(key => client.Execute("VCARD", $"key:{key}") is { Kind: ReplyKind.Integer } count ? count.Integer : 0));
                if (++rounds % 20 == 0) server.MoveAll();
                if (rounds % RoundsBetweenMemoryChecks == 0) server.AssertMemoryReturns();
            }
            catch (Exception failure)
            {
                throw new FuzzFailureException($"{failure.Message}\n{FuzzedServer.Shown(stream)}", failure);
            }

            return Task.CompletedTask;
        });
        server.AssertMemoryReturns();
        Assert.InRange(elements, 50, long.MaxValue); // or most commands were refused
    }

    // The payload of a set that is there, damaged, under another key.
    private static void Restore(RedKiteSession client, Random random)
    {
        ReadOnlyMemory<byte> dump = client.Execute("DUMP", $"key:{random.Next(20)}").Bytes;
        if (dump.IsEmpty) return;
        List<byte> value = [.. dump.Span[..^10]];
        for (int damages = random.Next(4); damages > 0; damages--) value[random.Next(value.Count)] ^= (byte)(1 << random.Next(8));
        client.Execute(["RESTORE"u8.ToArray(), Encoding.ASCII.GetBytes($"key:{random.Next(20)}"), "0"u8.ToArray(), RedisDumps.Seal(value), "REPLACE"u8.ToArray()]);
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
