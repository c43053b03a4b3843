using System.Buffers;
using System.Net;
using System.Net.Sockets;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Sessions;

/// <summary>Replies of any size: they arrive whole, or the connection ends without a wrong byte.</summary>
public class LargeReplyTests : NetworkTests
{
    private const int Megabyte = 1 << 20;

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Very_large_reply_arrives_whole(string transport)
    {
        const int Keys = 70;
        int valueBytes = TestScale.Of(gate: 1, full: 16) * Megabyte; // in a long run more than a gigabyte
        await using RedKiteServer server = await StartAsync(transport);
        byte[] value = SetValue(server, "k", valueBytes);
        using Socket client = Connect(server);
        client.Send(Encoding.ASCII.GetBytes("MGET" + string.Concat(Enumerable.Repeat(" k", Keys)) + "\r\nPING\r\n"));
        using var digest = new ReplyDigest();
        Assert.Equal(1, digest.Read(client, 1));
        Assert.Equal((ExpectedBytes(Keys, valueBytes), ExpectedHash(Keys, value)), (digest.Bytes, digest.Hash));
        Assert.Equal(1, digest.Read(client, 1)); // what follows is in its place
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "its memory is released");
    }

    [Fact]
    public async Task Very_large_reply_arrives_whole_in_process_and_in_pieces()
    {
        const int Keys = 70;
        int valueBytes = TestScale.Of(gate: 1, full: 16) * Megabyte; // in a long run more than a gigabyte
        await using RedKiteServer server = await StartAsync("sockets");
        byte[] value = SetValue(server, "k", valueBytes);
        using RedKiteSession client = server.CreateSession();
        byte[] request = Encoding.ASCII.GetBytes($"*{Keys + 1}\r\n$4\r\nMGET\r\n" + string.Concat(Enumerable.Repeat("$1\r\nk\r\n", Keys)));
        var replies = new DigestWriter();
        Assert.Equal(request.Length, client.Execute(request, replies));
        Assert.Equal((ExpectedBytes(Keys, valueBytes), ExpectedHash(Keys, value)), (replies.Digest.Bytes, replies.Digest.Hash));
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "the reply is released behind its last byte");
    }

    [Fact]
    public async Task Large_reply_is_built_in_process_from_its_chunks()
    {
        await using RedKiteServer server = await StartAsync("sockets");
        using RedKiteSession client = server.CreateSession();
        byte[] value = SetValue(server, "k", 3 * Megabyte);
        for (int i = 0; i < 2000; i++) client.Execute("RPUSH", "list", new string((char)('a' + (i % 26)), 1000 + i));
        Assert.True(client.Execute("GET", "k").Bytes.Span.SequenceEqual(value));
        RedKiteReply list = client.Execute("LRANGE", "list", "0", "-1");
        Assert.Equal(2000, list.Items.Count);
        for (int i = 0; i < 2000; i++) Assert.Equal(new string((char)('a' + (i % 26)), 1000 + i), list.Items[i].Text);
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "the reply is released behind its last byte");
    }

    // As in Redis, though the sockets would take it.
    [Theory]
    [InlineData("LRANGE list 0 -1")]
    [InlineData("MULTI|SET after-multi 1|LRANGE list 0 -1|SET after-reply 1|EXEC")]
    [InlineData("EVAL \"redis.call('SET', 'after-reply', 1) return redis.call('LRANGE', 'list', 0, -1)\" 0")]
    public async Task One_reply_beyond_a_small_output_limit_ends_the_connection(string commands)
    {
        await using RedKiteServer server = await StartAsync("auto");
        for (int i = 0; i < 150; i++) server.Execute("RPUSH", "list", new string('x', 1000));
        server.Execute("CONFIG", "SET", "client-output-buffer-limit", "normal 100000 0 0");
        using Socket client = Connect(server);
        client.Send(Encoding.ASCII.GetBytes("PING\r\n" + commands.Replace("|", "\r\n", StringComparison.Ordinal) + "\r\n"));
        var received = new StringBuilder();
        var buffer = new byte[4096];
        for (int read; (read = client.Receive(buffer)) > 0;) received.Append(Encoding.ASCII.GetString(buffer, 0, read));
        string queued = commands.StartsWith("MULTI", StringComparison.Ordinal) ? "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n" : "";
        Assert.Equal("+PONG\r\n" + queued, received.ToString());
        if (commands.Contains("after-reply", StringComparison.Ordinal)) Assert.Equal("1", server.Execute("GET", "after-reply").Text);
        Assert.Equal(1, server.Execute("LLEN", "list").Integer / 150);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Reply_beyond_the_output_limit_ends_the_connection_without_a_wrong_byte(string transport)
    {
        const int LimitBytes = 64 * Megabyte;
        await using RedKiteServer server = await StartAsync(transport, ("client-output-buffer-limit", "normal 64mb 0 0"));
        SetValue(server, "k", Megabyte);
        using Socket client = Connect(server);
        client.Send(Encoding.ASCII.GetBytes("PING\r\nMGET" + string.Concat(Enumerable.Repeat(" k", 1500)) + "\r\nSET after v\r\n"));
        long bytesMax = MaxBytesUntilClosed(server);
        Assert.InRange(bytesMax, 0, LimitBytes + (4 * Megabyte));
        using var digest = new ReplyDigest();
        Assert.InRange(digest.Read(client, 2), 0, 1); // nothing of the reply that was too large
        Assert.InRange(digest.Bytes, 0, "+PONG\r\n".Length);
        Assert.True(server.Execute("GET", "after").IsNull);
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "its memory is released");
    }

    // The replies together exceed the limit many times.
    [Theory]
    [InlineData("epoll", 20, "normal 0 0 0")]
    [InlineData("epoll", 20, "normal 64mb 0 0")]
    [InlineData("sockets", 5, "normal 0 0 0")]
    [InlineData("sockets", 5, "normal 64mb 0 0")]
    public async Task Pipelined_getdel_delivers_every_value_that_it_deletes(string transport, int valueMegabytes, string limit)
    {
        int keys = TestScale.Of(gate: 30, full: 60);
        Assert.SkipUnless(transport == "sockets" || OperatingSystem.IsLinux(), "epoll is Linux's");
        await using RedKiteServer server = await StartAsync(transport, ("client-output-buffer-limit", limit));
        for (int i = 0; i < keys; i++) server.Execute("SETRANGE", $"k{i}", $"{(valueMegabytes * Megabyte) - 1}", "x");
        using Socket client = Connect(server);
        client.Send(Encoding.ASCII.GetBytes(string.Concat(Enumerable.Range(0, keys).Select(i => $"GETDEL k{i}\r\n"))));

        // Nothing is read: what the client has not taken is not deleted either, but for what is on its way.
        WaitFor(() => ServerTotalsOf(server).SuspendedClients == 1, "it is suspended");
        long left = server.Execute("DBSIZE").Integer;
        Assert.InRange(left, keys - 4, keys - 1);
        Assert.InRange(server.Engine.Buffers.UsedBytes, 1, (valueMegabytes + 6L) * Megabyte);

        using var digest = new ReplyDigest();
        Assert.Equal(keys, digest.Read(client, keys));
        Assert.Equal(keys * ((valueMegabytes * (long)Megabyte) + $"${valueMegabytes * Megabyte}\r\n\r\n".Length), digest.Bytes);
        Assert.Equal(0, server.Execute("DBSIZE").Integer);
        Assert.Equal(0, server.Engine.Metrics.Server.OutputBufferDisconnections);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Values_not_sent_to_a_disconnected_client_are_not_deleted(string transport)
    {
        const int Keys = 60;
        await using RedKiteServer server = await StartAsync(transport);
        for (int i = 0; i < Keys; i++) server.Execute("SETRANGE", $"k{i}", $"{(4 * Megabyte) - 1}", "x");
        using (Socket client = Connect(server))
        {
            client.Send(Encoding.ASCII.GetBytes(string.Concat(Enumerable.Range(0, Keys).Select(i => $"GETDEL k{i}\r\n"))));
            using var digest = new ReplyDigest();
            Assert.Equal(10, digest.Read(client, 10));
            client.LingerState = new LingerOption(enable: true, seconds: 0);
        }

        WaitFor(() => server.Engine.Clients.Count == 0, "it is gone");
        Assert.InRange(server.Execute("DBSIZE").Integer, Keys - 10 - 5, Keys - 10);
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "its memory is released");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Blocked_client_gets_a_large_reply_whole(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection waiting = RespConnection.Connect(server.Port);
        using RespConnection writer = RespConnection.Connect(server.Port);
        string value = new('v', 5 * Megabyte);
        waiting.SendCommand("BLPOP list 0");
        waiting.SendCommand("PING");
        WaitFor(() => server.Engine.Blocked.Count == 1, "it waits");
        writer.Run($"RPUSH list {value}").IsInteger(1);
        waiting.Read().IsArray("list", value);
        waiting.Read().IsSimple("PONG");
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "the reply is released behind its last byte");
    }

    [Fact]
    public async Task Suppressed_replies_are_dropped_at_any_size()
    {
        await using RedKiteServer server = await StartAsync("sockets");
        SetValue(server, "k", 8 * Megabyte);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send("CLIENT REPLY SKIP\r\nGET k\r\nPING one\r\nCLIENT REPLY OFF\r\nGET k\r\nGET k\r\nCLIENT REPLY ON\r\nPING two\r\n");
        client.Read().IsBulk("one");
        client.Read().IsOk();
        client.Read().IsBulk("two");
        WaitFor(() => server.Engine.Buffers.UsedBytes == 0, "the reply is released behind its last byte");
    }

    private static Metrics.ServerTotals ServerTotalsOf(RedKiteServer server) => Metrics.ServerTotals.Of(server.Engine.Metrics);

    private static Socket Connect(RedKiteServer server)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveTimeout = PatienceMs, SendTimeout = PatienceMs };
        socket.Connect(IPAddress.Loopback, server.Port);
        return socket;
    }

    private static byte[] SetValue(RedKiteServer server, string key, int bytes)
    {
        byte[] value = new byte[bytes];
        new Random(bytes).NextBytes(value);
        using RedKiteSession client = server.CreateSession();
        client.Execute(Encoding.ASCII.GetBytes("SET"), Encoding.ASCII.GetBytes(key), value);
        return value;
    }

    private static long ExpectedBytes(int count, int valueBytes) => $"*{count}\r\n".Length + (count * (long)($"${valueBytes}\r\n\r\n".Length + valueBytes));

    private static string ExpectedHash(int count, byte[] value)
    {
        using var digest = new ReplyDigest();
        digest.Add(Encoding.ASCII.GetBytes($"*{count}\r\n"));
        for (int i = 0; i < count; i++)
        {
            digest.Add(Encoding.ASCII.GetBytes($"${value.Length}\r\n"));
            digest.Add(value);
            digest.Add("\r\n"u8);
        }

        return digest.Hash;
    }

    // What an embedding program may do with replies that it does not want in memory.
    private sealed class DigestWriter : IBufferWriter<byte>
    {
        private byte[] _buffer = new byte[4096];

        internal ReplyDigest Digest { get; } = new();

        public void Advance(int count) => Digest.Add(_buffer.AsSpan(0, count));

        public Memory<byte> GetMemory(int sizeHint = 0)
        {
            if (_buffer.Length < sizeHint) _buffer = new byte[sizeHint];
            return _buffer;
        }

        public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;
    }
}
