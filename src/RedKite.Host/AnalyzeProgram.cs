using System.Globalization;
using System.Net;
using System.Runtime.InteropServices;
using RedKite.Dashboard;
using RedKite.Persistence.Files;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Diagnostics;

namespace RedKite.Host;

/// <summary><c>redkite analyze</c>: evaluates the rules on a debug package. The exit status is for scripts.</summary>
internal static class AnalyzeProgram
{
    private const int Healthy = 0;
    private const int Warnings = 1;
    private const int Critical = 2;
    private const int Unusable = 3;

    private const string Usage = """
        Usage: redkite analyze PACKAGE [--stacks] [--speedscope FILE] [--serve [PORT]]

        Prints a verdict on the server of a debug package, and its findings with evidence and remedy.
        With --stacks it prints what every thread was doing; with --speedscope it writes the trace, or the stacks where
        none was taken, for https://www.speedscope.app.
        With --serve it serves the dashboard for the package on loopback until Ctrl+C, on PORT or a free port.

        Exit status: 0 healthy (notices at most), 1 warnings, 2 critical findings, 3 the file cannot be used.
        """;

    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            output.WriteLine(Usage);
            return Healthy;
        }

        if (Options.Parse(arguments) is not { } options)
        {
            errors.WriteLine("redkite analyze: expected one file; see --help");
            return Unusable;
        }

        string path = options.Path;
        try
        {
            using FileStream file = File.OpenRead(path);
            PackageReader package = PackageReader.Open(file);
            PackageVerdict verdict = PackageVerdict.Of(package);
            verdict.Write(output, package);
            if (options.PrintsStacks) PackageStacks.WriteText(package, output);
            if (options.Speedscope is { } target) PackageStacks.WriteSpeedscope(package, target);
            if (options.Port is { } port) Serve(package, port, output);
            return verdict.Worst switch
            {
                FindingSeverity.Critical => Critical,
                FindingSeverity.Warning => Warnings,
                _ => Healthy,
            };
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or InvalidDataException or NotSupportedException or ArgumentException)
        {
            errors.WriteLine($"redkite analyze: {path}: {FileFailure.ReasonOf(failure)}");
            return Unusable;
        }
    }

    private static void Serve(PackageReader package, int port, TextWriter output)
    {
        RedKiteDashboard dashboard = RedKiteDashboard.StartAsync(package, server: null, [IPAddress.Loopback], port).GetAwaiter().GetResult();
        output.WriteLine($"Dashboard on http://127.0.0.1:{dashboard.Port}/ until Ctrl+C");
        using var ended = new ManualResetEventSlim();
        using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, End);
        using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, End);
        ended.Wait();
        dashboard.DisposeAsync().AsTask().GetAwaiter().GetResult();

        void End(PosixSignalContext signal)
        {
            signal.Cancel = true; // the program ends by itself, with the verdict's status
            ended.Set();
        }
    }

    /// <param name="Path">The package.</param>
    /// <param name="PrintsStacks">Whether to print the stacks.</param>
    /// <param name="Speedscope">Where to write them for speedscope; null: nowhere.</param>
    /// <param name="Port">Where to serve the page; 0: on a free port; null: not at all.</param>
    private sealed record Options(string Path, bool PrintsStacks, string? Speedscope, int? Port)
    {
        internal static Options? Parse(string[] arguments)
        {
            if (arguments is [] || arguments[0].StartsWith('-')) return null;
            var options = new Options(arguments[0], PrintsStacks: false, Speedscope: null, Port: null);
            for (int i = 1; i < arguments.Length; i++)
            {
                string? value = i + 1 < arguments.Length && !arguments[i + 1].StartsWith('-') ? arguments[i + 1] : null;
                switch (arguments[i])
                {
                    case "--stacks":
                        options = options with { PrintsStacks = true };
                        continue;
                    case "--speedscope" when value is not null:
                        options = options with { Speedscope = value };
                        i++;
                        continue;
                    case "--serve" when value is null:
                        options = options with { Port = 0 };
                        continue;
                    case "--serve" when ushort.TryParse(value, CultureInfo.InvariantCulture, out ushort port):
                        options = options with { Port = port };
                        i++;
                        continue;
                    default:
                        return null;
                }
            }

            return options;
        }
    }
}
