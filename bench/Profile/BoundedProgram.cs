using System.Diagnostics;
using RedKite.Figures;

namespace RedKite.Profile;

/// <summary>Runs a program with a time limit; at the limit, or when this program exits, it is killed with its children.</summary>
internal static class BoundedProgram
{
    /// <returns>Its standard output.</returns>
    /// <exception cref="CannotMeasureException">It did not start, failed or exceeded the limit.</exception>
    internal static string Run(string program, IEnumerable<string> arguments, TimeSpan limit)
    {
        var start = new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true, RedirectStandardInput = true };
        using Process process = ExternalProgram.Start(start);
        void End(object? sender, EventArgs exit) => Kill(process);
        AppDomain.CurrentDomain.ProcessExit += End;
        try
        {
            process.StandardInput.Close();
            Task<string> output = process.StandardOutput.ReadToEndAsync(), errors = process.StandardError.ReadToEndAsync();
            if (!process.WaitForExit(limit))
            {
                Kill(process);
                throw new CannotMeasureException($"{Path.GetFileName(program)} did not end within {limit.TotalSeconds:F0} s");
            }

            Task.WaitAll([output, errors], limit);
            if (process.ExitCode == 0) return output.Result;
            throw new CannotMeasureException($"{Path.GetFileName(program)} exited with status {process.ExitCode}: {LastLine(errors.Result, output.Result)}");
        }
        finally
        {
            AppDomain.CurrentDomain.ProcessExit -= End;
        }
    }

    private static void Kill(Process process)
    {
        try
        {
            process.Kill(entireProcessTree: true);
        }
        catch (InvalidOperationException)
        {
            // It has already exited.
        }
    }

    // The last line of output usually states the cause of a failure.
    private static string LastLine(params string[] texts) =>
        texts.SelectMany(text => text.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries).TakeLast(1)).FirstOrDefault("");
}
