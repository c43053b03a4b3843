using RedKite.Figures;

namespace RedKite.History;

/// <summary>Stores and charts figures over time: './dev bench record' and './dev bench history'. HistoryOptions.Usage is the manual.</summary>
internal static class Program
{
    private const int Done = 0;
    private const int Failed = 2;

    private static int Main(string[] arguments) => Run(arguments, Console.Out, Console.Error);

    /// <returns>The exit status.</returns>
    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments.TakeWhile(argument => argument != "--").Any(argument => argument is "--help" or "-h"))
        {
            output.WriteLine(HistoryOptions.Usage);
            return Done;
        }

        try
        {
            HistoryOptions options = HistoryOptions.Parse(arguments);
            if (options.Verb == HistoryVerb.Record) Recorder.Record(options, Repository.Root, output);
            else WritePage(options, output);
            return Done;
        }
        catch (FormatException wrongArgument)
        {
            errors.WriteLine(wrongArgument.Message);
            errors.WriteLine(HistoryOptions.Usage);
            return Failed;
        }
        catch (CannotMeasureException cannot)
        {
            errors.WriteLine(cannot.Message);
            return Failed;
        }
    }

    private static void WritePage(HistoryOptions options, TextWriter output)
    {
        List<HistoryRecord> records = ResultsFile.Read(Path.Combine(Repository.Root, options.ResultsFile));
        string page = Path.Combine(Repository.Root, options.Page);
        Directory.CreateDirectory(Path.GetDirectoryName(page)!);
        File.WriteAllText(page, HistoryPage.Render(records));
        output.WriteLine($"{options.Page}: {records.Count} records");
    }
}
