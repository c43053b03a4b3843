using System.Text.Json;
using RedKite.Figures;
using RedKite.TestSupport;

namespace RedKite.Profile.Tests;

/// <summary>Short profiles of real servers.</summary>
public class ProfileRunTests
{
    [Fact]
    [Long]
    public void Profile_writes_its_files_with_the_executor_among_the_hottest_methods()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "the profile needs Linux");
        using var folder = new TemporaryFolder();

        ProfileResult result = ProfileRun.Run(ProfileOptions.Parse(["get-p16", "--seconds", "2", "--keys", "20000", "--out", folder.Path, "--no-build"]));

        Assert.Equal(folder.Path, result.Folder);
        Assert.Contains("running and in calls", result.Summary, StringComparison.Ordinal);
        string table = File.ReadAllText(Path.Combine(folder.Path, "methods.txt"));
        // The batch-executing method is too large for the JIT to inline, so it has a row.
        Assert.Contains("RedKite.Server.Execution.CommandExecutor.ExecuteBatch", table, StringComparison.Ordinal);
        Assert.Contains("  loop-0 ", table, StringComparison.Ordinal);
        Assert.Contains("RedKite.Net.Interop.LinuxCalls.EpollWait", table[table.IndexOf("\nwaiting", StringComparison.Ordinal)..], StringComparison.Ordinal);
        Assert.True(new FileInfo(Path.Combine(folder.Path, "trace.nettrace")).Length > 10_000);
        using JsonDocument speedscope = JsonDocument.Parse(File.ReadAllText(Path.Combine(folder.Path, "speedscope.json")));
        Assert.Contains(speedscope.RootElement.GetProperty("profiles").EnumerateArray(), profile => profile.GetProperty("name").GetString()!.StartsWith("loop-0", StringComparison.Ordinal));
        Assert.False(File.Exists(Path.Combine(folder.Path, "trace.etlx")));

        // perf may be installed but not permitted; the summary says so then.
        if (PerfRecorder.Find() is null || result.Summary.Contains("no native and kernel frames", StringComparison.Ordinal)) return;
        Assert.Contains("RedKite.Server.", File.ReadAllText(Path.Combine(folder.Path, "perf-methods.txt")), StringComparison.Ordinal);
        using var collapsed = new StreamReader(Path.Combine(folder.Path, "perf.collapsed"));
        Assert.Contains(CollapsedStacks.Read(collapsed), stack => stack.Frames.Any(frame => frame.StartsWith("RedKite.Server.", StringComparison.Ordinal)));
        Assert.True(File.Exists(Path.Combine(folder.Path, "perf.data")));
    }

    [Fact]
    public void Unusable_output_folder_is_reported_before_starting()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "the profile needs Linux");
        using var folder = new TemporaryFolder();
        string file = Path.Combine(folder.Path, "file");
        File.WriteAllText(file, "");

        var failure = Assert.Throws<CannotMeasureException>(() => ProfileRun.Run(ProfileOptions.Parse(["get-p1", "--out", Path.Combine(file, "below"), "--no-build"])));
        Assert.StartsWith("the profile's folder cannot be created", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Process_without_a_diagnostics_port_is_one_line_of_error()
    {
        string file = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName());
        var failure = Assert.Throws<CannotMeasureException>(() => SamplingSession.Start(int.MaxValue, file));
        Assert.StartsWith("the server's diagnostics port does not answer", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', failure.Message);
    }

    [Fact]
    public void Slow_program_is_stopped()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "sleep is a Unix program");
        var failure = Assert.Throws<CannotMeasureException>(() => BoundedProgram.Run("sleep", ["60"], TimeSpan.FromMilliseconds(200)));
        Assert.Equal("sleep did not end within 0 s", failure.Message);
    }

    [Fact]
    public void Failing_program_is_quoted_with_its_last_line()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "sh is a Unix program");
        var failure = Assert.Throws<CannotMeasureException>(() => BoundedProgram.Run("sh", ["-c", "echo first >&2; echo last >&2; exit 3"], TimeSpan.FromSeconds(60)));
        Assert.Equal("sh exited with status 3: last", failure.Message);
    }

    private sealed class TemporaryFolder : IDisposable
    {
        internal string Path { get; } = Directory.CreateTempSubdirectory("redkite-profile-").FullName;

        public void Dispose() => Directory.Delete(Path, recursive: true);
    }
}
