using System.Diagnostics;
using System.Net.Sockets;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>The program under a service manager, and what it says about itself.</summary>
public class ServiceTests
{
    private static readonly string Program = Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", "release", "redkite.dll");

    [Fact]
    public void Service_manager_learns_of_the_start_and_the_stop()
    {
        if (!OperatingSystem.IsLinux()) return;
        using var folder = new TemporaryFolder();
        string address = Path.Combine(folder.Path, "notify");
        using var manager = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified) { ReceiveTimeout = 60_000 };
        manager.Bind(new UnixDomainSocketEndPoint(address));
        int port = LoopbackPort.Next();
        using Process process = Start([("NOTIFY_SOCKET", address), ("REDKITE_PASSWORD", "secret")], "--port", $"{port}", "--admin-port", "0", "--dir", folder.Path, "--save", "");
        try
        {
            Assert.Equal("STATUS=Loading the data", Receive());
            Assert.Equal("READY=1\nSTATUS=Ready to accept connections", Receive());
            using (RespConnection client = RespConnection.Connect(port))
            {
                client.Run("PING").IsError("NOAUTH Authentication required.");
                client.Run("AUTH secret").IsSimple("OK");
            }

            using (Process.Start("kill", $"-TERM {process.Id}"))
            {
            }

            Assert.Equal("STOPPING=1\nSTATUS=Stopping", Receive());
            Assert.True(process.WaitForExit(60_000));
            Assert.Equal(0, process.ExitCode);
        }
        finally
        {
            if (!process.HasExited) process.Kill();
        }

