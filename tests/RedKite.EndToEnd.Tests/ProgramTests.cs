using System.Globalization;
using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>The program from an operator's view: start, startup errors, signals, files and sockets.</summary>
public sealed class ProgramTests
{
    private const int ExitTimeoutMs = 60_000;

    public static TheoryData<string> Transports => RunningServers.Transports;

    [Theory]
    [MemberData(nameof(Transports))]
    public void Startup_log_has_version_port_and_readiness(string transport)
    {
        using ServerProcess server = Start(transport);
        Assert.True(server.WaitForOutput("Ready to accept connections", ExitTimeoutMs), string.Join('\n', server.Output));
        string output = string.Join('\n', server.Output);
        Assert.Contains(server.Port.ToString(CultureInfo.InvariantCulture), output, StringComparison.Ordinal);
        if (ServerProgram.UnderTest.IsRedKite) Assert.Contains("RedKite", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Dashboard_is_2000_above_the_data_port_and_on_loopback_only()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no dashboard");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        int port = server.Port + 2000;
        Assert.True(server.WaitForOutput($"Dashboard on http://127.0.0.1:{port}/", ExitTimeoutMs), string.Join('\n', server.Output));
        using var http = new HttpClient();
        Assert.Equal("ok\n", await http.GetStringAsync(new Uri($"http://127.0.0.1:{port}/healthz"), TestContext.Current.CancellationToken));
        IPAddress[] listening = [.. IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpListeners().Where(listener => listener.Port == port).Select(listener => listener.Address)];
        Assert.NotEmpty(listening);
        Assert.All(listening, address => Assert.True(IPAddress.IsLoopback(address), address.ToString()));
    }

    [Theory]
    [InlineData("--nosuch-option", "1")]
    [InlineData("--port", "abc")]
    [InlineData("--port", "70000")]
    [InlineData("--maxmemory", "lots")]
    [InlineData("--maxmemory", "20mb")]
    [InlineData("--maxmemory-policy", "nosuch")]
    [InlineData("--databases", "0")]
    [InlineData("--transport", "carrier-pigeon")]
    [InlineData("--preload-file", "x")]
    [InlineData("--logfile", "/nosuch/folder/server.log")]
    public void Invalid_option_is_one_line_of_error_that_names_it(string option, string value)
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis says it in several lines");
        using ServerProcess server = ServerProcess.StartUnchecked(ServerProgram.UnderTest, LoopbackPort.Next(), option, value);
        Assert.Equal(1, server.WaitForExit(ExitTimeoutMs));
        string line = Assert.Single(server.Output);
        Assert.Contains(option.TrimStart('-'), line, StringComparison.Ordinal);
    }

