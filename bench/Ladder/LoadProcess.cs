using System.Diagnostics;
using RedKite.Figures;

namespace RedKite.Ladder;

/// <summary>Runs the load in its own process, so that it has its own cores and its runtime sees only those.</summary>
internal static class LoadProcess
{
    // For starting the process and ending the measurement.
    private const int GraceSeconds = 20;

    /// <exception cref="CannotMeasureException">The load failed; the message has its output.</exception>
    internal static LoadFigures Run(LoadOptions options, string? cpus)
    {
        using Process process = Process.Start(StageProcess.Pinned(["dotnet", StageProcess.LadderProgram, "load", .. options.ToArguments()], cpus))
            ?? throw new CannotMeasureException("the load did not start");
        void Kill(object? sender, EventArgs arguments) => process.Kill();
        AppDomain.CurrentDomain.ProcessExit += Kill;
        try
        {
            Task<string> output = process.StandardOutput.ReadToEndAsync();
            Task<string> errors = process.StandardError.ReadToEndAsync();
            if (!process.WaitForExit(TimeSpan.FromSeconds(options.SecondsMax + GraceSeconds)))
            {
                process.Kill();
                throw new CannotMeasureException("the load did not end");
            }

            if (process.ExitCode != 0) throw new CannotMeasureException($"the load exited with status {process.ExitCode}: {errors.Result}".TrimEnd());
            return LoadFigures.FromJson(output.Result);
        }
        finally
        {
            AppDomain.CurrentDomain.ProcessExit -= Kill;
        }
    }
}
