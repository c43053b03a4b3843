using System.Collections.Concurrent;
using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using RedKite.TestSupport;

namespace RedKite.Fuzz.Tests;

/// <summary>
/// Clients of the TLS port whose bytes are damaged on the way, during the handshake or after it, and clients that send what only looks like
/// records. Each loses its own connection; a sound client beside them gets its replies, and no handshake stays counted.
/// </summary>
public class TlsFuzzTests
{
    private const int GateRounds = 12;
    private const int ConnectionsMax = 4;
    private const int HandshakeBytes = 1_500; // of a client, about
    private static readonly TimeSpan HangLimit = TimeSpan.FromSeconds(60);
    private static readonly TimeSpan Silence = TimeSpan.FromMilliseconds(300); // a server that waits for the rest of a record

    private int _established;
    private int _soundBytes;

    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public async Task Damaged_records_end_their_own_connection(string transport)
    {
        using var certificates = new TestCertificates();
        certificates.Issue("server").Dispose();
        ConcurrentQueue<string> unexpected = [];
        await using FuzzedServer server = await FuzzedServer.StartAsync(transport, options =>
        {
            options.Port = LoopbackPort.Next(); // with a tls-port, 0 is none
            options.Settings["tls-port"] = LoopbackPort.Next().ToString(CultureInfo.InvariantCulture);
            options.Settings["tls-cert-file"] = certificates.PathOf("server.crt");
            options.Settings["tls-key-file"] = certificates.PathOf("server.key");
            options.Settings["tls-auth-clients"] = "no";
            options.Log = entry =>
            {
                if (entry.Message.Contains("unexpected error", StringComparison.Ordinal)) unexpected.Enqueue(entry.Message);
            };
        });
        await FuzzRun.RunAsync(GateRounds, async seed =>
        {
            var random = new Random(seed);
            Task sound = Converse(server, new Random(random.Next()), isSound: true);
            await Task.WhenAll(Enumerable.Range(0, random.Next(1, ConnectionsMax + 1)).Select(_ => Converse(server, new Random(random.Next()), isSound: false)).Append(sound));
            server.AssertInvariants();
            FuzzedServer.Await(() => server.Server.Tls.HandshakesInProgress == 0, () => $"{server.Server.Tls.HandshakesInProgress} handshakes are still counted.");
            if (unexpected.TryDequeue(out string? line)) throw new FuzzFailureException(line);
        });
        server.AssertMemoryReturns();
        Assert.True(_established > 0 && _soundBytes > 0 && server.Server.Tls.HandshakesFailed > 0, $"{_established} established, {_soundBytes} bytes of sound clients, {server.Server.Tls.HandshakesFailed} failed");
    }

    private async Task Converse(FuzzedServer server, Random random, bool isSound)
    {
        using var tcp = new TcpClient { NoDelay = true };
        await tcp.ConnectAsync("127.0.0.1", server.Server.TlsPort);
        try
        {
            if (!isSound && random.Next(8) == 0) await SendRecords(tcp.GetStream(), random);
            else await Encrypt(server, tcp.GetStream(), random, isSound);
        }
        catch (Exception failure) when (!isSound && failure is not FuzzFailureException)
        {
            // The server ended the connection, or waits for bytes that were lost; SslStream has many exceptions for it.
        }
    }

    private async Task Encrypt(FuzzedServer server, NetworkStream network, Random random, bool isSound)
    {
        int soundBytes = isSound ? int.MaxValue : random.Next(2) == 0 ? random.Next(HandshakeBytes) : HandshakeBytes + random.Next(20_000);
        var wire = new HostileStream(network, random, soundBytes);
        await using var ssl = new SslStream(wire, leaveInnerStreamOpen: false, IsFromAuthority);
        using var patience = new CancellationTokenSource(isSound ? HangLimit : Silence);
        SslProtocols protocols = random.Next(3) == 0 ? SslProtocols.Tls12 : SslProtocols.None;
        await ssl.AuthenticateAsClientAsync(new SslClientAuthenticationOptions { TargetHost = "localhost", EnabledSslProtocols = protocols }, patience.Token);
        Interlocked.Increment(ref _established);
        if (!isSound) patience.CancelAfter(Silence);
        byte[] stream = server.Grammar.Stream(random, random.Next(1, 60));
        using var enough = CancellationTokenSource.CreateLinkedTokenSource(patience.Token);
        var received = new MemoryStream();
        Task reading = Read(ssl, received, toTheEnd: isSound, enough.Token);
        for (int sent = 0; sent < stream.Length;)
        {
            int piece = Math.Min(stream.Length - sent, random.Next(1, 20_000));
            await ssl.WriteAsync(stream.AsMemory(sent, piece), patience.Token);
            sent += piece;
        }

        if (!isSound && random.Next(2) == 0)
        {
            // SslStream's shutdown beside a read damages the heap of this process, so the read ends first and another one follows.
            await enough.CancelAsync();
            await reading;
            await ssl.ShutdownAsync();
            reading = Read(ssl, received, toTheEnd: false, patience.Token);
        }

        if (isSound || random.Next(3) == 0) network.Socket.Shutdown(SocketShutdown.Send);
        await reading;
        FuzzedServer.AssertReplies(received.ToArray(), mayBeCut: true);
        if (isSound) Interlocked.Add(ref _soundBytes, (int)received.Length);
    }

