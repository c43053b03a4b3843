using System.Diagnostics;

namespace RedKite.Figures;

/// <summary>Programs that are run to their end: compilers and load generators.</summary>
internal static class ExternalProgram
{
    /// <summary>The program's full path on PATH, or null.</summary>
    internal static string? Find(string name) =>
        (Environment.GetEnvironmentVariable("PATH") ?? "").Split(':')
            .Select(folder => Path.Combine(folder, name))
            .FirstOrDefault(File.Exists);

    /// <summary>Runs a program and waits for it.</summary>
    /// <exception cref="CannotMeasureException">It could not be started or failed; the message holds what it said.</exception>
    internal static void Run(string program, IEnumerable<string> arguments)
    {
        var start = new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
        using Process process = Process.Start(start) ?? throw new CannotMeasureException($"{program} did not start");
        // Both streams are drained at once: a full pipe would stop the program.
        Task<string> errors = process.StandardError.ReadToEndAsync();
        string output = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        if (process.ExitCode != 0)
        {
            throw new CannotMeasureException($"{program} ended with status {process.ExitCode}: {output}{errors.Result}".TrimEnd());
        }
    }
}
