using System.Collections.Concurrent;
using System.ComponentModel;
using System.Diagnostics;

namespace RedKite.Figures;

/// <summary>Programs that run to completion: compilers, load generators, benchmarks, git.</summary>
internal static class ExternalProgram
{
    private static readonly ConcurrentDictionary<Process, byte> Running = new();

    /// <summary>The program's full path on PATH, or null.</summary>
    internal static string? Find(string name) =>
        (Environment.GetEnvironmentVariable("PATH") ?? "").Split(':')
            .Select(folder => Path.Combine(folder, name))
            .FirstOrDefault(File.Exists);

    /// <summary>Runs a program and waits for it, optionally in a given folder.</summary>
    /// <returns>Its standard output.</returns>
    /// <exception cref="CannotMeasureException">It did not start or failed; the message has its output.</exception>
    internal static string Run(string program, IEnumerable<string> arguments, string folder = "")
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            WorkingDirectory = folder,
        };
        using Process process = Start(start);
        Running.TryAdd(process, 0);
        // Drain both streams concurrently: a full pipe would block the program.
        Task<string> errors = process.StandardError.ReadToEndAsync();
        string output = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        Running.TryRemove(process, out _);
        if (process.ExitCode != 0)
        {
            throw new CannotMeasureException($"{program} exited with status {process.ExitCode}: {output}{errors.Result}".TrimEnd());
        }

        return output;
    }

    /// <summary>Kills the programs that other threads are waiting for, with their children, when a run is interrupted.</summary>
    internal static void EndRunning()
    {
        foreach (Process process in Running.Keys)
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
    }

    /// <exception cref="CannotMeasureException">It did not start.</exception>
    internal static Process Start(ProcessStartInfo start)
    {
        try
        {
            return Process.Start(start) ?? throw new CannotMeasureException($"{start.FileName} did not start");
        }
        catch (Win32Exception notFound)
        {
            throw new CannotMeasureException($"{start.FileName} did not start: {notFound.Message}");
        }
    }
}
