using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>What docs/operations.md and packaging/ tell an operator to do, done here: but for other folders, ports and addresses.</summary>
public partial class OperationsTests
{
    private static readonly string Program = Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", "release", "redkite.dll");

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Tls_recipe_works_as_it_is_written()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "it is a recipe for Linux");
        using var folder = new TemporaryFolder();
        string[] blocks = [.. Block().Matches(File.ReadAllText(Path.Combine(RepositoryRoot.Path, "docs", "operations.md"))).Select(static match => match.Groups[1].Value)];
        string configuration = folder.File("redkite.conf");

        string create = Assert.Single(blocks, static block => block.Contains("openssl req", StringComparison.Ordinal));
        create = create.Replace("/etc/redkite/", folder.Path, StringComparison.Ordinal).Replace("-g redkite ", "", StringComparison.Ordinal);
        string certificates = Directory.CreateDirectory(folder.File("created")).FullName;
        ChildProgram created = await ChildProgram.Run("sh", ["-ec", $"cd {certificates}\n{create}"]);
        Assert.True(created.ExitCode == 0, created.Errors);

        int port = LoopbackPort.Next();
        int adminPort = LoopbackPort.Next();
        string users = Assert.Single(blocks, static block => block.Contains("user default off", StringComparison.Ordinal));
        string settings = Assert.Single(blocks, static block => block.Contains("tls-port", StringComparison.Ordinal));
        settings = settings.Replace("/etc/redkite", folder.Path, StringComparison.Ordinal).Replace("tls-port 6379", $"tls-port {port}", StringComparison.Ordinal).Replace("10.0.0.5 ", "", StringComparison.Ordinal);
        await File.WriteAllTextAsync(configuration, $"{Unindented(users)}\n{Unindented(settings)}\nadmin-port {adminPort}\nsave \"\"\n", Cancellation);
        using ServerProcess server = ServerProcess.StartUnchecked(new ServerProgram("recipe", $"dotnet {Program} {configuration}", IsRedKite: true), port);

        string client = Assert.Single(blocks, static block => block.Contains("redis-cli --tls", StringComparison.Ordinal)).Trim();
        client = client.Replace("-p 6379", $"-p {port}", StringComparison.Ordinal).Replace("cache.example.org", "127.0.0.1", StringComparison.Ordinal).Replace(" --askpass", "", StringComparison.Ordinal);
        ChildProgram reply;
        do
        {
            Assert.False(server.HasExited, string.Join('\n', server.Output));
            reply = await ChildProgram.Run("sh", ["-c", $"cd {certificates} && REDISCLI_AUTH=another-one {client}"]);
        }
        while (reply.Errors.Contains("Connection refused", StringComparison.Ordinal));

        Assert.Equal("PONG", reply.Output.Trim());
        using X509Certificate2 certificate = X509CertificateLoader.LoadCertificateFromFile(Path.Combine(certificates, "server.crt"));
        foreach (int tlsPort in (int[])[port, adminPort]) await AssertCertificateAsync(tlsPort, certificate);
    }

    [Fact]
    public async Task Units_are_understood_by_systemd()
    {
        Assert.SkipUnless(File.Exists("/usr/bin/systemd-analyze"), "there is no systemd-analyze");
        using var folder = new TemporaryFolder();
        string path = folder.File("redkite.service");
        (await ChildProgram.Run("dotnet", [Program, "service", "install", "--unit", path, "--program", "/bin/true"])).Succeeded(); // a program that exists
        ChildProgram verified = await ChildProgram.Run("systemd-analyze", ["verify", "--man=no", "--recursive-errors=no", path]);
        Assert.Equal((0, "", ""), (verified.ExitCode, verified.Output, verified.Errors));

        // Directives that are not understood are no error to it, so each is known to be one by its effect: the exposure is "OK" (below 4.0 of 10).
        ChildProgram security = await ChildProgram.Run("systemd-analyze", ["security", "--offline=yes", "--threshold=40", "--no-pager", path]);
        Assert.True(security.ExitCode == 0, security.Output);
    }

    [Fact]
    public void Packaged_configuration_starts_a_server()
    {
        using var folder = new TemporaryFolder();
        string path = folder.File("redkite.conf");
        File.WriteAllText(path, File.ReadAllText(Path.Combine(RepositoryRoot.Path, "packaging", "redkite.conf")).Replace("/var/lib/redkite", folder.Path, StringComparison.Ordinal));
        using ServerProcess server = ServerProcess.Start(new ServerProgram("packaged", $"dotnet {Program} {path} --port {{port}} --admin-port 0", IsRedKite: true));
        using RespConnection client = server.Connect();
        client.Run("CONFIG GET appendonly").IsArray("appendonly", "yes");
        client.Run("CONFIG GET dir").IsArray("dir", folder.Path);
    }

    // It cannot be run here: its lines name what exists.
    [Fact]
    public void Dockerfile_names_what_there_is()
    {
        string[] lines = File.ReadAllLines(Path.Combine(RepositoryRoot.Path, "packaging", "Dockerfile"));
        string entry = Assert.Single(lines, static line => line.StartsWith("ENTRYPOINT", StringComparison.Ordinal));
        string copy = Assert.Single(lines, static line => line.StartsWith("COPY", StringComparison.Ordinal));
        Assert.Equal(("""ENTRYPOINT ["redkite"]""", "COPY redkite /usr/local/bin/redkite"), (entry, copy));
        Assert.Contains("<AssemblyName>redkite</AssemblyName>", File.ReadAllText(Path.Combine(RepositoryRoot.Path, "src", "RedKite.Host", "Program.props")), StringComparison.Ordinal);
        Assert.Contains("artifacts/program/$platform", File.ReadAllText(Path.Combine(RepositoryRoot.Path, "dev")), StringComparison.Ordinal); // the context that its first lines name
        Assert.Contains(lines, static line => line.Contains("docker build -f packaging/Dockerfile -t redkite artifacts/program/linux-x64", StringComparison.Ordinal));

        // Every instruction is one of Docker's, and the program takes the arguments of CMD.
        string[] known = ["FROM", "RUN", "COPY", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"];
        Assert.All(lines.Where(static line => line.Length > 0 && line[0] is not ('#' or ' ')), line => Assert.Contains(line.Split(' ')[0], known));
        string[] command = System.Text.Json.JsonSerializer.Deserialize<string[]>(Assert.Single(lines, static line => line.StartsWith("CMD ", StringComparison.Ordinal))[4..])!;
        using var folder = new TemporaryFolder();
        string arguments = string.Join(' ', command.Select(argument => argument == "/data" ? folder.Path : argument == "*" ? "127.0.0.1" : argument));
        using ServerProcess server = ServerProcess.Start(new ServerProgram("image", $"dotnet {Program} {arguments} --port {{port}} --admin-port 0", IsRedKite: true));
        using RespConnection client = server.Connect();
        client.Run("CONFIG GET appendonly").IsArray("appendonly", "yes");
    }

    // The dashboard listens a little later than the server.
    private static async Task<TcpClient> ConnectAsync(int port)
    {
        while (true)
        {
            var connection = new TcpClient();
            try
            {
                await connection.ConnectAsync("127.0.0.1", port, Cancellation);
                return connection;
            }
            catch (SocketException refused) when (refused.SocketErrorCode == SocketError.ConnectionRefused)
            {
                connection.Dispose();
                await Task.Delay(20, Cancellation);
            }
        }
    }

    // The name that clients ask for is one of the certificate's.
    private static async Task AssertCertificateAsync(int port, X509Certificate2 certificate)
    {
        using TcpClient connection = await ConnectAsync(port);
        await using var stream = new SslStream(connection.GetStream());
        var trust = new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck, CustomTrustStore = { certificate } };
        await stream.AuthenticateAsClientAsync(new SslClientAuthenticationOptions { TargetHost = "cache.example.org", CertificateChainPolicy = trust }, Cancellation);
        Assert.True(stream.IsAuthenticated);
    }

    private static string Unindented(string block) => string.Join('\n', block.Split('\n').Select(static line => line.Trim()));

    [GeneratedRegex(@"^ *```\w*\n(.*?)^ *```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex Block();
}