        string Receive()
        {
            var datagram = new byte[512];
            return Encoding.UTF8.GetString(datagram, 0, manager.Receive(datagram));
        }
    }

    [Fact]
    public void Help_describes_settings_and_knows_what_is_meant()
    {
        (int status, string output, string error) = Run("--help", "maxmemory");
        Assert.Equal((0, ""), (status, error));
        Assert.StartsWith("maxmemory\n  Memory\n\n  The most memory that the server uses; then maxmemory-policy decides.\n", output, StringComparison.Ordinal);
        Assert.DoesNotContain(".md", output, StringComparison.Ordinal);
        Assert.Contains("\n  Default: 0\n  Changes: by CONFIG SET at any time", output, StringComparison.Ordinal);
        (status, output, error) = Run("--help", "--max-memroy");
        Assert.Equal((1, "", "redkite: there is no setting 'max-memroy'; did you mean maxmemory?\n"), (status, output, error));
        (status, output, _) = Run("--help");
        Assert.Equal(0, status);
        Assert.All(output.Split('\n'), line => Assert.InRange(line.Length, 0, 120));
        foreach (string section in (string[])["USAGE", "EXAMPLES", "COMMANDS", "ENVIRONMENT", "SIGNALS", "EXIT STATUS", "SETTINGS"]) Assert.Contains($"\n{section}\n", output, StringComparison.Ordinal);
    }

    [Fact]
    public void An_unknown_word_is_compared_with_the_commands()
    {
        (int status, string output, string error) = Run("improt", "127.0.0.1");
        Assert.Equal((1, ""), (status, output));
        Assert.StartsWith("redkite: there is no command or configuration file 'improt'; did you mean redkite import? The commands are bench, doctor,", error, StringComparison.Ordinal);
        (_, _, error) = Run("nonsense");
        Assert.StartsWith("redkite: there is no command or configuration file 'nonsense'. The commands are", error, StringComparison.Ordinal);
        Assert.StartsWith("can't open the configuration file", Run("nonsense.conf").Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Daemonize_without_effect_is_said_on_standard_error()
    {
        using var folder = new TemporaryFolder();
        using Process process = Start([], "--port", $"{LoopbackPort.Next()}", "--admin-port", "0", "--dir", folder.Path, "--save", "", "--daemonize", "yes", "--logfile", "server.log");
        try
        {
            Assert.StartsWith("daemonize has no effect: the process stays in the foreground", await process.StandardError.ReadLineAsync(TestContext.Current.CancellationToken), StringComparison.Ordinal);
        }
        finally
        {
            process.Kill();
            await process.WaitForExitAsync(TestContext.Current.CancellationToken);
        }
    }

    [Fact]
    public void Doctor_prints_findings_with_their_remedies()
    {
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--slowlog-log-slower-than", "-1");
        (int status, string output, string error) = Run("doctor", $"127.0.0.1:{server.Port}");
        Assert.Equal("", error);
        if (status == 0 && output.Contains("finds nothing wrong", StringComparison.Ordinal)) Assert.Equal($"127.0.0.1:{server.Port} finds nothing wrong.\n", output);
        using RespConnection client = server.Connect();
        Assert.True(SpinWait.SpinUntil(() => client.Run("INFO findings").Text.Contains("finding_slow-log-off:", StringComparison.Ordinal), 60_000), client.Run("INFO findings").Text);
        (_, output, _) = Run("doctor", $"redis://127.0.0.1:{server.Port}");
        Assert.Contains("(slow-log-off)\n", output, StringComparison.Ordinal);
        Assert.Contains("\n  Remedy: ", output, StringComparison.Ordinal);
        Assert.Equal(3, Run("doctor", $"127.0.0.1:{LoopbackPort.Next()}").Status);
        Assert.Equal(3, Run("doctor", "a", "b").Status);
    }

    [Theory]
    [InlineData("doctor", "ADDRESS")]
    [InlineData("export", "ADDRESS", "FILE")]
    [InlineData("import", "ADDRESS")]
    [InlineData("verify-replica", "ADDRESS", "ADDRESS")]
    [InlineData("debug-package", "ADDRESS", "--output", "FILE")]
    public void Tools_name_the_address_that_they_cannot_reach_as_it_was_given(params string[] command)
    {
        using var folder = new TemporaryFolder();
        string address = $"localhost:{LoopbackPort.Next()}";
        (_, string output, string error) = Run([.. command.Select(word => word switch { "ADDRESS" => address, "FILE" => folder.File("file"), _ => word })]);
        Assert.Equal(("", $"redkite {command[0]}: {address}: cannot connect: Connection refused\n"), (output, error));
    }

    [Fact]
    public void Every_fault_is_a_line_and_names_no_file_that_a_user_lacks()
    {
        (int status, string output, string error) = Run("--maxmemroy", "1gb", "--port", "nosuch", "--preload-file", "x");
        Assert.Equal((1, ""), (status, output));
        string[] lines = error.TrimEnd('\n').Split('\n');
        Assert.Equal(["arguments: maxmemroy: unknown directive; did you mean maxmemory?", "arguments: port 'nosuch': expected an integer from 0 to 65535"], lines[..2]);
        Assert.StartsWith("arguments: preload-file 'x': ", Assert.Single(lines[2..]), StringComparison.Ordinal);
        Assert.DoesNotContain(".md", error, StringComparison.Ordinal);
    }

    [Fact]
    public void Unit_is_written_as_the_dry_run_shows_it()
    {
        if (!OperatingSystem.IsLinux()) return;
        using var folder = new TemporaryFolder();
        string path = folder.File("cache.service");
        string[] options = ["--unit", path, "--program", "/opt/red kite/redkite", "--config", "/etc/100%/a.conf", "--user", "cache"];
        (int status, string output, string error) = Run(["service", "install", "--dry-run", .. options]);
        Assert.Equal((0, ""), (status, error));
        Assert.False(File.Exists(path));
        (status, string installed, error) = Run(["service", "install", .. options]);
        Assert.Equal((0, ""), (status, error));
        string unit = File.ReadAllText(path);
        Assert.StartsWith($"# {path}\n{unit}\n# Afterwards:\n", output, StringComparison.Ordinal);
        Assert.StartsWith("[Unit]\n", unit, StringComparison.Ordinal);
        Assert.Contains("\nExecStart=\"/opt/red kite/redkite\" /etc/100%%/a.conf\n", unit, StringComparison.Ordinal);
        Assert.Contains("\nUser=cache\nGroup=cache\n", unit, StringComparison.Ordinal);
        Assert.Contains("\nReadWritePaths=-/etc/100%%\n", unit, StringComparison.Ordinal);
        foreach (string left in (string[])["useradd --system --no-create-home cache", "install -d -m 750 -o cache -g cache /etc/100%", "redkite service config | install -m 640 -o cache -g cache /dev/stdin /etc/100%/a.conf", "systemctl enable --now cache"]) Assert.Contains(left, installed, StringComparison.Ordinal);

        Assert.Equal(0, Run(["service", "install", .. options]).Status); // the same again
        (status, _, error) = Run("service", "install", "--unit", path, "--program", "/opt/other");
        Assert.Equal((1, $"redkite service: '{path}' exists and is another one: remove it first, or see the new one with --dry-run\n"), (status, error));
        Assert.Equal(unit, File.ReadAllText(path));
    }

    [Fact]
    public void Service_is_refused_what_its_unit_hides_and_arguments_that_are_wrong()
    {
        if (!OperatingSystem.IsLinux()) return;
        (int status, _, string error) = Run("service", "install", "--dry-run", "--program", "/root/.dotnet/tools/redkite");
        Assert.Equal(1, status);
        Assert.StartsWith("redkite service: '/root/.dotnet/tools/redkite' is in a folder that the unit keeps from the service", error, StringComparison.Ordinal);
        foreach (string[] arguments in (string[][])[[], ["remove"], ["install", "--nosuch"], ["install", "--user"], ["install", "--user", "a b"]])
        {
            (status, _, error) = Run(["service", .. arguments]);
            Assert.Equal(2, status);
            Assert.EndsWith("; redkite service --help\n", error, StringComparison.Ordinal);
        }

        (status, string config, _) = Run("service", "config");
        Assert.Equal((0, File.ReadAllText(Path.Combine(RepositoryRoot.Path, "packaging", "redkite.conf"))), (status, config));
    }

    private static (int Status, string Output, string Error) Run(params string[] arguments)
    {
        using Process process = Start([], arguments);
        Task<string> error = process.StandardError.ReadToEndAsync();
        string output = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        return (process.ExitCode, output.ReplaceLineEndings("\n"), error.Result.ReplaceLineEndings("\n"));
    }

    private static Process Start((string Name, string Value)[] environment, params string[] arguments)
    {
        var start = new ProcessStartInfo("dotnet", [Program, .. arguments]) { RedirectStandardOutput = true, RedirectStandardError = true };
        foreach ((string name, string value) in environment) start.Environment[name] = value;
        return Process.Start(start)!;
    }
}
