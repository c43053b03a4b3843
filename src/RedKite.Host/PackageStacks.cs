using System.Globalization;
using System.Text;
using RedKite.Server.Diagnostics.Package;
using RedKite.Traces;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Host;

/// <summary>The stacks in a debug package, made readable: as text, or as a file for speedscope.</summary>
internal static class PackageStacks
{
    /// <summary>Writes what each thread did, those that worked most first.</summary>
    /// <exception cref="InvalidDataException">The package has no stacks, or they are damaged.</exception>
    internal static void WriteText(PackageReader package, TextWriter output)
    {
        IReadOnlyList<ThreadSummary> threads = ThreadSummary.Of(Read(package, TracePackageParts.StacksName).Stacks);
        output.WriteLine();
        output.WriteLine($"Stacks of {Times(threads.Count, "thread")}, sampled for {TracePackageParts.StacksTime.TotalMilliseconds:0} ms:");
        foreach (ThreadSummary thread in threads)
        {
            output.WriteLine();
            output.WriteLine($"{thread.Thread}: {Times(thread.Samples, "sample")}, {thread.Running} running, {thread.InCall} in native calls, {thread.Waiting} waiting; {Times(thread.CommonSamples, "time")}:");
            foreach (string frame in thread.CommonStack) output.WriteLine("    " + frame);
        }
    }

    /// <summary>Writes the trace, or the stacks where none was taken, in speedscope's format.</summary>
    /// <exception cref="InvalidDataException">The package has neither, or it is damaged.</exception>
    internal static void WriteSpeedscope(PackageReader package, string path)
    {
        string entry = package.Entry(TracePackageParts.TraceName) is null ? TracePackageParts.StacksName : TracePackageParts.TraceName;
        SampledProfile profile = Read(package, entry);
        using FileStream file = File.Create(path);
        SpeedscopeFile.Write(file, entry, profile.Stacks);
    }

    private static SampledProfile Read(PackageReader package, string entry)
    {
        byte[] trace = package.Entry(entry) ?? throw new InvalidDataException($"it has no {entry}; manifest.json says why");
        DirectoryInfo folder = Directory.CreateTempSubdirectory("redkite-stacks-");
        try
        {
            string file = Path.Combine(folder.FullName, entry);
            File.WriteAllBytes(file, trace);
            return NetTraceReader.Read(file, ThreadNames(package));
        }
        catch (Exception failure) when (failure is not IOException)
        {
            throw new InvalidDataException($"{entry} is damaged: {failure.Message}", failure); // the library may throw anything on damaged input
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    // threads.csv has each thread's id and name first.
    private static Dictionary<int, string> ThreadNames(PackageReader package)
    {
        var names = new Dictionary<int, string>();
        if (package.Entry("threads.csv") is not { } csv) return names;
        foreach (string line in Encoding.UTF8.GetString(csv).Split('\n'))
        {
            string[] fields = line.Split(',');
            if (fields.Length > 1 && int.TryParse(fields[0], CultureInfo.InvariantCulture, out int id)) names[id] = fields[1];
        }

        return names;
    }
}
