using System.Net;
using System.Net.Sockets;

namespace RedKite.Net.Tests;

/// <summary>
/// Connections with a layer between them and the wire, at both ends: reading, writing, partial sends, pauses and the end all go
/// through it, and the handlers notice nothing.
/// </summary>
[Collection(nameof(ByteLayerTests))] // the layers are counted
public class ByteLayerTests
{
    public static TheoryData<string, int> Transports
    {
        get
        {
            var rows = new TheoryData<string, int> { { "sockets", 0 }, { "sockets", 50 } };
            if (OperatingSystem.IsLinux()) rows.Add("epoll", 0);
            if (OperatingSystem.IsLinux()) rows.Add("epoll", 50);
            return rows;
        }
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Large_echo_passes_both_layers_unchanged(string transport, int handshakeDelayMs)
    {
        long encoded = XorLayer.Encoded;
        using (EchoServer server = new(transport, new EchoHandler(), newLayer: () => new XorLayer(speaksFirst: false, handshakeDelayMs)))
        using (Peer peer = new(transport, server.Port))
        {
            byte[] sent = EchoServer.Pattern(3 << 20, seed: 1);
            peer.Send(sent);
            peer.WaitForBytes(sent.Length);
            Assert.True(sent.AsSpan().SequenceEqual(peer.AllReceived.AsSpan(0, sent.Length)));
            Assert.Equal(2 * sent.Length, XorLayer.Encoded - encoded);
        }

        EchoServer.WaitFor(() => XorLayer.Alive == 0, "the layers are disposed");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Bytes_sent_before_the_handshake_wait_for_it(string transport, int handshakeDelayMs)
    {
        byte[] greeting = EchoServer.Pattern(500_000, seed: 2);
        using (EchoServer server = new(transport, new EchoHandler { Greeting = greeting }, newLayer: () => new XorLayer(speaksFirst: false, handshakeDelayMs)))
        using (Peer peer = new(transport, server.Port))
        {
            peer.WaitForBytes(greeting.Length);
            Assert.True(greeting.AsSpan().SequenceEqual(peer.AllReceived.AsSpan(0, greeting.Length)));
        }

        EchoServer.WaitFor(() => XorLayer.Alive == 0, "the layers are disposed");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Last_reply_and_end_pass_through_the_layer(string transport, int handshakeDelayMs)
    {
        byte[] greeting = EchoServer.Pattern(2 << 20, seed: 3);
        using (EchoServer server = new(transport, new EchoHandler { ObeysCommands = true, Greeting = greeting }, newLayer: () => new XorLayer(speaksFirst: false, handshakeDelayMs)))
        using (Peer peer = new(transport, server.Port))
        {
            peer.Send("byeQ and more"u8.ToArray());
            EchoServer.WaitFor(() => peer.ClosedCount == 1, "the peer is told");
            Assert.Equal(greeting.Length + 3, peer.AllReceived.Length);
            Assert.True("bye"u8.SequenceEqual(peer.AllReceived.AsSpan(greeting.Length)));
            EchoServer.WaitFor(() => server.Handler.ClosedCount == 1, "it is closed");
        }

        EchoServer.WaitFor(() => XorLayer.Alive == 0, "the layers are disposed");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Reading_stops_and_resumes_with_bytes_left_in_the_layer(string transport, int handshakeDelayMs)
    {
        using EchoServer server = new(transport, new EchoHandler { ObeysCommands = true }, newLayer: () => new XorLayer(speaksFirst: false, handshakeDelayMs));
        using Peer peer = new(transport, server.Port);
        byte[] rest = new byte[300_000];
        rest.AsSpan().Fill((byte)'r');
        peer.Send([.. "oneP"u8, .. rest]);
        peer.WaitForBytes(3);
        EchoServer.WaitFor(() => server.Handler.PausedCount == 1, "the reading stops");
        Thread.Sleep(50);
        Assert.Equal(3, peer.AllReceived.Length);
        EchoServer.RunOn(server.Loops[0], server.Handler.ResumePaused);
        peer.WaitForBytes(3 + rest.Length);
        Assert.True(rest.AsSpan().SequenceEqual(peer.AllReceived.AsSpan(3)));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Output_for_a_slow_peer_waits_before_it_is_encoded(string transport, int handshakeDelayMs)
    {
        byte[] greeting = EchoServer.Pattern(8 << 20, seed: 4);
        using (EchoServer server = new(transport, new EchoHandler { Greeting = greeting }, newLayer: () => new XorLayer(speaksFirst: false, handshakeDelayMs)))
        {
            using Socket slow = server.Connect(receiveBufferBytes: 8 * 1024);
            long encoded = XorLayer.Encoded;
            slow.Send([0x5A]);
            EchoServer.WaitFor(() => server.Handler.OutputWaitsBytesMax > 1 << 20 && XorLayer.Encoded > encoded, "the output waits");
            Thread.Sleep(100);
            Assert.InRange(XorLayer.Encoded - encoded, 1, greeting.Length - (1 << 20)); // the rest is not encoded ahead
        }

        EchoServer.WaitFor(() => XorLayer.Alive == 0, "the layers are disposed");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Output_continues_whenever_the_peer_reads_some(string transport, int handshakeDelayMs)
    {
        byte[] greeting = EchoServer.Pattern(1 << 20, seed: 5);
        using EchoServer server = new(transport, new EchoHandler { Greeting = greeting }, newLayer: () => new XorLayer(speaksFirst: false, handshakeDelayMs), wrap: static inner => new HesitantTransport(inner));
        using Peer peer = new(transport, server.Port);
        peer.WaitForBytes(greeting.Length);
        byte[] sent = EchoServer.Pattern(1 << 20, seed: 6);
        peer.Send(sent);
        peer.WaitForBytes(greeting.Length + sent.Length);
        Assert.True(peer.AllReceived.AsSpan().SequenceEqual([.. greeting, .. sent]));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Peers_that_speak_another_protocol_or_none_are_closed_or_cut(string transport, int handshakeDelayMs)
    {
        using (EchoServer server = new(transport, new EchoHandler(), newLayer: () => new XorLayer(speaksFirst: false, handshakeDelayMs)))
        {
            using (Socket plain = server.Connect())
            {
                plain.Send("PING\r\n"u8);
                Assert.Empty(EchoServer.ReadAll(plain, 10));
            }

            using (Socket broken = server.Connect())
            {
                broken.Send([0x5A, 0, 0, 1, 2, 3]); // a frame that is too long
                Assert.InRange(EchoServer.ReadAll(broken, 10).Length, 0, 1);
            }

            for (int i = 0; i < 50; i++)
            {
                using Socket silent = server.Connect();
                if (i % 2 == 0) silent.Send([0x5A]);
                silent.LingerState = new LingerOption(enable: true, seconds: 0);
            }

            EchoServer.WaitFor(() => server.Handler.ClosedCount == 52, "all are closed");
        }

        EchoServer.WaitFor(() => XorLayer.Alive == 0, "the layers are disposed");
    }

    // The other end: a loop of its own whose connection has a layer, too.
    private sealed class Peer : IConnectionHandler, IDisposable
    {
        private readonly EventLoop _loop;
        private readonly List<byte> _received = [];
        private Connection _connection = null!;
        private int _receivedCount;
        private int _closedCount;

        internal Peer(string transport, int port)
        {
            _loop = new EventLoop("peer", transport == "sockets");
            _loop.Serve(this);
            _loop.Start();
            _loop.Connect(new IPEndPoint(IPAddress.Loopback, port), state: null, new XorLayer(speaksFirst: true));
            EchoServer.WaitFor(() => _loop.ConnectionCount == 1 && Volatile.Read(ref _connection) is not null, "the peer is connected");
        }

        internal byte[] AllReceived
        {
            get
            {
                byte[] copy = [];
                EchoServer.RunOn(_loop, () => copy = [.. _received]);
                return copy;
            }
        }

        internal int ClosedCount => Volatile.Read(ref _closedCount);

        internal void Send(byte[] bytes) => EchoServer.RunOn(_loop, () => _connection.Send(bytes));

        internal void WaitForBytes(int count) => EchoServer.WaitFor(() => Volatile.Read(ref _receivedCount) >= count, $"{count} bytes");

        public void Opened(Connection connection) => Volatile.Write(ref _connection, connection);

        public int Received(Connection connection, Span<byte> input)
        {
            _received.AddRange(input);
            Volatile.Write(ref _receivedCount, _received.Count);
            return input.Length;
        }

        public long BytesExpected(Connection connection) => 0;

        public void OnOutputBuffered(Connection connection)
        {
        }

        public void OnOutputDrained(Connection connection)
        {
        }

        public void Deliver(Connection connection, Interop.SharedBuffer buffer, int start, int length) => connection.Queue(buffer, start, length);

        public void Closed(Connection connection) => Interlocked.Increment(ref _closedCount);

        public int Tick() => 10;

        public void Dispose()
        {
            _loop.Stop();
            _loop.Dispose();
            Assert.Null(_loop.Failure);
        }
    }
}
