using System.Globalization;
using System.Net;
using System.Net.Sockets;
using RedKite.Persistence.Log;
using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>
/// A replica behind a link that is slower than the writes: the proxy passes on as many bytes as the test allows, so what happens depends on counts and not on time. The primary keeps no more
/// for it than its limit, says why it closes it, and does not begin one synchronization after the other.
/// </summary>
public class SlowLinkTests
{
    private const int LimitBytes = 1 << 20;
    private const int PieceBytes = 64 * 1024;
    private const int MostOnTheWay = 64 << 20; // what the system's buffers take of a connection that passes nothing on
    private const int SyncsWithoutPause = ReplicaService.LimitDoublingsMax + 2; // at once: with each limit, and once more with the largest

    [Fact]
    [Long]
    public async Task Primary_keeps_no_more_than_the_limit_and_stops_beginning_synchronizations()
    {
        var clock = new ManualClock(); // pauses do not pass by themselves
        await using RedKiteServer primary = await StartAsync(clock);
        await using RedKiteServer replica = await StartAsync(null);
        replica.Follower.Services.RetryAfter(1, 1);
        using var link = new AllowedLink(primary.Port);
        using RespConnection client = RespConnection.Connect(primary.Port);
        client.Run("SET key first").IsOk();
        link.Allow(long.MaxValue / 2);
        replica.Execute("REPLICAOF", "127.0.0.1", link.Port.ToString(CultureInfo.InvariantCulture));
        Wait(() => primary.Parts.Replicas.Replicas is [{ State: ReplicaState.Online }], "the replica");

        // Online, and then nothing more passes.
        link.Allow(0);
        long peak = WriteUntil(primary, client, LimitBytes, () => primary.Parts.Replicas.Counts.OverflowsInStream == 1);
        link.Cut();
        Assert.InRange(peak, LimitBytes - (4 * PieceBytes), LimitBytes + (4 * PieceBytes));

        // It comes again and again, and gets the beginning of the data each time.
        for (int sync = 1; sync <= SyncsWithoutPause; sync++)
        {
            Wait(() => primary.Parts.Replicas.Replicas is [{ State: ReplicaState.Receiving or ReplicaState.Loading }], $"synchronization {sync}");
            long limit = LimitBytes << Math.Min(sync - 1, ReplicaService.LimitDoublingsMax);
            peak = WriteUntil(primary, client, limit, () => primary.Parts.Replicas.Counts.OverflowsInSync == sync);
            link.Cut();
            Assert.InRange(peak, limit - (4 * PieceBytes), limit + (4 * PieceBytes));
        }

        // From here on it waits, however much is written.
        Wait(() => primary.Parts.Replicas.Replicas is [{ State: ReplicaState.Waiting }], "the replica to wait");
        long full = primary.Parts.Replicas.Counts.Full;
        for (int i = 0; i < 64; i++) Write(client);
        Assert.True(primary.Parts.Replicas.Replicas is [{ State: ReplicaState.Waiting }]);
        Assert.Equal((full, (long)SyncsWithoutPause), (primary.Parts.Replicas.Counts.Full, primary.Parts.Replicas.Counts.OverflowsInSync));
        Wait(() => primary.Parts.ReplicaStream.KeptBytes <= 2 * LimitBytes, "the release of what it has not read");
        lock (_lines)
        {
            Assert.Single(_lines, static line => line.Contains("bytes behind (client-output-buffer-limit replica)", StringComparison.Ordinal));
            Assert.Equal(SyncsWithoutPause, _lines.Count(static line => line.Contains("were written while it was sent the data and loaded it", StringComparison.Ordinal)));
            Assert.Contains(_lines, static line => line.Contains("begins after 2 seconds", StringComparison.Ordinal));
        }

        // The link is as fast as it should be, and the pause is over.
        link.Allow(long.MaxValue / 2);
        clock.Advance(120_000);
        Wait(() => primary.Parts.Replicas.Replicas is [{ State: ReplicaState.Online }], "the replica");
        Wait(() => replica.Parts.ReplicaStream.Offset == primary.Parts.ReplicaStream.Offset, "the stream");
        Assert.Equal(primary.Execute("DEBUG", "DIGEST").Text, replica.Execute("DEBUG", "DIGEST").Text);
        Assert.Empty(primary.Parts.Replicas.TooSlow);
    }