    [Fact]
    public void Settings_without_effect_are_one_warning_each()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis gives these settings an effect");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--io-threads", "4", "--appendonly", "no");
        Assert.True(server.WaitForOutput("Ready to accept connections", ExitTimeoutMs), string.Join('\n', server.Output));
        Assert.Single(server.Output, line => line.Contains("arguments: io-threads '4': no effect: every event loop reads, executes and writes", StringComparison.Ordinal));
        Assert.DoesNotContain(server.Output, line => line.Contains("appendonly", StringComparison.Ordinal));
    }

    [Fact]
    public void Missing_configuration_file_is_one_line_of_error()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis takes the file as the first argument alone");
        ServerProgram program = ServerProgram.UnderTest with { CommandLine = ServerProgram.UnderTest.CommandLine.Replace("--port", "nosuchfile.conf --port", StringComparison.Ordinal) };
        using ServerProcess server = ServerProcess.StartUnchecked(program, LoopbackPort.Next());
        Assert.Equal(1, server.WaitForExit(ExitTimeoutMs));
        Assert.Contains("nosuchfile.conf", Assert.Single(server.Output), StringComparison.Ordinal);
    }

    [Fact]
    public void Unix_socket_with_too_long_a_path_is_one_line_of_error()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "the line is RedKite's");
        string path = "/tmp/" + new string('x', 150);
        using ServerProcess server = ServerProcess.StartUnchecked(ServerProgram.UnderTest, LoopbackPort.Next(), "--unixsocket", path);
        Assert.Equal(1, server.WaitForExit(ExitTimeoutMs));
        Assert.Equal($"cannot listen on the Unix socket {path}: the path is too long", Assert.Single(server.Output));
    }

    [Fact]
    public void Port_in_use_stops_the_start()
    {
        using TcpListener taken = new(IPAddress.Any, 0);
        taken.Start();
        int port = ((IPEndPoint)taken.LocalEndpoint).Port;
        using ServerProcess server = ServerProcess.StartUnchecked(ServerProgram.UnderTest, port);
        Assert.Equal(1, server.WaitForExit(ExitTimeoutMs));
        if (!ServerProgram.UnderTest.IsRedKite) return;
        Assert.Contains(port.ToString(CultureInfo.InvariantCulture), Assert.Single(server.Output), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Sigterm_closes_connections_and_exits_with_0(string transport) => EndsWith(transport, server => server.Signal("TERM"));

    // As in Redis: the server outlives its terminal.
    [Fact]
    public void Sighup_changes_nothing()
    {
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        using RespConnection client = server.Connect();
        client.Run("SET k v").IsOk();
        server.Signal("HUP");
        Assert.Null(server.WaitForExit(500));
        client.Run("GET k").IsBulk("v");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Sigint_closes_connections_and_exits_with_0(string transport) => EndsWith(transport, server => server.Signal("INT"));

    [Theory]
    [MemberData(nameof(Transports))]
    public void Shutdown_closes_connections_without_a_reply_and_exits_with_0(string transport) => EndsWith(transport, server =>
    {
        using RespConnection connection = server.Connect();
        connection.Run("SHUTDOWN NOSAVE").IsClosed();
    });

    [Theory]
    [MemberData(nameof(Transports))]
    public void Nothing_is_executed_after_SHUTDOWN(string transport)
    {
        using ServerProcess server = Start(transport);
        using RespConnection connection = server.Connect();
        connection.Send("SHUTDOWN\r\nPING\r\n");
        connection.Read().IsClosed();
        Assert.Equal(0, server.WaitForExit(ExitTimeoutMs));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Shutdown_with_invalid_arguments_is_refused(string transport)
    {
        using ServerProcess server = Start(transport);
        using RespConnection connection = server.Connect();
        connection.Run("SHUTDOWN NOSUCH").IsError("ERR syntax error");
        connection.Run("SHUTDOWN SAVE NOSAVE").IsError("ERR syntax error");
        connection.Run("SHUTDOWN ABORT").IsError("ERR No shutdown in progress.");
        connection.Run("PING").IsSimple("PONG");
    }

    [Fact]
    public void Maxclients_respects_the_open_file_limit()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "the limit is Linux's");
        using ServerProcess server = StartWithFiles(400);
        using RespConnection connection = server.Connect();
        long fitting = long.Parse(connection.Run("CONFIG GET maxclients").Items[1].Text, CultureInfo.InvariantCulture);
        Assert.SkipWhen(fitting == 10_000, "a privileged process may raise the hard limit");
        Assert.InRange(fitting, 10, 400 - 32);
        Assert.True(server.WaitForOutput($"maxclients has been reduced to {fitting}", 60_000), string.Join('\n', server.Output));
        connection.Run($"CONFIG SET timeout 7 maxclients {fitting + 1}").IsError(
            $"ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able to handle the specified number of clients, try with {fitting}");
        connection.Run("CONFIG GET timeout").IsArray("timeout", "0");
        connection.Run("CONFIG SET maxclients 10").IsOk();
        connection.Run($"CONFIG SET maxclients {fitting}").IsOk();

        // The limit is reduced to what fits, and the server still replies and can open files.
        List<RespConnection> clients = [];
        for (int i = 1; i < fitting; i++) clients.Add(server.Connect());
        foreach (RespConnection client in clients) client.Run("PING").IsSimple("PONG");
        using (RespConnection refused = server.Connect()) refused.Read().IsError("ERR max number of clients reached");
        Assert.Contains("connected_clients", connection.Run("INFO").Text, StringComparison.Ordinal);
        foreach (RespConnection client in clients) client.Dispose();
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Unix_socket_is_served_and_removed(string transport)
    {
        using ServerProcess server = Start(transport, "--unixsocket", "{folder}/s.sock", "--unixsocketperm", "700");
        string path = Path.Combine(server.Folder, "s.sock");
        using (RespConnection connection = RespConnection.ConnectUnix(path))
        {
            connection.Run("SET k v").IsOk();
            Assert.Contains($" laddr={path}:0 ", connection.Run("CLIENT INFO").Text, StringComparison.Ordinal);
        }

        if (!OperatingSystem.IsWindows()) Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute, File.GetUnixFileMode(path));
        using (RespConnection tcp = server.Connect()) tcp.Run("GET k").IsBulk("v");
        server.Signal("TERM");
        Assert.Equal(0, server.WaitForExit(ExitTimeoutMs));
        Assert.False(File.Exists(path));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Log_file_receives_the_output(string transport)
    {
        using ServerProcess server = Start(transport, "--logfile", "{folder}/server.log");
        string path = Path.Combine(server.Folder, "server.log");

        // The server replies slightly before it logs this line.
        Assert.True(SpinWait.SpinUntil(() => File.Exists(path) && File.ReadAllText(path).Contains("Ready to accept connections", StringComparison.Ordinal), ExitTimeoutMs));
        Assert.Empty(server.Output);
        server.Signal("TERM");
        Assert.Equal(0, server.WaitForExit(ExitTimeoutMs));
        Assert.Empty(server.Output);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Full_log_file_does_not_stop_the_server(string transport)
    {
        using ServerProcess server = Start(transport, ["--logfile", "{folder}/server.log", .. ServerProgram.UnderTest.IsRedKite ? (string[])["--diagnostics", "no"] : []]); // findings about a busy machine are lines, too
        string path = Path.Combine(server.Folder, "server.log");
        Assert.True(SpinWait.SpinUntil(() => File.ReadAllText(path).Contains("Ready to accept connections", StringComparison.Ordinal), ExitTimeoutMs));

        File.Delete(path);
        Directory.CreateDirectory(path);
        RequestLine(server);
        RequestLine(server);
        using RespConnection connection = server.Connect();
        connection.Run("PING").IsSimple("PONG");

        Directory.Delete(path);
        RequestLine(server);
        connection.Run("PING").IsSimple("PONG");
        Assert.True(SpinWait.SpinUntil(() => File.Exists(path) && File.ReadAllText(path).Contains("SECURITY", StringComparison.OrdinalIgnoreCase), ExitTimeoutMs));
        if (ServerProgram.UnderTest.IsRedKite) Assert.Matches("([2-9]|[1-9][0-9]+) lines before this one could not be written", File.ReadAllText(path)); // the two requests', and any other that the server had to write

        // Requests that a web browser might be tricked into sending are logged.
        static void RequestLine(ServerProcess server)
        {
            using RespConnection browser = server.Connect();
            browser.Send("POST / HTTP/1.1\r\n");
            browser.Read().IsClosed();
        }
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Pid_file_exists_while_the_server_runs(string transport)
    {
        using ServerProcess server = Start(transport, "--pidfile", "{folder}/server.pid");
        string path = Path.Combine(server.Folder, "server.pid");
        Assert.Equal(server.Id.ToString(CultureInfo.InvariantCulture), File.ReadAllText(path).Trim());
        server.Signal("TERM");
        Assert.Equal(0, server.WaitForExit(ExitTimeoutMs));
        Assert.False(File.Exists(path));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Protected_mode_refuses_other_hosts_without_a_password(string transport)
    {
        // The machine's own non-loopback address: the server sees a remote peer, but nothing leaves the machine.
        IPAddress? own = NetworkInterface.GetAllNetworkInterfaces()
            .Where(network => network.OperationalStatus == OperationalStatus.Up)
            .SelectMany(network => network.GetIPProperties().UnicastAddresses)
            .Select(address => address.Address)
            .FirstOrDefault(address => address.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(address));
        Assert.SkipWhen(own is null, "the machine has no address but loopback");

        using ServerProcess server = Start(transport, "--bind", "0.0.0.0");
        using (RespConnection refused = RespConnection.Connect(new IPEndPoint(own!, server.Port)))
        {
            RespValue reply = refused.Read();
            Assert.True(reply.IsError, reply.ToString());
            Assert.StartsWith("DENIED ", reply.Text, StringComparison.Ordinal);
            refused.Read().IsClosed();
        }

        using RespConnection local = server.Connect();
        local.Run("CONFIG SET protected-mode no").IsOk();
        using (RespConnection accepted = RespConnection.Connect(new IPEndPoint(own!, server.Port))) accepted.Run("PING").IsSimple("PONG");
        local.Run("CONFIG SET protected-mode yes").IsOk();
        local.Run("CONFIG SET requirepass secret").IsOk();
        using RespConnection authenticated = RespConnection.Connect(new IPEndPoint(own!, server.Port));
        authenticated.Run("AUTH secret").IsOk();
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public void Idle_connection_is_closed_after_the_timeout(string transport)
    {
        using ServerProcess server = Start(transport, "--timeout", "1");
        using RespConnection idle = server.Connect();
        idle.Run("PING").IsSimple("PONG");
        idle.Read().IsClosed();
    }

    // The limit cannot be raised again: the shell has lowered it for a process without the privilege.
    [Theory]
    [InlineData(64)]
    [InlineData(100)]
    [InlineData(130)]
    public void Too_few_open_files_are_one_clear_line(int limit)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux() && File.Exists("/usr/bin/setpriv"), "setpriv takes the privilege away");
        var start = new System.Diagnostics.ProcessStartInfo("/usr/bin/setpriv") { RedirectStandardError = true, RedirectStandardOutput = true };
        foreach (string argument in (string[])["--bounding-set", "-sys_resource", "sh", "-c", $"ulimit -n {limit}; exec {ServerProgram.UnderTest.CommandLine.Replace("{port}", "0", StringComparison.Ordinal)}"]) start.ArgumentList.Add(argument);
        using var process = System.Diagnostics.Process.Start(start)!;
        string error = process.StandardError.ReadToEnd().TrimEnd();
        Assert.True(process.WaitForExit(60_000));
        Assert.Equal(1, process.ExitCode);
        Assert.Matches($@"^(redkite needs at least \d+|maxclients \d+ needs \d+) open files[^\n]*\(ulimit -n\) is {limit}[^\n]*$", error);
    }

    private static ServerProcess Start(string transport, params string[] options) =>
        ServerProcess.Start(ServerProgram.UnderTest, [.. ServerProgram.TransportOptions(transport), .. options]);

    private static ServerProcess StartWithFiles(int limit) => ServerProcess.Start(
        ServerProgram.UnderTest with { CommandLine = $"sh -c 'ulimit -n {limit}; exec \"$@\"' sh {ServerProgram.UnderTest.CommandLine}" });

    private static void EndsWith(string transport, Action<ServerProcess> end)
    {
        using ServerProcess server = Start(transport);
        using RespConnection idle = server.Connect();
        idle.Run("SET k v").IsOk();
        end(server);
        Assert.Equal(0, server.WaitForExit(ExitTimeoutMs));
        idle.Read().IsClosed();
        Assert.Throws<SocketException>(() => server.Connect());
    }
}
