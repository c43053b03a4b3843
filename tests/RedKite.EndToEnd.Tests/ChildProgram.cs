using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>Runs a client program to completion, or kills it at the time limit, and captures output and exit code.</summary>
internal sealed record ChildProgram(int ExitCode, string Output, string Errors)
{
    public static string ScriptFolder { get; } = Path.Combine(RepositoryRoot.Path, "tests", "RedKite.EndToEnd.Tests");

    /// <summary>Output lines without line ends.</summary>
    public string[] Lines => Output.ReplaceLineEndings("\n").TrimEnd('\n').Split('\n');

    public static async Task<ChildProgram> Run(string program, IEnumerable<string> arguments, string input = "", int timeoutMs = 150_000)
    {
        ProcessStartInfo start = new(program, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using Process process = Process.Start(start)!;
        using CancellationTokenSource time = CancellationTokenSource.CreateLinkedTokenSource(TestContext.Current.CancellationToken);
        time.CancelAfter(timeoutMs);
        try
        {
            Task<string> output = process.StandardOutput.ReadToEndAsync(time.Token);
            Task<string> errors = process.StandardError.ReadToEndAsync(time.Token);
            await process.StandardInput.WriteAsync(input.AsMemory(), time.Token);
            process.StandardInput.Close();
            await process.WaitForExitAsync(time.Token);
            return new(process.ExitCode, await output, await errors);
        }
        catch (OperationCanceledException)
        {
            process.Kill(entireProcessTree: true);
            throw new TimeoutException($"{program} {string.Join(' ', arguments)} did not end within {timeoutMs} ms.");
        }
    }

    /// <summary>Asserts exit code 0 and no error output.</summary>
    public ChildProgram Succeeded()
    {
        Assert.True(ExitCode == 0 && Errors.Length == 0, $"exit code {ExitCode}\n{Errors}\n{Output}");
        return this;
    }
}
