using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using RedKite.Server.Metrics;
using RedKite.Server.Tests.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>The TLS port: handshakes, client certificates, limits, and certificates that change while the server runs.</summary>
public sealed class TlsTests : IDisposable
{
    private const int TimeoutMs = 60_000; // as for other clients in this suite, whose tests run beside these

    private readonly TestCertificates _files = new();

    public void Dispose() => _files.Dispose();

    [Theory]
    [InlineData("epoll", SslProtocols.Tls12)]
    [InlineData("epoll", SslProtocols.Tls13)]
    [InlineData("sockets", SslProtocols.Tls13)]
    public async Task Large_requests_and_replies_and_pipelines_pass(string transport, SslProtocols protocol)
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"), ("transport", transport));
        Assert.Equal(0, server.Port);
        using Client client = await Connect(server, protocols: protocol);
        Assert.Equal(protocol, client.Stream.SslProtocol);
        string value = new('v', 3_000_000);
        Assert.Equal("+OK", await client.Run("SET", "big", value));
        client.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n*1\r\n$4\r\nPING\r\n", 5)));
        for (int i = 0; i < 5; i++)
        {
            Assert.Equal("$3000000", await client.ReadLine());
            Assert.Equal(value, await client.ReadLine());
            Assert.Equal("+PONG", await client.ReadLine());
        }

