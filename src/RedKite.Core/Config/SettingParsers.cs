using System.Buffers;
using System.Globalization;
using System.Net;
using System.Text;
using System.Text.RegularExpressions;
using RedKite.Protocol;

namespace RedKite.Server.Config;

/// <summary>Parsers for settings with a grammar of their own, and for texts with a rule. The error texts are Redis's.</summary>
internal static partial class SettingParsers
{
    private const int BindAddressesMax = 16;
    private const int EtcdAddressesMax = 16;
    private const int EtcdPort = 2379;
    private const int EtcdPrefixLengthMax = 200;
    /// <summary>Characters of an address or a name that a node of a cluster announces.</summary>
    internal const int AnnouncedLengthMax = 256;

    private const int HostNameLengthMax = 255;
    private const string KeyspaceEventClasses = "g$lshzxetd";
    private const string FurtherEventClasses = "noc"; // which 'A' leaves out
    private const string KeyspaceEventCharacters = "Ag$lshzxeKEtmdnocSTIV";

    private static readonly SearchValues<char> NodeNameForbidden = SearchValues.Create("!#$%&()*+:;<>?@[]^{|}~\0");
    private static readonly string[] ByteLocales = ["", "C", "POSIX", "C.UTF-8", "C.utf8"];
    private static readonly string[] ShutdownOptions = ["default", "save", "nosave", "now", "force"];
    private static readonly string[] ClientClasses = ["normal", "slave", "pubsub"];

    internal static string? AnyText(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = SettingText.UpToZero(words[0]);
        return null;
    }