    // The first loop looks at the limits, and this server has one that is busy. A replica that is behind by all that a stream can keep is given up by who appends.
    [Fact]
    public async Task Stream_stays_within_its_bound_while_the_loop_that_looks_at_limits_is_busy()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("loops", "1", "repl-backlog-size", "16kb");
        using var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.BecomeOnline(primary, offset);
        ReplicationStream stream = primary.Server.Parts.ReplicaStream;
        stream.BehindBytes = LimitBytes;
        using var busy = new ManualResetEventSlim();
        primary.Server.Parts.Replicas.Replicas[0].Connection.Loop.Post(busy.Wait);
        string piece = new('x', PieceBytes);
        for (int i = 0; i < 4 * LimitBytes / PieceBytes; i++) primary.Server.Execute("SET", "key", piece).IsOk();
        Assert.InRange(stream.KeptBytes, 0, LimitBytes + (2 * LogChain.SegmentBytes));
        Assert.Equal(1, primary.Server.Parts.Replicas.Overflows);
        busy.Set();
        replica.WaitForEnd();
        primary.WaitFor(() => primary.Server.Parts.Replicas.Replicas.Count == 0, "the replica's end");
        Assert.Contains("more than is kept of the stream", primary.Log, StringComparison.Ordinal);
    }

    private readonly List<string> _lines = [];

    // The limit is looked at some ten times a second, so near it each piece waits until it was.
    private static long WriteUntil(RedKiteServer primary, RespConnection client, long limit, Func<bool> condition)
    {
        long peak = 0;
        for (long written = 0; !condition(); written += PieceBytes)
        {
            Assert.True(written < limit + MostOnTheWay, "much more was written than the limit, and the replica is not closed");
            Write(client);
            long behind = primary.Parts.Replicas.Replicas.Select(replica => replica.Position is { } position ? primary.Parts.ReplicaStream.Offset - position.Offset : 0).DefaultIfEmpty().Max();
            peak = Math.Max(peak, behind);
            int turns = primary.Engine.Clock.Ticks;
            if (behind > limit - (2 * PieceBytes)) SpinWait.SpinUntil(() => condition() || primary.Engine.Clock.Ticks > turns + 1, 60_000);
        }

        return peak;
    }

    private static void Write(RespConnection client) => client.Run($"SET key {new string('x', PieceBytes)}").IsOk();

    private static void Wait(Func<bool> condition, string what) => Assert.True(SpinWait.SpinUntil(condition, 60_000), $"timed out waiting for {what}");

    private Task<RedKiteServer> StartAsync(ManualClock? clock)
    {
        var options = new RedKiteOptions { Port = 0, Log = Note };
        if (clock is not null) options.TimeProvider = clock;
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("enable-debug-command", "yes"), ("repl-diskless-sync-delay", "0"), ("repl-rdb-channel", "no"), ("rdbcompression", "no"), ("save", ""), ("client-output-buffer-limit", $"replica {LimitBytes} 0 0"), ("repl-backlog-size", "16kb"), ("repl-timeout", "3600")]) options.Settings[name] = value;
        return RedKiteServer.StartAsync(options);
    }

    private void Note(RedKiteLogEntry entry)
    {
        lock (_lines) _lines.Add(entry.Message);
    }

    /// <summary>Passes on what a primary sends as far as it is allowed to, and everything that the replica sends.</summary>
    private sealed class AllowedLink : IDisposable
    {
        private const int BufferBytes = 16 * 1024;

        private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
        private readonly int _primary;
        private readonly object _lock = new();
        private readonly List<Socket> _sockets = [];
        private long _allowed;
        private int _cuts;

        internal AllowedLink(int primary)
        {
            _primary = primary;
            _listener.Start();
            new Thread(Accept) { IsBackground = true }.Start();
        }

        internal int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

        internal void Allow(long bytes)
        {
            lock (_lock)
            {
                _allowed = bytes;
                Monitor.PulseAll(_lock);
            }
        }

        /// <summary>Ends all connections: a replica does not notice otherwise that its primary has closed one that passes nothing on.</summary>
        internal void Cut()
        {
            lock (_lock)
            {
                _cuts++;
                foreach (Socket socket in _sockets) socket.Dispose();
                _sockets.Clear();
                Monitor.PulseAll(_lock);
            }
        }

        public void Dispose()
        {
            _listener.Stop();
            Cut();
        }

        private void Accept()
        {
            try
            {
                while (true)
                {
                    Socket replica = _listener.AcceptSocket();
                    var primary = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveBufferSize = BufferBytes, NoDelay = true };
                    replica.NoDelay = true;
                    lock (_lock) _sockets.AddRange([replica, primary]);
                    primary.Connect(new IPEndPoint(IPAddress.Loopback, _primary));
                    new Thread(() => Pass(primary, replica, BytesOfHandshake)) { IsBackground = true }.Start();
                    new Thread(() => Pass(replica, primary, long.MaxValue)) { IsBackground = true }.Start();
                }
            }
            catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
            {
                // The test ends.
            }
        }

        // What a primary replies before it sends data is passed on in any case.
        private const long BytesOfHandshake = 8192;

        private void Pass(Socket from, Socket to, long always)
        {
            byte[] buffer = new byte[BufferBytes];
            int cuts = Volatile.Read(ref _cuts);
            try
            {
                while (from.Receive(buffer) is > 0 and int received)
                {
                    if (always < received)
                    {
                        lock (_lock)
                        {
                            while (_allowed < received && cuts == _cuts) Monitor.Wait(_lock);
                            _allowed -= received;
                        }
                    }
                    else if (always != long.MaxValue)
                    {
                        always -= received;
                    }

                    to.Send(buffer.AsSpan(0, received));
                }
            }
            catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
            {
                // One side has ended.
            }

            from.Dispose();
            to.Dispose();
        }
    }
}
