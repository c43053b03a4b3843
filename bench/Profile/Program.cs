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

        using var exitSignals = new ExitSignals();
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
}
