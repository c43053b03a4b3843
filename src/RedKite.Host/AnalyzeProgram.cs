using System.Globalization;
using System.Net;
using System.Runtime.InteropServices;
using RedKite.Dashboard;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Package;

namespace RedKite.Host;

/// <summary><c>redkite analyze</c>: evaluates the rules on a debug package. The exit status is for scripts.</summary>
internal static class AnalyzeProgram
{
    private const int Healthy = 0;
    private const int Warnings = 1;
    private const int Critical = 2;
    private const int Unusable = 3;

    private const string Usage = """
        Usage: redkite analyze PACKAGE [--serve [PORT]]

        Prints the verdict on the server of a debug package, and what is wrong, with evidence and remedy.
        With --serve the dashboard shows the package on this machine until Ctrl+C; without PORT on a free one.

        Exit status: 0 healthy (notices at most), 1 warnings, 2 critical findings, 3 the file cannot be used.
        """;

    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            output.WriteLine(Usage);
            return Healthy;
        }

        int? port = null;
        if (arguments is [_, "--serve"]) port = 0;
        else if (arguments is [_, "--serve", string text] && ushort.TryParse(text, CultureInfo.InvariantCulture, out ushort number)) port = number;
        if (arguments is [] || arguments[0].StartsWith('-') || (arguments.Length > 1 && port is null))
        {
            errors.WriteLine("redkite analyze: one file is expected; see --help");
            return Unusable;
        }

        string path = arguments[0];

        try
        {
            using FileStream file = File.OpenRead(path);
            PackageReader package = PackageReader.Open(file);
            PackageVerdict verdict = PackageVerdict.Of(package);
            verdict.Write(output, package);
            if (port is { } chosen) Serve(package, chosen, output);
            return verdict.Worst switch
            {
                FindingSeverity.Critical => Critical,
                FindingSeverity.Warning => Warnings,
                _ => Healthy,
            };
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or InvalidDataException or NotSupportedException or ArgumentException)
        {
            errors.WriteLine($"redkite analyze: {path}: {failure.Message.ReplaceLineEndings(" ")}");
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
}