    private static bool IsFromAuthority(object sender, X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors) =>
        certificate?.Issuer.StartsWith("CN=authority ", StringComparison.Ordinal) == true;

    private static async Task Read(SslStream ssl, MemoryStream received, bool toTheEnd, CancellationToken enough)
    {
        byte[] buffer = new byte[32 * 1024];
        try
        {
            while (true)
            {
                int count = await ssl.ReadAsync(buffer, enough);
                if (count == 0) return;
                received.Write(buffer, 0, count);
            }
        }
        catch (OperationCanceledException) when (!toTheEnd)
        {
        }
    }

    // Plausible and implausible headers, of any type, version and length, in front of noise.
    private static async Task SendRecords(NetworkStream stream, Random random)
    {
        for (int left = random.Next(1, 6); left > 0; left--)
        {
            int length = random.Next(3) == 0 ? random.Next(65_536) : random.Next(300);
            byte[] bytes = new byte[5 + random.Next(length + 1)];
            random.NextBytes(bytes);
            if (random.Next(4) > 0) bytes[0] = (byte)random.Next(19, 25);
            if (random.Next(4) > 0) (bytes[1], bytes[2]) = (3, (byte)random.Next(5));
            (bytes[3], bytes[4]) = ((byte)(length >> 8), (byte)length);
            await stream.WriteAsync(bytes);
        }

        await Task.Delay(random.Next(50));
    }

    /// <summary>Passes bytes on in pieces, and from a position on loses, repeats, changes or adds some.</summary>
    private sealed class HostileStream(NetworkStream inner, Random random, long soundBytes) : Stream
    {
        private long _left = soundBytes;

        public override bool CanRead => true;

        public override bool CanWrite => true;

        public override bool CanSeek => false;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => throw new NotSupportedException();
            set => throw new NotSupportedException();
        }

        public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            byte[] bytes = Damaged(buffer.Span);
            for (int sent = 0; sent < bytes.Length;)
            {
                int piece = Math.Min(bytes.Length - sent, random.Next(4) == 0 ? random.Next(1, 10) : random.Next(1, 20_000));
                await inner.WriteAsync(bytes.AsMemory(sent, piece), cancellationToken);
                sent += piece;
            }
        }

        public override void Write(byte[] buffer, int offset, int count) => inner.Write(Damaged(buffer.AsSpan(offset, count)));

        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) => inner.ReadAsync(buffer, cancellationToken);

        public override int Read(byte[] buffer, int offset, int count) => inner.Read(buffer, offset, count);

        public override void Flush() => inner.Flush();

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        protected override void Dispose(bool disposing)
        {
            if (disposing) inner.Dispose();
            base.Dispose(disposing);
        }

        private byte[] Damaged(ReadOnlySpan<byte> bytes)
        {
            if (bytes.Length <= _left)
            {
                _left -= bytes.Length;
                return bytes.ToArray();
            }

            List<byte> changed = [.. bytes];
            int at = random.Next((int)_left, bytes.Length);
            _left = 0;
            switch (random.Next(5))
            {
                case 0: changed[at] ^= (byte)(1 << random.Next(8)); break;
                case 1: changed.RemoveRange(at, random.Next(changed.Count - at) + 1); break;
                case 2: changed.InsertRange(at, changed[..at]); break;
                case 3: changed.Insert(at, (byte)random.Next(256)); break;
                default: changed.InsertRange(at, "PING\r\n"u8.ToArray()); break;
            }

            return [.. changed];
        }
    }
}
