using System.Diagnostics;
using System.IO.Compression;
using System.Security.Cryptography;
using System.Text.Json;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>
/// Writes the debug package: one zip with what is known about a server and its surroundings, without keys, values, names that
/// clients chose, addresses and secrets. The server continues to serve clients; nothing here holds a lock of the data for long.
/// </summary>
/// <remarks>
/// Each part runs on a thread of its own with a time limit. One that fails or takes too long leaves its error in the manifest and
/// as an entry, and the next one follows. Parts run one after the other, so that a package takes at most one core. The log comes
/// last, so that the time of the other parts is part of the time for which it is collected. The package is built in memory: a part
/// that was abandoned cannot write into the entry of another.
/// </remarks>
internal static class DebugPackage
{
    internal const int FormatVersion = 1;
    internal const string ManifestName = "manifest.json";

    private static readonly TimeSpan TimeMax = TimeSpan.FromSeconds(25);

    // The process waits 5 seconds at its end.
    private static readonly TimeSpan CrashTimeMax = TimeSpan.FromSeconds(4);
    private static readonly TimeSpan CrashPartTimeMax = TimeSpan.FromMilliseconds(500);

    /// <summary>Builds a package of all parts.</summary>
    internal static byte[] Build(PackageSources sources, PackageOptions options, CancellationToken cancellation) =>
        Build(PackageTable.Rows, sources, options, cancellation);

    /// <summary>Builds a package of some parts.</summary>
    internal static byte[] Build(IReadOnlyList<PackagePart> parts, PackageSources sources, PackageOptions options, CancellationToken cancellation) =>
        Build(parts, sources, options, TimeMax, TimeSpan.MaxValue, cancellation);

    /// <summary>Builds a package while the process ends because of a bug: of the parts that need no stripe, each in half a second.</summary>
    internal static byte[] BuildAtCrash(PackageSources sources) =>
        Build([.. PackageTable.Rows.Where(part => part.IsSafeAtCrash)], sources, PackageOptions.WithoutWatching, CrashTimeMax, CrashPartTimeMax, CancellationToken.None);

    /// <summary>Builds a package within a time, each of its parts within another.</summary>
    internal static byte[] Build(IReadOnlyList<PackagePart> parts, PackageSources sources, PackageOptions options, TimeSpan timeMax, TimeSpan partTimeMax, CancellationToken cancellation)
    {
        byte[] redactionKey = RandomNumberGenerator.GetBytes(32);
        DateTimeOffset started = DateTimeOffset.UtcNow;
        long start = Stopwatch.GetTimestamp();
        var bytes = new MemoryStream();
        var results = new List<PartResult>();
        using (var zip = new ZipArchive(bytes, ZipArchiveMode.Create, leaveOpen: true))
        {
            foreach (PackagePart part in parts.Where(part => part.IsWanted(options)))
            {
                cancellation.ThrowIfCancellationRequested();
                TimeSpan left = timeMax + options.Trace - Stopwatch.GetElapsedTime(start);
                var running = new RunningPart(part, sources, options, start, redactionKey);
                PartResult result = running.Run(new[] { left, part.Limit(options), partTimeMax }.Min(), cancellation);
                results.Add(result);
                foreach ((string name, byte[] content) in result.Entries) Add(zip, name, content);
                if (result.Error is { } error) Add(zip, part.Name + ".error.txt", System.Text.Encoding.UTF8.GetBytes(error + "\n"));
            }

            Add(zip, ManifestName, Manifest(started, Stopwatch.GetElapsedTime(start), results));
        }

        return bytes.ToArray();
    }

    private static void Add(ZipArchive zip, string name, byte[] content)
    {
        using Stream entry = zip.CreateEntry(name, CompressionLevel.Fastest).Open();
        entry.Write(content);
    }

    private static byte[] Manifest(DateTimeOffset started, TimeSpan took, List<PartResult> results)
    {
        var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes, new JsonWriterOptions { Indented = true }))
        {
            json.WriteStartObject();
            json.WriteString("product", "RedKite");
            json.WriteNumber("format", FormatVersion);
            json.WriteString("version", ServerVersion.Text);
            json.WriteString("started", started);
            json.WriteNumber("unix_seconds", started.ToUnixTimeSeconds());
            json.WriteNumber("milliseconds", (long)took.TotalMilliseconds);
            json.WriteStartArray("parts");
            foreach (PartResult result in results)
            {
                json.WriteStartObject();
                json.WriteString("name", result.Part.Name);
                json.WriteString("meaning", result.Part.Meaning);
                json.WriteNumber("milliseconds", (long)result.Took.TotalMilliseconds);
                json.WriteNumber("bytes", result.Entries.Sum(entry => (long)entry.Bytes.Length));
                json.WriteString("error", result.Error);
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteEndObject();
        }

        return bytes.ToArray();
    }

    private sealed record PartResult(PackagePart Part, TimeSpan Took, IReadOnlyList<(string Name, byte[] Bytes)> Entries, string? Error);

    // A part on its thread. Entries and error are read once the thread has ended; those of an abandoned part are left alone.
    private sealed class RunningPart(PackagePart part, PackageSources sources, PackageOptions options, long packageStart, byte[] redactionKey)
    {
        private string? _error;

        internal PartResult Run(TimeSpan limit, CancellationToken cancellation)
        {
            long start = Stopwatch.GetTimestamp();
            if (limit.TotalMilliseconds < 1) return new(part, TimeSpan.Zero, [], "The package's time was over before this part."); // Join waits whole milliseconds
            var stop = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
            var context = new PackageContext(sources, options, packageStart, redactionKey, stop.Token);
            var thread = new Thread(() => Write(context)) { Name = "debug-package", IsBackground = true, Priority = ThreadPriority.BelowNormal };
            thread.Start();
            if (!thread.Join(limit))
            {
                // The source is not disposed: the part still has its token.
                stop.Cancel();
                return new(part, Stopwatch.GetElapsedTime(start), [], $"The part did not end within {limit.TotalSeconds:0.#} seconds.");
            }

            stop.Dispose();
            return new(part, Stopwatch.GetElapsedTime(start), _error is null ? context.Entries : [], _error);
        }

        private void Write(PackageContext context)
        {
            try
            {
                part.Write(context);
            }
#pragma warning disable CA1031 // Whatever fails in one part, the others are written.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                _error = $"{failure.GetType().Name}: {failure.Message}";
            }
        }
    }
}
