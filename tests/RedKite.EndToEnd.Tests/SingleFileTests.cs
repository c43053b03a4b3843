using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>The program as a single file: what it weighs, and what a start of it costs, counted and not timed.</summary>
public sealed class SingleFileTests : IDisposable
{
    // 39.6 million: 0.4 of them are the one image of RedKite's assemblies, which makes a start quicker, 0.6 what speaks to etcd, 1.0 documents, sketches and time series.
    private const long BytesMax = 40_000_000;

    // What is compiled before the first reply, because it could not be ahead of time: 0.1 to 0.2 ms each.
    private const int CompiledMethodsMax = 300;
    private const int Starts = 3;
    private const int PublishMinutes = 10;

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    [Long]
    public async Task Single_file_is_small_and_compiles_little_before_its_first_reply()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux() && RepositoryRoot.Configuration == "release", "the figures are those of Linux, ahead-of-time compiled");
        string platform = System.Runtime.InteropServices.RuntimeInformation.RuntimeIdentifier;
        ChildProgram published = await ChildProgram.Run(
            "dotnet",
            ["publish", Path.Combine(RepositoryRoot.Path, "src", "RedKite.Host"), "-c", "Release", "-r", platform, "-p:PublishSingleFile=true", "-p:PublishReadyToRun=true", "-o", _folder.Path, "-v", "quiet", "-nodeReuse:false"],
            timeoutMs: PublishMinutes * 60_000);
        Assert.True(published.ExitCode == 0, published.Output + published.Errors);
        string program = Path.Combine(_folder.Path, "redkite");
        Assert.InRange(new FileInfo(program).Length, 1, BytesMax);

        // What other threads do meanwhile varies: the fewest are what the first client waited for.
        int fewest = Enumerable.Range(0, Starts).Min(start => CompiledBeforeFirstReply(program, Path.Combine(_folder.Path, $"compiled-{start}.txt")));
        Assert.InRange(fewest, 1, CompiledMethodsMax);
    }

    private static int CompiledBeforeFirstReply(string program, string list)
    {
        using ServerProcess server = ServerProcess.Start(new ServerProgram("single", $"env DOTNET_JitStdOutFile={list} DOTNET_JitDisasmSummary=1 {program} --port {{port}} --admin-port 0", IsRedKite: true));
        using RespConnection connection = RespConnection.Connect(server.Port);
        connection.Run("PING").IsSimple("PONG");
        using var compiled = new StreamReader(new FileStream(list, FileMode.Open, FileAccess.Read, FileShare.ReadWrite));
        return compiled.ReadToEnd().Count(character => character == '\n');
    }
}
