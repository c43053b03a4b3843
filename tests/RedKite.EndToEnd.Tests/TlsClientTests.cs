using System.Globalization;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using RedKite.TestSupport;
using StackExchange.Redis;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Clients of other makers over TLS. What each may and may not do is the same with redis-server, which takes every test as well.
/// </summary>
public sealed class TlsClientTests : IDisposable
{
    private readonly TestCertificates _certificates = new();

    public TlsClientTests()
    {
        foreach (string name in new[] { "server", "client" }) _certificates.Issue(name).Dispose();
        _certificates.Issue("expired", firstDay: -9, lastDay: -2).Dispose();
        using var others = new TestCertificates();
        others.Issue("stranger").Dispose();
        foreach (string name in new[] { "stranger.crt", "stranger.key" }) File.Copy(others.PathOf(name), _certificates.PathOf(name));
    }

    public static TheoryData<string> Servers => ["redkite", "redis"];

    public void Dispose() => _certificates.Dispose();

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Redis_cli(string name)
    {
        using ServerProcess server = Start(name, out string port, "--tls-auth-clients", "yes");
        Assert.Equal("PONG", (await Cli(port, "client", "PING")).Succeeded().Output.Trim());
        foreach (string certificate in new[] { "", "stranger", "expired" }) Assert.DoesNotContain("PONG", (await Cli(port, certificate, "PING")).Output, StringComparison.Ordinal);
        Assert.Equal("OK", (await Cli(port, "client", "CONFIG", "SET", "tls-auth-clients", "no")).Output.Trim());
        Assert.Equal("PONG", (await Cli(port, "", "PING")).Succeeded().Output.Trim());
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Python_redis(string name)
    {
        using ServerProcess server = Start(name, out string port, "--tls-auth-clients", "yes");
        string script = $"""
            import redis, ssl
            def client(**more):
                return redis.Redis(host="localhost", port={port}, ssl=True, ssl_ca_certs="{Path("authority.crt")}", **more)
            ours = dict(ssl_certfile="{Path("client.crt")}", ssl_keyfile="{Path("client.key")}")
            r = client(**ours)
            assert r.set("k", "x" * 1000000) and r.get("k") == b"x" * 1000000
            with r.pipeline() as p:
                for i in range(1000): p.incr("n")
                assert p.execute()[-1] == 1000
            try:
                client().ping()
                raise AssertionError("without a certificate")
            except redis.ConnectionError:
                pass
            except redis.ResponseError as refusal: # RedKite says why
                assert "has no certificate" in str(refusal)
            try:
                redis.Redis(host="127.0.0.2", port={port}, ssl=True, ssl_ca_certs="{Path("authority.crt")}", ssl_check_hostname=True, **ours).ping()
                raise AssertionError("with a name that is not the certificate's")
            except redis.ConnectionError:
                pass
            print("passed")
            """;
        Assert.Equal("passed", (await ChildProgram.Run(File.Exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3", ["-c", script])).Succeeded().Output.Trim());
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Node_redis(string name)
    {
        using ServerProcess server = Start(name, out string port, "--tls-auth-clients", "optional");
        string modules = System.IO.Path.Combine(ChildProgram.ScriptFolder, "node", "node_modules");
        string script = $$"""
            const { createClient } = require("{{modules}}/redis"), Redis = require("{{modules}}/ioredis"), fs = require("fs"), assert = require("assert");
            const tls = { ca: fs.readFileSync("{{Path("authority.crt")}}"), servername: "localhost" };
            (async () => {
              const a = createClient({ socket: { host: "localhost", port: {{port}}, tls: true, ...tls } });
              a.on("error", () => {});
              await a.connect();
              await a.set("k", "v");
              assert.equal(await a.get("k"), "v");
              await a.quit();
              const b = new Redis({ host: "localhost", port: {{port}}, tls: { ...tls, cert: fs.readFileSync("{{Path("client.crt")}}"), key: fs.readFileSync("{{Path("client.key")}}") } });
              assert.equal(await b.get("k"), "v");
              await b.quit();
              const c = createClient({ socket: { host: "localhost", port: {{port}}, tls: true, ca: tls.ca, servername: "elsewhere", reconnectStrategy: false } });
              c.on("error", () => {});
              await assert.rejects(c.connect(), /altnames|does not match/);
              console.log("passed");
            })().catch(failure => { console.error(failure); process.exit(1); });
            """;
        Assert.Equal("passed", (await ChildProgram.Run("node", ["-e", script])).Succeeded().Output.Trim());
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task StackExchange_redis(string name)
    {
        using ServerProcess server = Start(name, out string port, "--tls-auth-clients", "no");
        var options = new ConfigurationOptions { Ssl = true, SslHost = "localhost", AbortOnConnectFail = true };
        options.EndPoints.Add("127.0.0.1", int.Parse(port, CultureInfo.InvariantCulture));
        using X509Certificate2 authority = X509CertificateLoader.LoadCertificateFromFile(Path("authority.crt"));
        options.CertificateValidation += (_, certificate, chain, errors) =>
        {
            if (errors != SslPolicyErrors.RemoteCertificateChainErrors) return false; // the name is right, and the authority is not the machine's
            using var trusted = new X509Chain { ChainPolicy = { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck } };
            trusted.ChainPolicy.CustomTrustStore.Add(authority);
            return trusted.Build((X509Certificate2)certificate!);
        };
        using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync(options);
        IDatabase database = multiplexer.GetDatabase();
        await Task.WhenAll(Enumerable.Range(0, 1000).Select(i => database.StringSetAsync($"k{i}", i)));
        Assert.Equal(999, (int)await database.StringGetAsync("k999"));
    }

    // Old protocols, protocols and suites that the server does not offer, a new negotiation, plain text: all connections end, and
    // the server continues.
    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Openssl_and_downgrades(string name)
    {
        string[] suite = name == "redis" ? ["--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"] : ["--tls-ciphersuites", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"];
        using ServerProcess server = Start(name, out string port, ["--tls-auth-clients", "no", "--tls-protocols", "TLSv1.2", .. suite]);
        Assert.Contains("+PONG", (await OpenSsl("-tls1_2")).Output, StringComparison.Ordinal);
        foreach (string options in new[] { "-tls1_3", "-tls1_1 -cipher ALL:@SECLEVEL=0", "-tls1 -cipher ALL:@SECLEVEL=0", "-tls1_2 -cipher ECDHE-ECDSA-AES256-GCM-SHA384" })
        {
            Assert.DoesNotContain("+PONG", (await OpenSsl(options)).Output, StringComparison.Ordinal);
        }

        ChildProgram renegotiated = await ChildProgram.Run("openssl", ["s_client", "-connect", "localhost:" + port, "-CAfile", Path("authority.crt"), "-tls1_2"], "R\nPING\r\n", timeoutMs: 20_000);
        Assert.DoesNotContain("+PONG", renegotiated.Output, StringComparison.Ordinal);
        using (RespConnection plain = RespConnection.Connect(int.Parse(port, CultureInfo.InvariantCulture)))
        {
            plain.Send("PING\r\n");
            Assert.NotEqual("PONG", plain.Read().Text);
        }

        Assert.Contains("+PONG", (await OpenSsl("-tls1_2")).Output, StringComparison.Ordinal);

        // Stays open until the server has answered and closed.
        Task<ChildProgram> OpenSsl(string options) => ChildProgram.Run(
            "openssl", ["s_client", "-quiet", "-no_ign_eof", "-ign_eof", "-connect", "localhost:" + port, "-CAfile", Path("authority.crt"), .. options.Split(' ')], "PING\r\nQUIT\r\n", timeoutMs: 20_000);
    }

    // Trust that is taken away concerns new connections; those that are established stay.
    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Authority_is_replaced(string name)
    {
        using ServerProcess server = Start(name, out string port, "--tls-auth-clients", "yes");
        using var others = new TestCertificates();
        others.Issue("newcomer").Dispose();
        Assert.Equal("OK", (await Cli(port, "client", "CONFIG", "SET", "tls-ca-cert-file", others.PathOf("authority.crt"))).Output.Trim());
        Assert.DoesNotContain("PONG", (await Cli(port, "client", "PING")).Output, StringComparison.Ordinal);
        ChildProgram welcome = await ChildProgram.Run(OracleProgram.Cli, ["--tls", "-h", "localhost", "-p", port, "--cacert", Path("authority.crt"), "--cert", others.PathOf("newcomer.crt"), "--key", others.PathOf("newcomer.key"), "PING"]);
        Assert.Equal("PONG", welcome.Output.Trim());
    }

    // It is the clients that refuse it; the server serves those that do not look, and gets another one without a restart.
    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Expired_certificate_of_the_server(string name)
    {
        using ServerProcess server = Start(name, out string port, "--tls-auth-clients", "no", "--tls-cert-file", Path("expired.crt"), "--tls-key-file", Path("expired.key"));
        Assert.DoesNotContain("PONG", (await Cli(port, "", "PING")).Output, StringComparison.Ordinal);
        ChildProgram openssl = await ChildProgram.Run("openssl", ["s_client", "-verify_return_error", "-connect", "localhost:" + port, "-CAfile", Path("authority.crt")], "PING\r\n", timeoutMs: 20_000);
        Assert.Contains("certificate has expired", openssl.Output + openssl.Errors, StringComparison.Ordinal);
        Assert.DoesNotContain("+PONG", openssl.Output, StringComparison.Ordinal);
        ChildProgram careless = await ChildProgram.Run(OracleProgram.Cli, ["--tls", "--insecure", "-h", "localhost", "-p", port, "PING"]);
        Assert.Equal("PONG", careless.Output.Trim());
        ChildProgram renewed = await ChildProgram.Run(OracleProgram.Cli, ["--tls", "--insecure", "-h", "localhost", "-p", port, "CONFIG", "SET", "tls-cert-file", Path("server.crt"), "tls-key-file", Path("server.key")]);
        Assert.Equal("OK", renewed.Output.Trim());
        Assert.Equal("PONG", (await Cli(port, "", "PING")).Succeeded().Output.Trim());
    }

    [Long]
    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Handshake_at_the_plain_port(string name)
    {
        using ServerProcess server = Start(name, out _, "--tls-auth-clients", "no");
        using RespConnection other = server.Connect();
        string port = server.Port.ToString(CultureInfo.InvariantCulture);

        // What a handshake begins with reads as a command in one line: it is refused when it has a line's end, and else incomplete, so the clients may wait.
        ChildProgram cli = await ChildProgram.Run("timeout", ["3", OracleProgram.Cli, "--tls", "-h", "localhost", "-p", port, "--cacert", Path("authority.crt"), "PING"]);
        Assert.NotEqual(0, cli.ExitCode);
        Assert.DoesNotContain("PONG", cli.Output, StringComparison.Ordinal);
        ChildProgram openssl = await ChildProgram.Run("timeout", ["3", "openssl", "s_client", "-connect", "localhost:" + port], "PING\r\n");
        Assert.NotEqual(0, openssl.ExitCode);
        Assert.DoesNotContain("+PONG", openssl.Output, StringComparison.Ordinal);
        other.Run("PING").IsSimple("PONG");
    }

    [Fact]
    public async Task Debug_package()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no debug package");
        using ServerProcess server = Start("redkite", out string port, "--tls-auth-clients", "yes");
        string package = Path("package.zip");
        ChildProgram fetched = await RedKite("--tls", Path("authority.crt"), "--cert", Path("client.crt"), "--key", Path("client.key"));
        Assert.Equal((0, ""), (fetched.ExitCode, fetched.Errors));
        Assert.True(new FileInfo(package).Length > 10_000);
        Assert.Equal(1, (await RedKite("--tls", "system")).ExitCode);
        Assert.Equal(1, (await RedKite("--tls", "none")).ExitCode); // without a certificate of its own

        Task<ChildProgram> RedKite(params string[] options) => ChildProgram.Run(
            "dotnet", [System.IO.Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", RepositoryRoot.Configuration, "redkite.dll"), "debug-package", "--host", "localhost", "--port", port, "--log", "0", "--output", package, .. options]);
    }

    // A server that speaks nothing but TLS has its dashboard above that port.
    [Fact]
    public void Dashboard_without_a_port_for_plain_text()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no dashboard");
        int port = LoopbackPort.Next();
        using ServerProcess server = ServerProcess.StartUnchecked(
            ServerProgram.UnderTest, 0, "--tls-port", port.ToString(CultureInfo.InvariantCulture), "--tls-cert-file", Path("server.crt"), "--tls-key-file", Path("server.key"), "--tls-ca-cert-file", Path("authority.crt"));
        Assert.True(server.WaitForOutput($"Dashboard on http://127.0.0.1:{port + 2000}/", 60_000), string.Join('\n', server.Output));
    }

    // Redis's "no" switches off its cache of sessions, but it still issues tickets: only cases in which both servers agree are compared.
    [Theory]
    [InlineData("redkite", "yes", "-tls1_2", "Reused")]
    [InlineData("redkite", "yes", "-tls1_3", "Reused")]
    [InlineData("redkite", "no", "-tls1_2", "New")]
    [InlineData("redkite", "no", "-tls1_3", "New")]
    [InlineData("redis", "yes", "-tls1_2", "Reused")]
    [InlineData("redis", "yes", "-tls1_3", "Reused")]
    public async Task Session_is_resumed_unless_caching_is_off(string name, string caching, string protocol, string expected)
    {
        using ServerProcess server = Start(name, out string port, "--tls-auth-clients", "no", "--tls-session-caching", caching);
        string first = await Openssl("-sess_out", Path("session"));
        Assert.StartsWith("New, TLSv1.", Cipher(first), StringComparison.Ordinal);
        string second = await (File.Exists(Path("session")) ? Openssl("-sess_in", Path("session")) : Openssl()); // there may be nothing to resume
        Assert.StartsWith(expected + ", TLSv1.", Cipher(second), StringComparison.Ordinal);
        Assert.Contains("+PONG", second, StringComparison.Ordinal);

        async Task<string> Openssl(params string[] options) => (await ChildProgram.Run(
            "timeout", ["60", "openssl", "s_client", "-connect", "localhost:" + port, "-CAfile", Path("authority.crt"), protocol, "-ign_eof", .. options], "PING\r\nQUIT\r\n")).Output;

        static string Cipher(string output) => output.Split('\n').FirstOrDefault(line => line.Contains(", Cipher is ", StringComparison.Ordinal)) ?? output;
    }

    private ServerProcess Start(string name, out string port, params string[] options)
    {
        ServerProgram program = name == "redis" ? ServerProgram.Oracle : ServerProgram.UnderTest;
        int tlsPort = LoopbackPort.Next();
        port = tlsPort.ToString(CultureInfo.InvariantCulture);
        return ServerProcess.Start(
            program, ["--tls-port", port, "--tls-cert-file", Path("server.crt"), "--tls-key-file", Path("server.key"), "--tls-ca-cert-file", Path("authority.crt"), .. options]);
    }

    private string Path(string name) => _certificates.PathOf(name);

    private Task<ChildProgram> Cli(string port, string certificate, params string[] command) => ChildProgram.Run(
        OracleProgram.Cli,
        ["--tls", "-h", "localhost", "-p", port, "--cacert", Path("authority.crt"), .. certificate.Length > 0 ? new[] { "--cert", Path(certificate + ".crt"), "--key", Path(certificate + ".key") } : [], .. command]);
}
