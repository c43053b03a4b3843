using System.Diagnostics;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>One part of the debug package: a row of <see cref="PackageTable"/>. It adds one entry or several.</summary>
/// <param name="Name">The entry's name, or the folder of its entries.</param>
/// <param name="Meaning">What it holds: one sentence for docs/debug-package.md.</param>
/// <param name="Write">Adds the entries. If it throws, the package has the error instead.</param>
internal sealed record PackagePart(string Name, string Meaning, Action<PackageContext> Write)
{
    private const int SecondsMax = 5;

    /// <summary>Whether the part is in a package with these options.</summary>
    internal Func<PackageOptions, bool> IsWanted { get; init; } = _ => true;

    /// <summary>How long the part works on purpose, because it watches the server.</summary>
    internal Func<PackageOptions, TimeSpan> Watches { get; init; } = _ => TimeSpan.Zero;

    /// <summary>Whether it can be written while the process ends and stripes stay locked.</summary>
    internal bool IsSafeAtCrash { get; init; }

    /// <summary>The time after which the part is abandoned.</summary>
    internal TimeSpan Limit(PackageOptions options) => TimeSpan.FromSeconds(SecondsMax) + Watches(options);
}

/// <summary>The options of a package.</summary>
/// <param name="Log">How long the log is collected, from the package's beginning; zero: only its current lines.</param>
/// <param name="Trace">How long the CPU is sampled; zero: there is no trace.</param>
internal sealed record PackageOptions(TimeSpan Log, TimeSpan Trace)
{
    internal static readonly TimeSpan LogMax = TimeSpan.FromSeconds(15);
    internal static readonly TimeSpan TraceMax = TimeSpan.FromSeconds(30);

    /// <summary>The default: includes the log of the package's own time, which shows what happens now.</summary>
    internal static PackageOptions Default { get; } = new(LogMax, TimeSpan.Zero);

    /// <summary>The options of a package that waits for nothing.</summary>
    internal static PackageOptions WithoutWatching { get; } = new(TimeSpan.Zero, TimeSpan.Zero);
}

/// <summary>The source and destination of a part.</summary>
internal sealed class PackageContext(PackageSources sources, PackageOptions options, long start, byte[] redactionKey, CancellationToken cancellation)
{
    private const int NameLengthMin = 4; // shorter ones are words of their own

    private readonly List<(string Name, byte[] Bytes)> _entries = [];
    private List<string>? _chosenTexts;

    internal PackageSources Sources => sources;

    internal PackageOptions Options => options;

    /// <summary>The age of the package.</summary>
    internal TimeSpan Elapsed => Stopwatch.GetElapsedTime(start);

    /// <summary>Made for this package alone, and not in it.</summary>
    internal byte[] RedactionKey => redactionKey;

    /// <summary>Cancelled when the part's time has run out.</summary>
    internal CancellationToken Cancellation => cancellation;

    internal IReadOnlyList<(string Name, byte[] Bytes)> Entries => _entries;

    internal void Add(string name, byte[] bytes) => _entries.Add((name, bytes));

    internal void Add(string name, string text) => Add(name, Encoding.UTF8.GetBytes(text));

    /// <summary>
    /// Replaces what an administrator has chosen by hashes, wherever it is: the values of settings that are texts (paths of files and keys, endpoints), and the
    /// configuration file's path.
    /// </summary>
    internal string WithoutChosenTexts(string text)
    {
        _chosenTexts ??= ChosenTexts();
        foreach (string chosen in _chosenTexts)
        {
            text = text.Replace(chosen, Shown(chosen), StringComparison.Ordinal);
            string inJson = JsonEncodedText.Encode(chosen).ToString();
            if (inJson != chosen) text = text.Replace(inJson, Shown(chosen), StringComparison.Ordinal);
        }

        return text;
    }

    // The longest first: one may be a part of another.
    private List<string> ChosenTexts()
    {
        Configuration configuration = sources.Parts.Core.Configuration;
        IEnumerable<string> values = SettingTable.Rows.Where(row => row.Kind == SettingKind.Text && !row.Has(SettingFlags.Sensitive)).Select(row => (Value: configuration.Get(row.Name), row.DefaultText))
            .Where(pair => pair.Value != pair.DefaultText).Select(pair => pair.Value);
        return [.. values.Append(SettingText.FromNative(configuration.FilePath ?? "")).Where(value => value.Length >= NameLengthMin && !value.All(char.IsAsciiDigit)).Distinct().OrderByDescending(value => value.Length)];
    }

    /// <summary>An address as it may be shown: a hash that is the same throughout the package.</summary>
    internal string Shown(string text) => "#" + Convert.ToHexStringLower(HMACSHA256.HashData(redactionKey, Encoding.UTF8.GetBytes(text)).AsSpan(0, 6));
}

/// <summary>The sources of the parts.</summary>
/// <param name="Parts">The server.</param>
/// <param name="Diagnostics">Its history, observations and findings.</param>
/// <param name="Info">INFO's text, with all sections.</param>
internal sealed record PackageSources(ServerParts Parts, DiagnosticsService Diagnostics, Func<string> Info)
{
    internal LiveReports Reports { get; } = new(Parts, Diagnostics);
}
