using System.Diagnostics;
using System.Net.Sockets;
using RedKite.Net;
using RedKite.Net.Tls;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Loops;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>What a client sees that the TLS port refuses, by openssl s_client, and what the log says of it.</summary>
public sealed class TlsRefusalTests : IDisposable
{
    private const int TimeoutMs = 60_000;
    private const string ForServers = "1.3.6.1.5.5.7.3.1";

    private readonly TestCertificates _files = new();
    private readonly TestCertificates _others = new();
    private readonly List<string> _log = [];

    public void Dispose()
    {
        _files.Dispose();
        _others.Dispose();
    }

    [Theory]
    [InlineData("-tls1_2", "none", "it has no certificate")]
    [InlineData("-tls1_3", "none", "it has no certificate")]
    [InlineData("-tls1_2", "expired", "its certificate has expired")]
    [InlineData("-tls1_3", "expired", "its certificate has expired")]
    [InlineData("-tls1_2", "early", "its certificate is not valid yet")]
    [InlineData("-tls1_3", "early", "its certificate is not valid yet")]
    [InlineData("-tls1_2", "foreign", "no authority that is trusted here has issued its certificate")]
    [InlineData("-tls1_3", "foreign", "no authority that is trusted here has issued its certificate")]
    [InlineData("-tls1_2", "usage", "its certificate is not for clients")]
    [InlineData("-tls1_3", "usage", "its certificate is not for clients")]
    public async Task Refused_client_is_told_why_and_the_log_says_who(string protocol, string which, string reason)
    {
        await using RedKiteServer server = await Start("yes");
        string session = _files.PathOf("session");
        string[] certificate = Issue(which);

        // What it sends right behind the handshake is not executed, and does not cost it the reason. Nor is it accepted with the session that it got.
        Assert.Contains($"-ERR the TLS client is refused: {reason}", OpenSsl(server, [protocol, "-sess_out", session, .. certificate]), StringComparison.Ordinal);
        if (File.Exists(session)) Assert.DoesNotContain("PONG", OpenSsl(server, [protocol, "-sess_in", session, .. certificate]), StringComparison.Ordinal);
        Assert.Contains("+PONG", OpenSsl(server, [protocol, .. Issue("good")]), StringComparison.Ordinal);
        Assert.Equal(1, server.Tls.HandshakesCompleted);
        Assert.Equal(File.Exists(session) ? 2 : 1, server.Tls.HandshakesFailed);
        string subject = which == "none" ? "" : $", subject CN={which}";
        lock (_log) Assert.Contains(_log, line => line.StartsWith("TLS client 127.0.0.1:", StringComparison.Ordinal) && line.EndsWith($" is refused: {reason}{subject}", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("-tls1_2")]
    [InlineData("-tls1_3")]
    public async Task Optional_certificates_that_are_bad_are_refused_and_accepted_sessions_resume(string protocol)
    {
        await using RedKiteServer server = await Start("optional");
        string session = _files.PathOf("session");
        Assert.Contains("+PONG", OpenSsl(server, [protocol]), StringComparison.Ordinal);
        Assert.Contains("-ERR the TLS client is refused: its certificate has expired", OpenSsl(server, [protocol, .. Issue("expired")]), StringComparison.Ordinal);
        Assert.Contains("+PONG", OpenSsl(server, [protocol, "-sess_out", session, .. Issue("good")]), StringComparison.Ordinal);
        Assert.Contains("+PONG", OpenSsl(server, [protocol, "-sess_in", session, .. Issue("good")]), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("PING\r\n")]
    [InlineData("*1\r\n$4\r\nPING\r\n")]
    [InlineData("GET / HTTP/1.1\r\n\r\n")]
    public async Task Client_without_tls_is_named(string request)
    {
        await using RedKiteServer server = await Start("no");
        using var client = new TcpClient("127.0.0.1", server.TlsPort);
        client.Client.Send(System.Text.Encoding.ASCII.GetBytes(request));
        string address = $"127.0.0.1:{((System.Net.IPEndPoint)client.Client.LocalEndPoint!).Port}";
        Assert.True(SpinWait.SpinUntil(() => { lock (_log) return _log.Contains($"Client {address} speaks no TLS, but is connected to tls-port"); }, TimeoutMs));
        Assert.Equal(1, server.Tls.HandshakesFailed);
    }

    [Fact]
    public void Log_has_a_line_of_each_kind_in_a_second_and_counts_the_others()
    {
        long now = 1_000_000;
        var log = new TlsFailureLog(new ServerLog(new Settings { LogLevel = LogLevel.Notice }, entry => _log.Add(entry.Message)), () => now);
        PeerAddress client = PeerAddress.Unix("/client");
        var refused = new TlsFailure(client, "x") { Refusal = new TlsRefusal("it has no certificate", "") };
        for (int i = 0; i < 10; i++)
        {
            log.Note(refused);
            log.Note(new TlsFailure(client, "x") { IsPlain = true });
            log.Note(new TlsFailure(client, "x"));
        }

        Assert.Equal(["TLS client /client:0 is refused: it has no certificate", "Client /client:0 speaks no TLS, but is connected to tls-port"], _log);
        now += TlsFailureLog.IntervalMs - 1;
        log.Note(refused);
        Assert.Equal(2, _log.Count);
        now++;
        log.Note(refused);
        Assert.Equal("TLS client /client:0 is refused: it has no certificate (10 others before)", _log[^1]);
        now += TlsFailureLog.IntervalMs;
        log.Note(refused);
        Assert.Equal("TLS client /client:0 is refused: it has no certificate", _log[^1]);
    }

    private string[] Issue(string which)
    {
        if (which == "none") return [];
        TestCertificates issuer = which == "foreign" ? _others : _files;
        issuer.Issue(which, firstDay: which == "expired" ? -20 : which == "early" ? 2 : -1, lastDay: which == "expired" ? -2 : 10, purpose: which == "usage" ? ForServers : null).Dispose();
        return ["-cert", issuer.PathOf(which + ".crt"), "-key", issuer.PathOf(which + ".key")];
    }

    private Task<RedKiteServer> Start(string clients)
    {
        _files.Issue("server").Dispose();
        var options = new RedKiteOptions { Log = entry => { lock (_log) _log.Add(entry.Message); } };
        options.Settings["port"] = "0";
        options.Settings["tls-port"] = LoopbackPort.Next().ToString(System.Globalization.CultureInfo.InvariantCulture);
        options.Settings["tls-cert-file"] = _files.PathOf("server.crt");
        options.Settings["tls-key-file"] = _files.PathOf("server.key");
        options.Settings["tls-ca-cert-file"] = _files.PathOf("authority.crt");
        options.Settings["tls-auth-clients"] = clients;
        return RedKiteServer.StartAsync(options);
    }

    private string OpenSsl(RedKiteServer server, string[] arguments)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "openssl is not there");
        var start = new ProcessStartInfo("openssl", ["s_client", "-connect", $"127.0.0.1:{server.TlsPort}", "-CAfile", _files.PathOf("authority.crt"), "-ign_eof", .. arguments])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using Process process = Process.Start(start)!;
        process.ErrorDataReceived += static (_, _) => { };
        process.BeginErrorReadLine();
        try
        {
            process.StandardInput.Write("PING\r\nQUIT\r\n");
            process.StandardInput.Close();
        }
        catch (IOException)
        {
            // It has ended.
        }

        string output = process.StandardOutput.ReadToEnd();
        Assert.True(process.WaitForExit(TimeoutMs));
        return output;
    }
}
