using System.Runtime.InteropServices;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// What a start does before its first reply, by counts: the assemblies that it loads and the methods of RedKite that are left to the JIT. Nearly all of a start's CPU is the
/// runtime's work on methods that are called for the first time (bench/Results/start.md).
/// </summary>
public sealed class StartTests
{
    // 20 rooms and below, and their common image. The dashboard, the load generator, what reads traces and what speaks to etcd are loaded when they are needed.
    private const int AssembliesMax = 21;

    // 63 to 68 until the server has ended: generic code of the base library over RedKite's types. Without the common image 129 to 148.
    private const int MethodsLeftMax = 90;

    private const int ExitTimeoutMs = 60_000;

    [Fact]
    public void First_reply_needs_few_assemblies_and_little_of_the_jit()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "another program");
        Assert.SkipUnless(OperatingSystem.IsLinux() && RuntimeInformation.OSArchitecture == Architecture.X64 && RepositoryRoot.Configuration == "release", "compiled ahead of time with the common image in Release for Linux");
        using var folder = new TemporaryFolder();
        string compiled = Path.Combine(folder.Path, "compiled");
        using ServerProcess server = ServerProcess.StartIn($"DOTNET_JitStdOutFile={compiled} DOTNET_JitDisasmSummary=1 exec {{server}} --diagnostics no --admin-port 0");
        string[] all = [.. File.ReadLines($"/proc/{server.Id}/maps").Select(static line => Path.GetFileName(line)).Where(static name => name.EndsWith(".dll", StringComparison.Ordinal)).Distinct()];
        string[] loaded = [.. all.Where(static name => name.StartsWith("redkite", StringComparison.OrdinalIgnoreCase))];
        using (RespConnection client = server.Connect()) client.SendCommand("SHUTDOWN NOSAVE");
        Assert.Equal(0, server.WaitForExit(ExitTimeoutMs));
        string[] left = [.. File.ReadLines(compiled).Where(static line => line.Contains("RedKite", StringComparison.Ordinal))];
        Assert.Contains("redkite.r2r.dll", loaded);
        Assert.True(loaded.Length <= AssembliesMax, string.Join('\n', loaded));
        Assert.DoesNotContain(all, static name => name.Contains("etcd", StringComparison.OrdinalIgnoreCase) || name.StartsWith("Grpc", StringComparison.Ordinal) || name.StartsWith("Google", StringComparison.Ordinal));
        Assert.NotEmpty(left);
        Assert.True(left.Length <= MethodsLeftMax, $"{left.Length} methods are left to the JIT:\n{string.Join('\n', left)}");
    }
}
