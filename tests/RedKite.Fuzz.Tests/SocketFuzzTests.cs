using System.Net;
using System.Net.Sockets;

namespace RedKite.Fuzz.Tests;

/// <summary>
/// Several concurrent clients send valid requests, damaged requests and noise over real sockets, split anywhere; some read
/// late, some disconnect early. The server must reply, close each ended connection, and keep its invariants.
/// </summary>
public class SocketFuzzTests
{
    private const int GateRounds = 30;
    private const int ConnectionsMax = 4;
    private const int RoundsBetweenMemoryChecks = 20;
    private static readonly TimeSpan HangLimit = TimeSpan.FromSeconds(60);

    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public async Task Random_streams_leave_the_server_intact(string transport)
    {
        await using FuzzedServer server = await FuzzedServer.StartAsync(transport);
        int rounds = 0;
        await FuzzRun.RunAsync(GateRounds, async seed =>
        {
            var random = new Random(seed);
            byte[][] streams = [.. Enumerable.Range(0, random.Next(1, ConnectionsMax + 1)).Select(_ => server.Stream(random))];
            try
            {
                await Task.WhenAll(streams.Select(stream => Converse(server.Server.Port, stream, new Random(random.Next()))));
                server.AssertInvariants();
                if (++rounds % RoundsBetweenMemoryChecks == 0) server.AssertMemoryReturns();
            }
            catch (Exception failure)
            {
                throw new FuzzFailureException($"{failure.Message}\n{string.Join('\n', streams.Select(FuzzedServer.Shown))}", failure);
            }
        });
        server.AssertMemoryReturns();
    }

    private static async Task Converse(int port, byte[] stream, Random random)
    {
        bool leaves = random.Next(8) == 0;
        bool readsLate = random.Next(4) == 0;
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(IPAddress.Loopback, port);
        using var patience = new CancellationTokenSource(HangLimit);
        var received = new MemoryStream();
        bool cut = false;
        Task reading = readsLate ? Task.CompletedTask : Read();
        try
        {
            int sent = 0;
            while (sent < stream.Length)
            {
                int piece = Math.Min(stream.Length - sent, random.Next(5) == 0 ? random.Next(1, 4) : random.Next(1, 20_000));
                sent += await socket.SendAsync(stream.AsMemory(sent, piece), patience.Token);
                if (random.Next(4) == 0) await Task.Delay(random.Next(3));
            }

            if (leaves)
            {
                socket.LingerState = new LingerOption(enable: true, seconds: 0);
                socket.Close();
            }
            else
            {
                socket.Shutdown(SocketShutdown.Send);
            }
        }
        catch (SocketException)
        {
            cut = true; // the server closed: a protocol error or QUIT
        }
        catch (OperationCanceledException)
        {
            throw new FuzzFailureException("The server does not read.");
        }

        if (readsLate) reading = Read();
        await reading;
        FuzzedServer.AssertReplies(received.ToArray(), mayBeCut: cut || leaves);

        async Task Read()
        {
            byte[] buffer = new byte[64 * 1024];
            try
            {
                while (true)
                {
                    int count = await socket.ReceiveAsync(buffer, patience.Token);
                    if (count == 0) return;
                    received.Write(buffer, 0, count);
                }
            }
            catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
            {
                cut = true;
            }
            catch (OperationCanceledException)
            {
                throw new FuzzFailureException("The server does not close a connection whose client has finished.");
            }
        }
    }
}