        Assert.Contains("name=tls", server.Execute("INFO", "server").Text, StringComparison.Ordinal);
    }

    // A record may end where the loop's buffer does, before it, or behind it, and the next one may fit or not.
    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public async Task Records_of_every_size_pass(string transport)
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"), ("transport", transport));
        using Client client = await Connect(server);
        var random = new Random(1);
        for (int round = 0; round < 100; round++)
        {
            int requests = random.Next(1, 40);
            byte[] bytes = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Range(0, requests).Select(i =>
            {
                int length = random.Next(10, 20_000);
                return $"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${length}\r\n{new string('v', length)}\r\n";
            })));
            for (int sent = 0; sent < bytes.Length;)
            {
                int count = Math.Min(random.Next(1, 30_000), bytes.Length - sent);
                await client.Stream.WriteAsync(bytes.AsMemory(sent, count), TestContext.Current.CancellationToken);
                sent += count;
            }

            for (int i = 0; i < requests; i++) Assert.Equal("+OK", await client.ReadLine());
        }

        Assert.Null(server.Failure);
    }

    [Fact]
    public async Task Handshake_and_requests_that_arrive_byte_by_byte_are_understood()
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"));
        using Client client = await Connect(server, dribbles: true);
        Assert.Equal("+OK", await client.Run("SET", "key", "value"));
        Assert.Equal("$5", await client.Run("GET", "key"));
        Assert.Equal("value", await client.ReadLine());
    }

    [Theory]
    [InlineData("yes", "none", false)]
    [InlineData("yes", "good", true)]
    [InlineData("yes", "expired", false)]
    [InlineData("yes", "foreign", false)]
    [InlineData("optional", "none", true)]
    [InlineData("optional", "good", true)]
    [InlineData("optional", "foreign", false)]
    [InlineData("no", "none", true)]
    public async Task Certificates_of_clients_are_checked(string setting, string which, bool isAccepted)
    {
        using var others = new TestCertificates();
        using X509Certificate2? certificate = which switch
        {
            "good" => _files.Issue("client"),
            "expired" => _files.Issue("client", firstDay: -20, lastDay: -2),
            "foreign" => others.Issue("client"),
            _ => null,
        };
        await using RedKiteServer server = await Start(("tls-auth-clients", setting));
        string reply;
        try
        {
            using Client client = await Connect(server, certificate);
            reply = await client.Run("PING");
        }
        catch (Exception failure) when (failure is IOException or AuthenticationException or SocketException)
        {
            reply = "";
        }

        if (isAccepted) Assert.Equal("+PONG", reply);
        else Assert.StartsWith("-ERR the TLS client is refused: ", reply, StringComparison.Ordinal);
        Assert.True(SpinWait.SpinUntil(() => server.Tls.HandshakesFailed == (isAccepted ? 0 : 1) && server.Tls.HandshakesInProgress == 0, TimeoutMs));
    }

    [Fact]
    public async Task Certificate_is_replaced_without_dropping_clients_and_a_bad_one_is_refused()
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"));
        using Client before = await Connect(server);
        Assert.Equal("CN=server", before.Stream.RemoteCertificate!.Subject);
        _files.Issue("renewed", password: "secret word").Dispose();
        Assert.Equal("OK", server.Execute("CONFIG", "SET", "tls-cert-file", _files.PathOf("renewed.crt"), "tls-key-file", _files.PathOf("renewed.key"), "tls-key-file-pass", "secret word").Text);
        using Client after = await Connect(server);
        Assert.Equal("CN=renewed", after.Stream.RemoteCertificate!.Subject);
        Assert.Equal("+PONG", await before.Run("PING"));

        File.WriteAllText(_files.PathOf("bad.crt"), "no certificate");
        string[][] bad =
        [
            ["tls-cert-file", _files.PathOf("bad.crt")], ["tls-cert-file", _files.PathOf("missing.crt")], ["tls-key-file", _files.PathOf("server.key")], ["tls-key-file-pass", "wrong"],
            ["tls-cert-file", ""], ["tls-protocols", "SSLv3"], ["tls-protocols", "TLSv1.1"], ["tls-ciphersuites", "NO_SUCH_SUITE"], ["tls-auth-clients", "yes", "tls-ca-cert-file", ""],
        ];
        foreach (string[] words in bad)
        {
            string old = server.Execute("CONFIG", "GET", words[0]).Items[1].Text!;
            string error = server.Execute(["CONFIG", "SET", .. words]).Text!;
            Assert.StartsWith("ERR CONFIG SET failed", error, StringComparison.Ordinal);
            Assert.EndsWith("Unable to update TLS configuration. Check server logs.", error, StringComparison.Ordinal);
            Assert.Equal(old, server.Execute("CONFIG", "GET", words[0]).Items[1].Text);
        }

        using Client last = await Connect(server);
        Assert.Equal("CN=renewed", last.Stream.RemoteCertificate!.Subject);
        Assert.Equal("+PONG", await before.Run("PING"));
    }

    [Fact]
    public async Task Certificate_that_was_renewed_at_its_path_is_loaded()
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"));
        byte[] serial;
        using (Client before = await Connect(server)) serial = before.Stream.RemoteCertificate!.GetSerialNumber();
        _files.Issue("server").Dispose();
        Assert.Equal("OK", server.Execute("CONFIG", "SET", "tls-cert-file", _files.PathOf("server.crt"), "tls-key-file", _files.PathOf("server.key")).Text);
        using Client after = await Connect(server);
        Assert.NotEqual(serial, after.Stream.RemoteCertificate!.GetSerialNumber());
    }

    [Fact]
    public async Task Certificate_that_expires_soon_is_found()
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"));
        ObservedSeconds.Until(server, () => server.Diagnostics!.Findings.Current.Any(finding => finding.Rule.Name == "certificate-expires"), "10 days are left");
    }

    // TLS 1.3 lets the client send before the server has finished the handshake.
    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public async Task Large_request_right_behind_the_handshake_waits_for_it(string transport)
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"), ("transport", transport));
        string value = new('v', 2_000_000);
        for (int i = 0; i < 20; i++)
        {
            using Client client = await Connect(server);
            Assert.Equal("+OK", await client.Run("SET", "key", value));
        }
    }

    [Fact]
    public async Task Old_protocols_are_refused()
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"), ("tls-protocols", "TLSv1.3"));
        await Assert.ThrowsAnyAsync<Exception>(() => Connect(server, protocols: SslProtocols.Tls12));
        using Client client = await Connect(server);
        Assert.Equal(SslProtocols.Tls13, client.Stream.SslProtocol);
    }

    [Fact]
    public async Task Half_open_handshakes_are_limited_and_end_while_others_are_served()
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"), ("tls-handshakes-max", "300"), ("tls-handshake-timeout", "2"));
        using Client client = await Connect(server);
        List<TcpClient> halves = [];
        for (int i = 0; i < 1000; i++)
        {
            halves.Add(new TcpClient("127.0.0.1", server.TlsPort));
            if (i % 100 == 0) Assert.Equal("+PONG", await client.Run("PING"));
        }

        Assert.True(SpinWait.SpinUntil(() => server.Tls.HandshakesRefused > 0, TimeoutMs));
        Assert.InRange(server.Tls.HandshakesInProgress, 0, 300);
        Assert.True(SpinWait.SpinUntil(() => server.Tls.HandshakesInProgress == 0, TimeoutMs));
        Assert.Equal("+PONG", await client.Run("PING"));
        Assert.Contains(server.Engine.Timeline.Events, item => item.Kind == TimelineKind.HandshakeTimeout);
        using Client other = await Connect(server);
        Assert.Equal("+PONG", await other.Run("PING"));
        foreach (TcpClient half in halves) half.Dispose();
    }

    [Fact]
    public async Task Half_open_handshakes_do_not_keep_good_clients_out()
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"), ("tls-handshakes-max", "8"), ("tls-handshake-timeout", "1000"));
        List<TcpClient> halves = [.. Enumerable.Range(0, 40).Select(_ => new TcpClient("127.0.0.1", server.TlsPort))];
        NetworkTests.WaitFor(() => server.Tls.HandshakesRefused >= 32, "handshakes that were given up");
        using Client client = await Connect(server);
        Assert.Equal("+PONG", await client.Run("PING"));
        Assert.Equal(1, server.Tls.HandshakesCompleted);
        Assert.Equal(0, server.Tls.HandshakesFailed); // those that were given up are counted as refused alone
        Assert.InRange(server.Tls.HandshakesInProgress, 0, 8);
        halves.ForEach(half => half.Dispose());
    }

    [Fact]
    public async Task Damaged_records_close_their_connection_alone()
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"));
        using Client client = await Connect(server);
        var random = new Random(20261122);
        for (int i = 0; i < 200; i++)
        {
            using var tcp = new TcpClient("127.0.0.1", server.TlsPort) { SendTimeout = TimeoutMs };
            NetworkStream stream = tcp.GetStream();
            if (i % 2 == 0)
            {
                byte[] noise = new byte[random.Next(1, 40_000)];
                random.NextBytes(noise);
                if (i % 4 == 0) noise[0] = (byte)random.Next(20, 24);
                Try(() => stream.Write(noise));
                continue;
            }

            // A sound handshake, and then a record that was changed on the way.
            var wire = new DamagingStream(stream);
            await using var ssl = new SslStream(wire, leaveInnerStreamOpen: false, IsFromAuthority);
            await ssl.AuthenticateAsClientAsync("localhost");
            wire.Damages = true;
            await ssl.WriteAsync("*1\r\n$4\r\nPING\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
            int received = 0;
            try
            {
                received = await ssl.ReadAsync(new byte[16], TestContext.Current.CancellationToken);
            }
            catch (IOException)
            {
                // the alert, or the end
            }

            Assert.Equal(0, received);
        }

        Assert.Equal("+PONG", await client.Run("PING"));

        static void Try(Action write)
        {
            try
            {
                write();
            }
            catch (IOException)
            {
                // closed meanwhile
            }
        }
    }

    // The server does not wait for the end of what can be no record.
    [Theory]
    [InlineData("epoll", "*1\r\n$4\r\nPING\r\n")]
    [InlineData("epoll", "\u0018")]
    [InlineData("epoll", "\u0017\u0003\u0003\u0048\u0001")]
    [InlineData("sockets", "\u0017\u0003\u0003\u00ff\u00ff")]
    public async Task Bytes_that_are_not_a_record_end_the_connection_at_once(string transport, string bytes)
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"), ("transport", transport));
        using Client other = await Connect(server);
        using Client client = await Connect(server);
        Assert.Equal("+PONG", await client.Run("PING"));
        client.SendPlain(bytes);
        Assert.Equal("", await client.ReadLine());
        Assert.Equal("+PONG", await other.Run("PING"));
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public async Task Failed_handshake_with_much_unread_ends_its_connection(string transport)
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"), ("transport", transport), ("tls-handshake-timeout", "600"));
        byte[] bytes = new byte[1_000_000];
        ((byte[])[22, 3, 1, 0xff, 0xff]).CopyTo(bytes, 0);
        for (int i = 0; i < 20; i++)
        {
            using var tcp = new TcpClient("127.0.0.1", server.TlsPort) { SendTimeout = TimeoutMs };
            try
            {
                tcp.GetStream().Write(bytes);
            }
            catch (IOException)
            {
                // closed meanwhile
            }
        }

        Assert.True(SpinWait.SpinUntil(() => server.Engine.Clients.Count == 0, TimeoutMs), $"{server.Engine.Clients.Count} clients");
    }

    [Fact]
    public async Task Part_of_a_record_counts_as_the_clients_memory()
    {
        await using RedKiteServer server = await Start(("tls-auth-clients", "no"));
        using Client client = await Connect(server);
        string id = (await client.Run("CLIENT", "ID"))[1..];
        // The handshake's buffers are returned when its last bytes have been read.
        Assert.True(SpinWait.SpinUntil(() => Memory() <= 12_000, TimeoutMs), $"{Memory()} bytes");
        client.SendPlain("\u0017\u0003\u0003\u0040\u0000" + new string('x', 12_000));
        Assert.True(SpinWait.SpinUntil(() => Memory() > 12_000, TimeoutMs), $"{Memory()} bytes");

        long Memory() => long.Parse(server.Execute("CLIENT", "LIST", "ID", id).Text!.Split(' ').Single(field => field.StartsWith("tot-mem=", StringComparison.Ordinal))[8..], CultureInfo.InvariantCulture);
    }

    // The names that c_rehash gives to links end in .0, or a higher number where two have the same hash.
    [Theory]
    [InlineData("authority.pem", true)]
    [InlineData("0a1b2c3d.0", true)]
    [InlineData("0a1b2c3d.12", true)]
    [InlineData("authority.txt", false)]
    public async Task Authorities_are_read_from_a_folder(string name, bool isRead)
    {
        string folder = Directory.CreateDirectory(_files.PathOf("authorities")).FullName;
        File.Copy(_files.PathOf("authority.crt"), Path.Combine(folder, name));
        Func<Task<RedKiteServer>> start = () => Start(("tls-ca-cert-file", ""), ("tls-ca-cert-dir", folder));
        if (!isRead)
        {
            Assert.Contains("tls-auth-clients needs", (await Assert.ThrowsAsync<RedKiteConfigException>(start)).Message, StringComparison.Ordinal);
            return;
        }

        await using RedKiteServer server = await start();
        using X509Certificate2 certificate = _files.Issue("client");
        using Client client = await Connect(server, certificate);
        Assert.Equal("+PONG", await client.Run("PING"));
    }

    [Fact]
    public async Task Port_without_a_certificate_is_one_clear_line()
    {
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["tls-port"] = Number(LoopbackPort.Next()) } }, TestContext.Current.CancellationToken));
        Assert.Equal("TLS cannot be used: tls-port needs tls-cert-file", failure.Message);
        _files.Issue("server").Dispose();
        failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(new RedKiteOptions
        {
            Port = 0,
            Settings = { ["tls-port"] = Number(LoopbackPort.Next()), ["tls-cert-file"] = _files.PathOf("server.crt"), ["tls-key-file"] = _files.PathOf("server.key") },
        }, TestContext.Current.CancellationToken));
        Assert.Contains("tls-auth-clients needs tls-ca-cert-file", failure.Message, StringComparison.Ordinal);
    }

    // The names in it are the client's business.
    private static bool IsFromAuthority(object sender, X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors) => certificate?.Issuer.StartsWith("CN=authority ", StringComparison.Ordinal) == true;

    private static string Number(int number) => number.ToString(CultureInfo.InvariantCulture);

    private Task<RedKiteServer> Start(params (string Name, string Value)[] settings)
    {
        _files.Issue("server").Dispose();
        var options = new RedKiteOptions();
        options.Settings["port"] = "0";
        options.Settings["tls-port"] = Number(LoopbackPort.Next());
        options.Settings["tls-cert-file"] = _files.PathOf("server.crt");
        options.Settings["tls-key-file"] = _files.PathOf("server.key");
        options.Settings["tls-ca-cert-file"] = _files.PathOf("authority.crt");
        foreach ((string name, string value) in settings) options.Settings[name] = value;
        return RedKiteServer.StartAsync(options);
    }

    private static async Task<Client> Connect(RedKiteServer server, X509Certificate2? certificate = null, SslProtocols protocols = SslProtocols.None, bool dribbles = false)
    {
        var tcp = new TcpClient("127.0.0.1", server.TlsPort) { NoDelay = true };
        Stream wire = dribbles ? new DribblingStream(tcp.GetStream()) : tcp.GetStream();
        var ssl = new SslStream(wire, leaveInnerStreamOpen: false, IsFromAuthority);
        var options = new SslClientAuthenticationOptions { TargetHost = "localhost", EnabledSslProtocols = protocols };
        if (certificate is not null) options.ClientCertificates = [certificate];
        await ssl.AuthenticateAsClientAsync(options, TestContext.Current.CancellationToken).WaitAsync(TimeSpan.FromMilliseconds(TimeoutMs), TestContext.Current.CancellationToken);
        return new Client(tcp, ssl);
    }

    private sealed class Client(TcpClient tcp, SslStream stream) : IDisposable
    {
        private readonly StreamReader _reader = new(stream, Encoding.Latin1);

        internal SslStream Stream => stream;

        public void Dispose()
        {
            _reader.Dispose();
            tcp.Dispose();
        }

        internal void Send(string text) => stream.Write(Encoding.Latin1.GetBytes(text));

        // Past the encryption.
        internal void SendPlain(string bytes) => tcp.GetStream().Write(Encoding.Latin1.GetBytes(bytes));

        internal async Task<string> ReadLine() =>
            await _reader.ReadLineAsync(TestContext.Current.CancellationToken).AsTask().WaitAsync(TimeSpan.FromMilliseconds(TimeoutMs), TestContext.Current.CancellationToken) ?? "";

        internal Task<string> Run(params string[] words)
        {
            Send($"*{words.Length}\r\n{string.Concat(words.Select(word => $"${word.Length}\r\n{word}\r\n"))}");
            return ReadLine();
        }
    }

    /// <summary>Sends each byte by itself.</summary>
    private sealed class DribblingStream(NetworkStream inner) : WrappedStream(inner)
    {
        public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            for (int i = 0; i < buffer.Length; i++)
            {
                await Inner.WriteAsync(buffer.Slice(i, 1), cancellationToken);
                if (i % 16 == 0) await Task.Yield();
            }
        }

        public override void Write(ReadOnlySpan<byte> buffer)
        {
            foreach (byte one in buffer) Inner.Write([one]);
        }
    }

    /// <summary>Changes the last byte of the output.</summary>
    private sealed class DamagingStream(NetworkStream inner) : WrappedStream(inner)
    {
        internal bool Damages { get; set; }

        public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            byte[] bytes = buffer.ToArray();
            if (Damages) bytes[^1] ^= 1;
            return Inner.WriteAsync(bytes, cancellationToken);
        }

        public override void Write(ReadOnlySpan<byte> buffer) => Inner.Write(buffer);
    }

    private abstract class WrappedStream(NetworkStream inner) : Stream
    {
        public override bool CanRead => true;

        public override bool CanWrite => true;

        public override bool CanSeek => false;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => throw new NotSupportedException();
            set => throw new NotSupportedException();
        }

        protected NetworkStream Inner => inner;

        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) => inner.ReadAsync(buffer, cancellationToken);

        public override int Read(byte[] buffer, int offset, int count) => inner.Read(buffer, offset, count);

        public override void Write(byte[] buffer, int offset, int count) => Write(buffer.AsSpan(offset, count));

        public override void Flush() => inner.Flush();

        public override Task FlushAsync(CancellationToken cancellationToken) => inner.FlushAsync(cancellationToken);

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        protected override void Dispose(bool disposing)
        {
            if (disposing) inner.Dispose();
            base.Dispose(disposing);
        }
    }
}
