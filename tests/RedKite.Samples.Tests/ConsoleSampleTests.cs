using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Samples.Tests;

/// <summary>The samples that print what they do: they do it.</summary>
public sealed class ConsoleSampleTests
{
    [Fact]
    public async Task Jobs_are_done_once_and_taken_over()
    {
        using var folder = new TemporaryFolder();
        string[] lines = await RunAsync("JobQueue", folder.Path);
        Assert.Equal(["ann has done invoice 1", "ann fails with invoice 2"], lines[..2]);
        Assert.Equal(["done invoice 3", "done invoice 4", "done invoice 5", "done invoice 6"], lines[2..6].Select(line => line["bob has ".Length..]).Order());
        Assert.Equal(["bob takes over invoice 2", "jobs that are not done: 0"], lines[6..]);
        Assert.NotEmpty(Directory.GetFiles(folder.Path, "*.aof", SearchOption.AllDirectories));
    }

    [Fact]
    public async Task Commands_of_the_application_are_called()
    {
        Assert.Equal(
        [
            "ann has 30 points", "bob has 50 points", "cid has 40 points", "ann has 55 points",
            "members and scores of the best: ann, 55, bob, 50",
            "refused: ERR points are not taken away",
            "arguments are checked: ERR value of 'count' is not an integer or out of range",
            "one more command: Returns the best players, best first.",
        ],
        await RunAsync("CustomCommand"));
    }

    [Fact]
    public async Task Behaviors_audit_and_refuse()
    {
        Assert.Equal(
        [
            "OK", "3 apples", "NOTENANT this key belongs to another tenant",
            "audit: shop client|setname done", "audit: shop set done", "audit: shop get done", "audit: shop get refused",
        ],
        await RunAsync("Behavior"));
    }

    [Fact]
    public async Task Tests_of_the_test_double_pass()
    {
        string[] lines = await RunAsync("TestDouble", "-noLogo", "-noColor");
        Assert.Contains(lines, line => line.Contains("Total: 3, Errors: 0, Failed: 0, Skipped: 0", StringComparison.Ordinal));
    }

    private static async Task<string[]> RunAsync(string sample, params string[] arguments)
    {
        string program = Path.Combine(RepositoryRoot.Path, "artifacts", "bin", sample, "release", sample + ".dll");
        var start = new ProcessStartInfo("dotnet", [program, .. arguments]) { RedirectStandardOutput = true, RedirectStandardError = true };
        using Process process = Process.Start(start)!;
        Task<string> errors = process.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        string output = await process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await process.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.Equal((0, ""), (process.ExitCode, await errors));
        return output.Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries);
    }
}
