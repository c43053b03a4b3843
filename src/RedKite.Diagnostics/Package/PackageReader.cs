using System.IO.Compression;
using System.Text;
using System.Text.Json;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>A debug package that was opened: its reports and history, and what rules look at, as the server saw it then.</summary>
internal sealed class PackageReader : IReportSource
{
    // Far more than a package has; a damaged or hostile file ends here.
    private const int EntriesMax = 1000;
    private const long EntryBytesMax = 256L << 20;

    private readonly Dictionary<string, byte[]> _entries;

    private PackageReader(Dictionary<string, byte[]> entries)
    {
        _entries = entries;
        using JsonDocument manifest = JsonDocument.Parse(Entry(DebugPackage.ManifestName) ?? throw new InvalidDataException("it is a zip file, but not a debug package: it has no manifest.json"));
        Version = manifest.RootElement.GetProperty("version").GetString() ?? "";
        WrittenUnixSeconds = manifest.RootElement.GetProperty("unix_seconds").GetInt64();
        Errors = [.. manifest.RootElement.GetProperty("parts").EnumerateArray()
            .Where(part => part.GetProperty("error").ValueKind == JsonValueKind.String)
            .Select(part => $"{part.GetProperty("name").GetString()}: {part.GetProperty("error").GetString()}")];
        History = new MetricHistory(MetricTable.All.Count);
        if (Entry(HistoryPackageParts.SecondsName) is { } seconds) HistoryPackageParts.ReadSeconds(Encoding.UTF8.GetString(seconds), History);
        foreach (RankedHistory ranked in RankedHistories)
        {
            if (Entry(HistoryPackageParts.NameOf(ranked)) is { } table) RankedHistoryTable.Read(Encoding.UTF8.GetString(table), ranked);
        }

        if (Entry(HistoryPackageParts.MinutesName) is { } minutes) HistoryFile.Read(minutes, History, MetricTable.All, RankedHistories);
        View = ReadView();
    }

    public bool IsLive => false;

    public MetricHistory History { get; }

    public IReadOnlyList<RankedHistory> RankedHistories { get; } = [new(RankedTable.Commands, names: null), new(RankedTable.Loops, names: null)];

    public long NowUnixSeconds => History.LatestSecond > 0 ? History.LatestSecond : WrittenUnixSeconds;

    /// <summary>The server's version.</summary>
    internal string Version { get; }

    internal long WrittenUnixSeconds { get; }

    /// <summary>Parts that failed, with their errors.</summary>
    internal IReadOnlyList<string> Errors { get; }

    /// <summary>Opens a package.</summary>
    /// <exception cref="InvalidDataException">It is not a package, or it is damaged.</exception>
    /// <exception cref="IOException">It cannot be read.</exception>
    internal static PackageReader Open(Stream stream)
    {
        CheckKind(stream);
        try
        {
            var entries = new Dictionary<string, byte[]>(StringComparer.Ordinal);
            using var zip = new ZipArchive(stream, ZipArchiveMode.Read);
            if (zip.Entries.Count > EntriesMax) throw new InvalidDataException("it has too many entries");
            foreach (ZipArchiveEntry entry in zip.Entries) entries[entry.FullName] = Read(entry);
            return new PackageReader(entries);
        }
        catch (Exception failure) when (failure is JsonException or KeyNotFoundException or InvalidOperationException or FormatException or ArgumentException or EndOfStreamException)
        {
            throw new InvalidDataException("the package is damaged: " + failure.Message, failure);
        }
    }

    // People hand in whatever is at hand: say what it is, and where a package comes from.
    private static void CheckKind(Stream stream)
    {
        Span<byte> begin = stackalloc byte[5];
        int length = stream.ReadAtLeast(begin, begin.Length, throwOnEndOfStream: false);
        stream.Position = 0;
        if (begin[..length].StartsWith("PK"u8)) return;
        string advice = begin[..length].StartsWith("REDIS"u8) || begin[..length].StartsWith("*"u8)
            ? "redkite check verifies dump files and append-only files"
            : "redkite debug-package --output FILE fetches one from a running server";
        throw new InvalidDataException($"it is not a debug package; {advice}");
    }

    public byte[]? Read(string name, CancellationToken cancellation) => Entry($"reports/{name}.json");

    internal byte[]? Entry(string name) => _entries.GetValueOrDefault(name);

    /// <summary>The input of the rules: the package's metrics, settings and facts.</summary>
    internal DiagnosticsView View { get; }

    private DiagnosticsView ReadView()
    {
        var latest = new double[MetricTable.All.Count];
        Array.Fill(latest, double.NaN);
        foreach (JsonElement row in Rows("metrics"))
        {
            if (MetricTable.Find(row.GetProperty("name").GetString()!) is { } metric && row.GetProperty("value").ValueKind == JsonValueKind.Number) latest[metric.Index] = row.GetProperty("value").GetDouble();
        }

        var settings = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
        var withoutEffect = new List<string>();
        foreach (JsonElement row in Rows("settings"))
        {
            string name = row.GetProperty("name").GetString()!;
            settings[name] = row.GetProperty("value").GetString() ?? "";
            if (row.GetProperty("no_effect").ValueKind == JsonValueKind.String && row.GetProperty("differs").GetBoolean()) withoutEffect.Add(name);
        }

        return new DiagnosticsView(History, latest, NowUnixSeconds, name => settings.GetValueOrDefault(name, "")) { Facts = Facts(), SettingsWithoutEffect = withoutEffect };
    }

    private Dictionary<string, string> Facts()
    {
        var facts = new Dictionary<string, string>();
        if (Entry("reports/system.json") is { } system)
        {
            using JsonDocument json = JsonDocument.Parse(system);
            Add(json.RootElement);
        }

        if (Entry("reports/durability.json") is { } durability)
        {
            using JsonDocument json = JsonDocument.Parse(durability);
            Add(json.RootElement.GetProperty("facts"));
        }

        return facts;

        void Add(JsonElement texts)
        {
            foreach (JsonProperty fact in texts.EnumerateObject()) facts[fact.Name] = fact.Value.GetString() ?? "";
        }
    }

    private JsonElement[] Rows(string report)
    {
        if (Read(report, CancellationToken.None) is not { } bytes) return [];
        using JsonDocument json = JsonDocument.Parse(bytes);
        return [.. json.RootElement.Clone().EnumerateArray()];
    }

    // The length that the entry declares may be wrong, and the framework does not compare the checksum.
    private static byte[] Read(ZipArchiveEntry entry)
    {
        if (entry.Length > EntryBytesMax) throw new InvalidDataException($"{entry.FullName} is too large");
        var bytes = new MemoryStream();
        using Stream source = entry.Open();
        var buffer = new byte[64 * 1024];
        uint crc = 0;
        for (int read; (read = source.Read(buffer)) > 0;)
        {
            if (bytes.Length + read > EntryBytesMax) throw new InvalidDataException($"{entry.FullName} is too large");
            bytes.Write(buffer, 0, read);
            crc = Crc32.Append(crc, buffer.AsSpan(0, read));
        }

        if (crc != entry.Crc32) throw new InvalidDataException($"the checksum of {entry.FullName} is wrong");
        return bytes.ToArray();
    }
}
