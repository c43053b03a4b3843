using System.Runtime.InteropServices;
using RedKite.Figures;

namespace RedKite.Profile;

/// <summary>
/// <c>./dev bench profile</c>: profiles a loaded server by method. <see cref="ProfileOptions.Usage"/> is the manual,
/// docs/performance-loop.md shows the use.
/// </summary>
internal static class Program
{
    private static int Main(string[] arguments)
    {
        if (arguments.Contains("--help") || arguments.Contains("-h"))
        {
            Console.WriteLine(ProfileOptions.Usage);
            return 0;
        }

        // An interrupted run must raise ProcessExit too, because its handlers stop the server, the load and perf.
        using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, context => End(context, 130));
        using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context => End(context, 143));
        using PosixSignalRegistration hangUp = PosixSignalRegistration.Create(PosixSignal.SIGHUP, context => End(context, 129));
        try
        {
            ProfileResult result = ProfileRun.Run(ProfileOptions.Parse(arguments));
            Console.WriteLine(result.Summary);
            return 0;
        }
        catch (FormatException wrongArgument)
        {
            Console.Error.WriteLine($"profile: {wrongArgument.Message}; './dev bench profile --help' lists the options");
            return 1;
        }
        catch (CannotMeasureException cannot)
        {
            Console.Error.WriteLine($"profile: {cannot.Message}");
            return 2;
        }
    }

    private static void End(PosixSignalContext context, int status)
    {
        context.Cancel = true;
        Environment.Exit(status);
    }
}