    /// <summary>A password: any bytes.</summary>
    internal static string? AnyBytes(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0];
        return null;
    }

    /// <summary>"auto" or a port.</summary>
    internal static string? AdminPort(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0].ToLowerInvariant();
        bool isPort = Setting.TryParseInteger(canonical, out long port) && port is >= 0 and <= 65535;
        return isPort || canonical == "auto" ? null : "argument must be auto or a port from 0 to 65535";
    }

    /// <summary>Pairs of seconds and changes, appended to <paramref name="current"/>, the pairs of earlier lines.</summary>
    internal static string? SavePoints(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = "";
        const string Invalid = "Invalid save parameters";
        if (words.Length == 0 || (words.Length == 1 && SettingText.UpToZero(words[0]).Length == 0)) return null;
        if (words.Length % 2 != 0) return Invalid;

        List<string> numbers = current.Length == 0 ? [] : [current];
        for (int i = 0; i < words.Length; i += 2)
        {
            bool parsed = TryParseLenient(words[i], out long seconds) & TryParseLenient(words[i + 1], out long changes);
            if (!parsed || seconds < 1 || changes < 0 || changes > int.MaxValue) return Invalid;
            numbers.Add(string.Create(CultureInfo.InvariantCulture, $"{seconds} {changes}"));
        }

        canonical = string.Join(' ', numbers);
        return null;
    }

    internal static IEnumerable<string> SavePointLines(string canonical)
    {
        string[] words = SplitWords(canonical);
        return words.Length == 0 ? ["\"\""] : Enumerable.Range(0, words.Length / 2).Select(i => $"{words[2 * i]} {words[(2 * i) + 1]}");
    }

    /// <summary>Groups of class, hard bytes, soft bytes and soft seconds. Other classes keep their limits.</summary>
    internal static string? OutputBufferLimits(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = current;
        if (words.Length % 4 != 0) return "Wrong number of arguments in buffer limit configuration.";

        string[] limits = SplitWords(current);
        for (int i = 0; i < words.Length; i += 4)
        {
            string name = words[i].ToLowerInvariant();
            int index = Array.IndexOf(ClientClasses, name == "replica" ? "slave" : name);
            if (index < 0) return "Invalid client class specified in buffer limit configuration.";

            bool parsed = MemorySize.TryParse(words[i + 1], out ulong hardBytes)
                & MemorySize.TryParse(words[i + 2], out ulong softBytes)
                & TryParseLenient(words[i + 3], out long softSeconds);
            if (!parsed || softSeconds < 0 || softSeconds > int.MaxValue)
                return "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
            limits[(4 * index) + 1] = hardBytes.ToString(CultureInfo.InvariantCulture);
            limits[(4 * index) + 2] = softBytes.ToString(CultureInfo.InvariantCulture);
            limits[(4 * index) + 3] = softSeconds.ToString(CultureInfo.InvariantCulture);
        }

        canonical = string.Join(' ', limits);
        return null;
    }

    internal static IEnumerable<string> OutputBufferLimitLines(string canonical)
    {
        string[] words = SplitWords(canonical);
        for (int i = 0; i < words.Length; i += 4)
        {
            string hard = MemorySize.Format(ulong.Parse(words[i + 1], CultureInfo.InvariantCulture));
            string soft = MemorySize.Format(ulong.Parse(words[i + 2], CultureInfo.InvariantCulture));
            yield return $"{(words[i] == "slave" ? "replica" : words[i])} {hard} {soft} {words[i + 3]}";
        }
    }

    internal static string? OutOfMemoryScores(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = "";
        if (words.Length != 3) return "wrong number of arguments";

        long[] scores = new long[3];
        for (int i = 0; i < 3; i++)
        {
            if (!TryParseLenient(words[i], out scores[i]) || scores[i] is < -2000 or > 2000)
                return "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
        }

        canonical = string.Create(CultureInfo.InvariantCulture, $"{scores[0]} {scores[1]} {scores[2]}");
        return null;
    }

    /// <summary>Event classes in Redis's order. All classes together become 'A', which hides 'n', 'o' and 'c' (<see cref="ShownKeyspaceEvents"/>).</summary>
    internal static string? KeyspaceEvents(ReadOnlySpan<string> words, string current, out string canonical)
    {
        string given = SettingText.UpToZero(words[0]);
        canonical = "";
        if (!given.All(KeyspaceEventCharacters.Contains))
            return $"Invalid event class character. Use '{KeyspaceEventCharacters}'.";

        bool all = given.Contains('A') || KeyspaceEventClasses.All(given.Contains);
        canonical = (all ? "A" + Only(given, FurtherEventClasses) : Only(given, KeyspaceEventClasses + FurtherEventClasses)) + Only(given, "KEmSTIV");
        return null;

        static string Only(string given, string order) => string.Concat(order.Where(given.Contains));
    }

    /// <summary>The event classes as CONFIG GET shows them.</summary>
    internal static string ShownKeyspaceEvents(string letters) =>
        letters.StartsWith('A') ? "A" + letters[1..].TrimStart(FurtherEventClasses.ToCharArray()) : letters;

    private static readonly (string Word, SlotStatistics Flag)[] SlotStatisticsWords =
        [("no", SlotStatistics.None), ("yes", SlotStatistics.All), ("cpu", SlotStatistics.Cpu), ("net", SlotStatistics.Net), ("mem", SlotStatistics.Memory)];

    /// <summary>Any of the words; "no" beside another one does not count, as in Redis.</summary>
    internal static string? KeptSlotStatistics(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = "";
        SlotStatistics kept = SlotStatistics.None;
        string[] choices = Array.ConvertAll(SlotStatisticsWords, static choice => choice.Word);
        foreach (string word in words)
        {
            int index = Setting.IndexOfWord(choices, word);
            if (index < 0) return Setting.NotAChoice(choices);
            kept |= SlotStatisticsWords[index].Flag;
        }

        canonical = ShownSlotStatistics(kept);
        return words.Length > 0 ? null : Setting.NotAChoice(choices);
    }

    /// <summary>The words of statistics of slots, as CONFIG GET shows them.</summary>
    internal static string ShownSlotStatistics(SlotStatistics kept) => Array.Find(SlotStatisticsWords, choice => choice.Flag == kept).Word
        ?? string.Join(' ', SlotStatisticsWords.Where(choice => choice.Flag is not (SlotStatistics.None or SlotStatistics.All) && (kept & choice.Flag) != 0).Select(static choice => choice.Word));

    /// <summary>What these words mean.</summary>
    internal static SlotStatistics SlotStatisticsOf(string shown) =>
        SplitWords(shown).Aggregate(SlotStatistics.None, static (kept, word) => kept | Array.Find(SlotStatisticsWords, choice => choice.Word == word).Flag);

    /// <summary>The size of a series' chunk: 48 to 1,048,576 bytes, a multiple of 8.</summary>
    internal static string? ChunkSize(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0];
        if (!Setting.TryParseInteger(words[0], out long bytes)) return "argument couldn't be parsed into an integer";
        return bytes is >= 48 and <= 1 << 20 && bytes % 8 == 0 ? null : "argument must be a multiple of 8 between 48 and 1048576 inclusive";
    }

    internal static string? NonNegative(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = "";
        if (!double.TryParse(words[0], NumberStyles.Float, CultureInfo.InvariantCulture, out double value) || !double.IsFinite(value)) return "argument couldn't be parsed into a number";
        canonical = ShownDecimals(value);
        return value >= 0 ? null : "argument must not be negative";
    }

    /// <summary>Six decimals, or as many as the number needs.</summary>
    internal static string ShownDecimals(double value)
    {
        string text = value.ToString("F6", CultureInfo.InvariantCulture);
        return double.Parse(text, CultureInfo.InvariantCulture) == value ? text : value.ToString("R", CultureInfo.InvariantCulture);
    }

    internal static string? Compactions(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0];
        return CompactionPolicy.TryParse(words[0], out _) ? null : "argument must be rules aggregator:bucket:retention[:align], separated by semicolons";
    }

    internal static CompactionPolicy CompactionsOf(string text) => CompactionPolicy.TryParse(text, out CompactionPolicy policy) ? policy : CompactionPolicy.None;

    internal static string? Percentiles(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = "";
        List<string> percentiles = [];
        foreach (string word in words)
        {
            if (!FloatText.TryParse(Encoding.Latin1.GetBytes(word), out double percentile)) return "Invalid latency-tracking-info-percentiles parameters";
            if (percentile is < 0 or > 100)
                return "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
            percentiles.Add(percentile.ToString("0.######", CultureInfo.InvariantCulture));
        }

        canonical = string.Join(' ', percentiles);
        return null;
    }

    internal static IEnumerable<string> PercentileLines(string canonical) => [canonical.Length == 0 ? "\"\"" : canonical];

    internal static string? BindAddresses(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = string.Join(' ', words.ToArray());
        return words.Length > BindAddressesMax ? "Too many bind addresses specified." : null;
    }

    /// <summary>Addresses and networks.</summary>
    internal static string? Networks(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = string.Join(' ', words.ToArray()).Trim();
        foreach (string word in SplitWords(canonical))
        {
            if (Network(word) is null) return "argument must be addresses or networks such as 10.0.0.0/8";
        }

        return null;
    }

    /// <summary>The network of a word, where an address stands for itself alone; null: it is neither.</summary>
    internal static IPNetwork? Network(string word) =>
        IPAddress.TryParse(word, out IPAddress? address) ? new IPNetwork(address, address.GetAddressBytes().Length * 8)
        : IPNetwork.TryParse(word, out IPNetwork network) ? network : null;

    internal static IEnumerable<string> BindLines(string canonical) => [canonical.Length == 0 ? "\"\"" : canonical];

    /// <summary>"HOST PORT"; empty for "no one".</summary>
    internal static string? ReplicaOf(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = "";
        if (words.Length != 2) return "wrong number of arguments";
        if (words[0].Equals("no", StringComparison.OrdinalIgnoreCase) && words[1].Equals("one", StringComparison.OrdinalIgnoreCase))
            return null;
        if (!TryParseLenient(words[1], out long port) || port is < 0 or > 65535) return "Invalid master port";

        canonical = string.Create(CultureInfo.InvariantCulture, $"{words[0]} {port}");
        return null;
    }

    internal static IEnumerable<string> ReplicaOfLines(string canonical) => canonical.Length == 0 ? [] : [canonical];

    internal static string? ShutdownOnSignal(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = "";
        HashSet<int> given = [];
        foreach (string word in words)
        {
            given.Add(Setting.IndexOfWord(ShutdownOptions, word));
        }

        if (given.Count == 0 || given.Contains(-1)) return Setting.NotAChoice(ShutdownOptions);
        if (given.Contains(1) && given.Contains(2)) return "shutdown options SAVE and NOSAVE can't be used simultaneously";

        given.Remove(0);
        canonical = given.Count == 0 ? ShutdownOptions[0] : string.Join(' ', given.Order().Select(i => ShutdownOptions[i]));
        return null;
    }

    internal static string? MemoryOrPercent(ReadOnlySpan<string> words, string current, out string canonical)
    {
        string given = words[0];
        canonical = "";
        long number;
        if (given.EndsWith('%'))
        {
            if (!Setting.TryParseInteger(given[..^1], out number) || number < 0) return "argument must be a memory or percent value";
            number = -number;
        }
        else
        {
            // As in Redis, a size beyond the signed range wraps and becomes a percentage.
            if (!MemorySize.TryParse(given, out ulong bytes)) return "argument must be a memory or percent value";
            number = unchecked((long)bytes);
        }

        if (number < -100) return "percentage argument must be less or equal to 100";
        canonical = string.Create(CultureInfo.InvariantCulture, $"{Math.Abs(number)}{(number < 0 ? "%" : "")}");
        return null;
    }

    /// <summary>Makes the directory absolute. The process's working directory does not change, because the process may run several servers.</summary>
    internal static string? ExistingDirectory(ReadOnlySpan<string> words, string current, out string canonical)
    {
        string path = SettingText.ToNative(words[0]);
        canonical = words[0];
        if (path.Length == 0 || path.Contains('\0')) return "No such file or directory";

        path = Path.TrimEndingDirectorySeparator(Path.GetFullPath(path));
        canonical = SettingText.FromNative(path);
        if (Directory.Exists(path)) return null;
        return File.Exists(path) ? "Not a directory" : "No such file or directory";
    }

    internal static string? DumpFileName(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0];
        return HasSeparator(canonical) ? "dbfilename can't be a path, just a filename" : null;
    }

    internal static string? AppendFileName(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0];
        if (canonical.Length == 0) return "appendfilename can't be empty";
        return HasSeparator(canonical) ? "appendfilename can't be a path, just a filename" : null;
    }

    internal static string? BackupDirectoryName(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = SettingText.UpToZero(words[0]);
        if (canonical.Length == 0) return "backupdirname can't be empty";
        return HasSeparator(canonical) ? "backupdirname can't be a path, just a dirname" : null;
    }

    internal static string? AppendDirectoryName(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0];
        if (canonical.Length == 0) return "appenddirname can't be empty";
        return HasSeparator(canonical) ? "appenddirname can't be a path, just a dirname" : null;
    }

    internal static string? HostName(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = SettingText.UpToZero(words[0]);
        if (canonical.Length > HostNameLengthMax) return "Hostnames must be less than 256 characters";
        return canonical.All(c => char.IsAsciiLetterOrDigit(c) || c is '-' or '.')
            ? null
            : "Hostnames may only contain alphanumeric characters, hyphens or dots";
    }

    /// <summary>A name for people to read: none of the characters that would make a line of CLUSTER NODES ambiguous. Redis 8.0.2 accepts spaces, commas and control characters, and cannot read its cluster's file again then.</summary>
    internal static string? NodeName(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0];
        return canonical.AsSpan().ContainsAny(NodeNameForbidden) || !IsWord(canonical)
            ? "Announced human node name contained invalid character"
            : null;
    }

    /// <summary>The address at which a node is reached: a word of a line of CLUSTER NODES. Redis 8.0.2 accepts anything, with the consequence of <see cref="NodeName"/>.</summary>
    internal static string? NodeAddress(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0];
        return IsWord(canonical) ? null : "Announced address contained invalid character";
    }

    private static bool IsWord(string text) => text.Length <= AnnouncedLengthMax && text.AsSpan().IndexOfAnyInRange('\0', ' ') < 0 && !text.Contains(',', StringComparison.Ordinal);

    /// <summary>Addresses of etcd's members with commas between them; the canonical text has the port of each. A password in one would be seen in logs.</summary>
    internal static string? EtcdAddresses(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = "";
        if (words[0].Length == 0) return null;
        string[] texts = words[0].Split(',', StringSplitOptions.TrimEntries);
        if (texts.Length > EtcdAddressesMax) return $"argument has more than {EtcdAddressesMax} addresses";
        var addresses = new List<string>();
        foreach (string text in texts)
        {
            if (text.Contains('@', StringComparison.Ordinal)) return "argument must not contain a user or a password: set cluster-etcd-user and cluster-etcd-password";
            if (!Uri.TryCreate(text, UriKind.Absolute, out Uri? address) || address.Scheme is not ("http" or "https") || address.Host.Length == 0 || address.PathAndQuery != "/" || address.Fragment.Length > 0)
                return "argument must be addresses that begin with http:// or https:// and have a host and a port alone, with commas between them";
            bool hasPort = text.TrimEnd('/').EndsWith(FormattableString.Invariant($":{address.Port}"), StringComparison.Ordinal);
            addresses.Add(FormattableString.Invariant($"{address.Scheme}://{address.Host}:{(hasPort ? address.Port : EtcdPort)}"));
        }

        canonical = string.Join(',', addresses);
        return null;
    }

    /// <summary>What keys begin with: with a slash at its end, so that no cluster's keys begin with those of another.</summary>
    internal static string? EtcdPrefix(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = words[0];
        if (canonical.Length is 0 or > EtcdPrefixLengthMax || canonical[^1] != '/') return $"argument must end with a slash and have at most {EtcdPrefixLengthMax} characters";
        return canonical.All(static c => c is > ' ' and < '\x7F') ? null : "argument must be printable characters of ASCII without blanks";
    }

    /// <summary>A locale in which text compares by its bytes, the only order that SORT ALPHA knows.</summary>
    internal static string? Locale(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = SettingText.UpToZero(words[0]);
        return Array.IndexOf(ByteLocales, canonical) < 0 ? "Invalid locale name" : null;
    }

    /// <summary>Three numbers with dots between them.</summary>
    internal static string? RedisVersion(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = SettingText.UpToZero(words[0]);
        return RedisVersionForm().IsMatch(canonical) ? null : "argument must be a version of Redis, such as 8.0.2";
    }

    /// <summary>Known variables only, "{{" for a brace, and some text besides {title} and {server-mode}.</summary>
    internal static string? ProcessTitle(ReadOnlySpan<string> words, string current, out string canonical)
    {
        canonical = SettingText.UpToZero(words[0]);
        string shown = canonical.Replace("{{", "(", StringComparison.Ordinal);
        bool known = ProcessTitleTemplate().IsMatch(shown);
        shown = shown.Replace("{title}", "", StringComparison.Ordinal).Replace("{server-mode}", "", StringComparison.Ordinal);
        return known && shown.Trim(' ').Length > 0 ? null : "template format is invalid or contains unknown variables";
    }

    internal static string[] SplitWords(string canonical) => canonical.Split(' ', StringSplitOptions.RemoveEmptyEntries);

    private static bool HasSeparator(string name) => name.Contains('/') || name.Contains('\\');

    // Like C's strtoll: leading spaces, a plus sign, leading zeros and an empty text are allowed.
    private static bool TryParseLenient(string text, out long value)
    {
        value = 0;
        text = SettingText.UpToZero(text);
        return text.Length == 0
            || long.TryParse(text, NumberStyles.AllowLeadingSign | NumberStyles.AllowLeadingWhite, CultureInfo.InvariantCulture, out value);
    }

    [GeneratedRegex(@"^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$")]
    private static partial Regex RedisVersionForm();

    [GeneratedRegex(@"\A(?:[^{]|\{(?:title|listen-addr|server-mode|port|tls-port|unixsocket|config-file)\})+\z")]
    private static partial Regex ProcessTitleTemplate();
}
