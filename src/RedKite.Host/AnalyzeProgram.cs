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
        Usage: redkite analyze PACKAGE

        Prints the verdict on the server of a debug package, and what is wrong, with evidence and remedy.

        Exit status: 0 healthy (notices at most), 1 warnings, 2 critical findings, 3 the file cannot be used.
        """;

    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            output.WriteLine(Usage);
            return Healthy;
        }

        if (arguments is not [string path] || path.StartsWith('-'))
        {
            errors.WriteLine("redkite analyze: one file is expected; see --help");
            return Unusable;
        }

        try
        {
            using FileStream file = File.OpenRead(path);
            PackageReader package = PackageReader.Open(file);
            PackageVerdict verdict = PackageVerdict.Of(package);
            verdict.Write(output, package);
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
}
