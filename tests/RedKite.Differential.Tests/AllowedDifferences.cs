using System.Globalization;
using System.Text.RegularExpressions;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>
/// Every allowed difference between RedKite and the oracle, one row each with its reason. A row only sees replies that
/// differ, and its predicate still checks everything that is comparable.
/// </summary>
internal static partial class AllowedDifferences
{
    // No test's server runs this long, so a longer idle time is an LFU counter.
    private const long SecondsOfNoTest = 24 * 60 * 60;

    // The version of the format that Redis 8.0 writes.
    private const int DumpVersion = 12;

    // Of Redis 8.6 and 8.8.
    private static readonly string[] NewerSettings = ["stream-idmp-duration", "stream-idmp-maxsize", "slowlog-entry-max-argc", "slowlog-entry-max-string-len"];

    // Of Redis 8 as it is delivered by its makers.
    private static readonly string[] OtherModules = ["ReJSON", "bf", "timeseries"];

    // Policies of Redis 8.6, and classes of events of 8.2 and 8.8, as errors list them.
    private static readonly string[] NewerWords = [", volatile-lrm, allkeys-lrm", "ocSTIV"];

    // Errors of Redis 8.0 about the list of fields.
    private static readonly string[] FieldListErrors =
    [
        "ERR The `numfields` parameter must match the number of arguments",
        "ERR Mandatory argument FIELDS is missing or not at the right position",
        "ERR Number of fields must be a positive integer",
        "ERR Parameter `numFields` should be greater than 0",
        "ERR wrong number of arguments for 'hsetex' command",
        "ERR unknown argument: PERSIST",
    ];

    private static readonly Row[] Rows =
    [
        new("TTL", "", c => Near(c, ClockDistance.Ms / 1000), "time passes between the two servers"),
        new("PTTL", "", c => Near(c, ClockDistance.Ms), "time passes between the two servers"),
        new("EXPIRETIME", "", c => Near(c, ClockDistance.Ms / 1000) && !IsAbsolute(c, unitMs: 1000), "a relative expiry starts when each server executes it"),
        new("PEXPIRETIME", "", c => Near(c, ClockDistance.Ms) && !IsAbsolute(c, unitMs: 1), "a relative expiry starts when each server executes it"),
        new("HTTL", "", c => AllNear(c, ClockDistance.Ms / 1000), "time passes between the two servers"),
        new("HPTTL", "", c => AllNear(c, ClockDistance.Ms), "time passes between the two servers"),
        new("HEXPIRETIME", "", c => AllNear(c, ClockDistance.Ms / 1000, unitMs: 1000), "a relative expiry starts when each server executes it"),
        new("HPEXPIRETIME", "", c => AllNear(c, ClockDistance.Ms, unitMs: 1), "a relative expiry starts when each server executes it"),
        .. ((string[])["SMEMBERS", "SINTER", "SUNION", "SDIFF"]).Select(command => new Row(command, "", c => SameElements(c.Oracle, c.Subject), "the order of members is not specified")),
        new("SPOP", "", SameSample, "the member is random; streams check it against the set (RandomSample)"),
        new("SRANDMEMBER", "", SameSample, "the member is random"),
        new("SSCAN", "", SameMemberScan, "the order of members and the pages of a scan are not specified"),
        new("OBJECT", "ENCODING", c => (c.Word(2).StartsWith("SET:RESULT:", StringComparison.Ordinal) || RandomSource.IsJunk(c.Command[2])) && Both(c, v => v.Text is "listpack" or "hashtable"), "a stored union or difference becomes a table if too many integers come before the first text, and the order of a table's members is random"),
        new("OBJECT", "ENCODING", c => Both(c, v => v.Text is "listpack" or "quicklist"), "after a change of list-max-listpack-size, or LSET of a long element, nodes end elsewhere: see NotCopied"),
        new("TIME", "", SimilarTime, "time passes between the two servers"),
        new("KEYS", "", c => SameElements(c.Oracle, c.Subject), "the order of keys is not specified"),
        new("SCAN", "", SameScan, "the order of keys is not specified"),
        new("HGETALL", "", c => SamePairs(c.Oracle, c.Subject), "the order of a table's fields is not specified"),
        new("HKEYS", "", c => SameElements(c.Oracle, c.Subject), "the order of a table's fields is not specified"),
        new("HVALS", "", c => SameElements(c.Oracle, c.Subject), "the order of a table's fields is not specified"),
        new("HRANDFIELD", "", SameSample, "the fields are random, their number is not"),
        new("HSCAN", "", SameFieldScan, "the order of a table's fields is not specified"),
        new("RANDOMKEY", "", c => Both(c, v => v.Marker == '$' && !v.IsNull), "the key is random; null is only allowed without keys"),
        new("OBJECT", "IDLETIME", c => Near(c, ClockDistance.Ms / 1000), "time passes between the two servers"),
        new("OBJECT", "IDLETIME", c => Both(c, v => v.IsInteger && v.Number >= 0) && (c.Subject.Number <= c.Oracle.Number || c.Subject.Number > SecondsOfNoTest), "in Redis all keys with the same small integer share its clock, which setting a key does not change; after a change of policy an LFU counter reads as a long time"),
        new("OBJECT", "FREQ", c => Both(c, v => v.IsInteger && v.Number is >= 0 and <= 255), "the access counter is probabilistic"),
        new("OBJECT", "REFCOUNT", c => Both(c, v => v.IsInteger && v.Number is 1 or int.MaxValue), "whether Redis shares a small integer also depends on its origin: a copy has its own"),
        new("HSETEX", "", c => Both(c, v => v.IsError) && c.Oracle.Text.ToUpperInvariant() is "ERR UNKNOWN ARGUMENT: NX" or "ERR UNKNOWN ARGUMENT: XX", "conditions of Valkey's on the key"),
        .. ((string[])["HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT", "HGETEX", "HSETEX"])
            .Select(command => new Row(command, "", c => Both(c, v => v.IsError) && FieldListErrors.Contains(c.Oracle.Text), "options may follow the fields since Redis 8.4, with other errors, which are compared with Redis 8.6")),
        .. ((string[])["EXEC", "EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO", "FCALL", "FCALL_RO"]).Select(command => new Row(command, "", c => SameButFieldListErrors(c.Oracle, c.Subject), "the same in transactions and scripts")),
        new("XREADGROUP", "", c => StreamDifferences.SameClaims(c.Oracle, c.Subject), "time passes between the two servers"),
        new("DUMP", "", c => Both(c, v => v.Marker == '$' && !v.IsNull && VersionOf(v.Payload) == DumpVersion), "list nodes end elsewhere, and compressed data is ambiguous: dumps are compared by restoring them"),
        new("MEMORY", "USAGE", c => Both(c, v => v.IsInteger && v.Number > 0), "memory sizes are specific to the server"),
        new("MEMORY", "DOCTOR", c => Both(c, v => v.IsString), "prose about the server's memory"),
        new("DEBUG", "OBJECT", c => Both(c, v => v.Marker == '+' && DebugObject().IsMatch(v.Text)), "addresses and memory sizes are specific to the server"),
        new("LOLWUT", "", c => Both(c, v => v.IsString && LolwutEnd().IsMatch(v.Text)), "only the last line, the version, is specified"),
        new("HELLO", "", SameHello, "versions and client ids are specific to the server"),
        new("MODULE", "LIST", c => SameModules(c.Oracle, c.Subject), "Debian's Redis has no other modules"),
        new("CLIENT", "ID", c => Both(c, v => v.IsInteger && v.Number > 0), "client ids are specific to the server"),
        new("CLIENT", "INFO", c => SameClientLines(c, exactly: 1), "addresses, ages and buffer sizes are specific to the server; "),
        new("CLIENT", "LIST", c => SameClientLines(c, exactly: null), "addresses, ages and buffer sizes are specific to the server; "),
        new("COMMAND", "", c => (c.Command.Length == 1 || (c.Command.Length == 2 && c.Word(1) == "INFO")) && SameCommandsInCommon(c.Oracle, c.Subject), "the order of commands is not specified; RedKite lacks some"),
        new("COMMAND", "COUNT", c => Both(c, v => v.IsInteger) && c.Oracle.Number - c.Subject.Number == AbsentCommands.ByGroup.Values.Sum(names => names.Count(name => !name.Contains('|', StringComparison.Ordinal))) - AddedCommands.Count, "RedKite lacks some, and has some of its own"),
        new("COMMAND", "LIST", c => Both(c, v => v.Marker == '*') && c.Oracle.Items.Select(name => name.Text).Where(name => !AbsentCommands.Contains(name)).Order().SequenceEqual(c.Subject.Items.Select(name => name.Text).Where(name => !AddedCommands.Contains(name)).Order()), "the order of names is not specified; RedKite lacks some, and has some of its own"),
        new("COMMAND", "INFO", SameCommandInfo, "subcommands are unordered, and the notes of key specifications are in RedKite's own words"),
        new("COMMAND", "DOCS", SameCommandDocs, "summaries are in RedKite's own words"),
        .. ((string[])["GETKEYS", "GETKEYSANDFLAGS"]).Select(subcommand => new Row("COMMAND", subcommand, c => c.Oracle.Marker == '*' && c.Subject.IsError && c.Subject.Text == "ERR Invalid arguments specified for command", "Redis finds keys in requests that it would refuse, with numbers of keys that only atoi reads")),
        new("CONFIG", "SET", c => Both(c, v => v.IsError) && NewerWords.Aggregate(c.Subject.Text, (text, word) => text.Replace(word, "", StringComparison.Ordinal)) == c.Oracle.Text, "errors list what newer versions accept"),
        new("CONFIG", "GET", c => SamePairs(c.Oracle, c.Subject, without: NewerSettings), "parameters that match a pattern are unordered; RedKite has some of newer versions"),
        new("CONFIG", "GET", c => c.Command.Any(word => word is [(byte)'*']) && SameCommonPairs(c.Oracle, c.Subject), "each server has parameters that the other lacks; common ones have the same values"),
        new("ZRANDMEMBER", "", SortedSetDifferences.SameSample, "the members are random"),
        new("ZSCAN", "", SortedSetDifferences.SameScan, "the order of members is not specified"),
        new("XADD", "", c => c.Command.Any(word => word is [(byte)'*']) && StreamDifferences.NearIds(c), "ids come from each server's clock"),
        new("XPENDING", "", StreamDifferences.SamePending, "time passes between the two servers"),
        new("XINFO", "", c => c.Word(1) is "STREAM" or "GROUPS" or "CONSUMERS" && StreamDifferences.SameInfo(c.Oracle, c.Subject), "time passes between the two servers; RedKite has no radix tree"),
        new("SLOWLOG", "GET", c => Both(c, v => v.Marker == '*' && v.Items.All(entry => entry.Items.Count is 6 or 7)), "which commands were slow is random; entries have the number of arguments since Redis 8.10"),
        new("SLOWLOG", "LEN", c => Both(c, v => v.IsInteger && v.Number >= 0), "which commands were slow is random"),
        new("VSIM", "", c => VectorDifferences.AreNear(c.Oracle, c.Subject), "scores are sums in another order"),
        new("VEMB", "", c => VectorDifferences.AreNear(c.Oracle, c.Subject), "components are products in another order"),
        new("VINFO", "", c => VectorDifferences.SameInfo(c.Oracle, c.Subject), "levels are random, and ids are counted by each server"),
        new("VLINKS", "", c => Both(c, v => v.Marker == '*' && !v.IsNull), "links depend on levels, which are random"),
        new("VRANDMEMBER", "", SameSample, "the elements are random, their number is not"),
        new("LATENCY", "HISTOGRAM", SameHistogramShape, "latencies are specific to the server"),
        .. ((string[])["CLIENT", "OBJECT", "MEMORY", "CONFIG", "COMMAND", "SLOWLOG", "LATENCY", "DEBUG", "XGROUP", "XINFO"])
            .Select(command => new Row(command, "HELP", SameHelp, "explanations are RedKite's own words; later versions add subcommands")),
    ];

    /// <summary>Whether a row allows these two different replies.</summary>
    public static bool Allow(Comparison comparison) => Array.Exists(Rows, row => row.Matches(comparison) && row.Accepts(comparison));

    private static bool Both(Comparison c, Func<RespValue, bool> predicate) => predicate(c.Oracle) && predicate(c.Subject);

    // A script may reply an error as text, and errors of scripts end with the script's name.
    private static bool SameButFieldListErrors(RespValue oracle, RespValue subject) =>
        oracle.Equals(subject)
        || (oracle.IsAggregate && oracle.Marker == subject.Marker && oracle.Items.Count == subject.Items.Count && oracle.Items.Zip(subject.Items, SameButFieldListErrors).All(static same => same))
        || (oracle.Marker == subject.Marker && (oracle.IsError || oracle.IsString) && Array.Exists(FieldListErrors, error => oracle.Text.StartsWith(error, StringComparison.Ordinal)) && subject.Text.StartsWith("ERR ", StringComparison.Ordinal));

    // Negative replies mean a missing key or no expiry, and must be equal.
    private static bool Near(Comparison c, long distance) =>
        Both(c, v => v.IsInteger && v.Number >= 0) && Math.Abs(c.Oracle.Number - c.Subject.Number) <= distance;

    // Times that commands of a stream say, rather than distances from now, are beyond all those distances. They must be equal.
    private static bool IsAbsolute(Comparison c, int unitMs) => Math.Max(c.Oracle.Number, c.Subject.Number) >= RandomSource.FarFutureSeconds * 1000 / unitMs;

    private static bool AllNear(Comparison c, long distance, int unitMs = 0) =>
        Both(c, v => v.Marker == '*') && c.Oracle.Items.Count == c.Subject.Items.Count
        && c.Oracle.Items.Zip(c.Subject.Items).All(pair => pair.First.Equals(pair.Second) || IsNear(new Comparison(c.Command, pair.First, pair.Second), distance, unitMs));

    private static bool IsNear(Comparison c, long distance, int unitMs) => Near(c, distance) && (unitMs == 0 || !IsAbsolute(c, unitMs));

    private static bool SameMemberScan(Comparison c)
    {
        if (!Both(c, v => v.Marker == '*' && v.Items.Count == 2 && v.Items[0].Marker == '$' && UnsignedNumber().IsMatch(v.Items[0].Text) && v.Items[1].Marker == '*'))
            return false;
        bool whole = c.Word(2) == "0" && Both(c, v => v.Items[0].Text == "0");
        return !whole || SameElements(c.Oracle.Items[1], c.Subject.Items[1]);
    }

    private static bool SimilarTime(Comparison c) =>
        Both(c, v => v.Marker == '*' && v.Items.Count == 2 && v.Items.All(item => item.Marker == '$' && UnsignedNumber().IsMatch(item.Text)))
        && Math.Abs(Number(c.Oracle.Items[0]) - Number(c.Subject.Items[0])) <= ClockDistance.Ms / 1000
        && Number(c.Subject.Items[1]) < 1_000_000;

    private static bool SameScan(Comparison c)
    {
        if (!Both(c, v => v.Marker == '*' && v.Items.Count == 2 && v.Items[0].Marker == '$' && UnsignedNumber().IsMatch(v.Items[0].Text) && v.Items[1].Marker == '*'))
            return false;
        bool whole = c.Word(1) == "0" && Both(c, v => v.Items[0].Text == "0");
        return !whole || SameElements(c.Oracle.Items[1], c.Subject.Items[1]);
    }

    // Cursors of a partial scan are specific to the server; a complete scan has the same pairs.
    private static bool SameFieldScan(Comparison c)
    {
        bool fieldsOnly = Enumerable.Range(3, c.Command.Length).Any(i => c.Word(i) == "NOVALUES");
        if (!Both(c, v => v.Marker == '*' && v.Items.Count == 2 && v.Items[0].Marker == '$' && UnsignedNumber().IsMatch(v.Items[0].Text) && v.Items[1].Marker == '*' && (fieldsOnly || v.Items[1].Items.Count % 2 == 0)))
            return false;
        bool whole = c.Word(2) == "0" && Both(c, v => v.Items[0].Text == "0");
        if (whole && fieldsOnly) return SameElements(c.Oracle.Items[1], c.Subject.Items[1]);
        return !whole || SamePairs(c.Oracle.Items[1], c.Subject.Items[1]);
    }

    // One element or none, or the same number of the same kind: elements or pairs.
    private static bool SameSample(Comparison c) =>
        c.Oracle.Marker == c.Subject.Marker && c.Oracle.IsNull == c.Subject.IsNull && !c.Oracle.IsError
        && c.Oracle.Items.Select(item => (item.Marker, item.Items.Count)).SequenceEqual(c.Subject.Items.Select(item => (item.Marker, item.Items.Count)));

    private static bool SameHello(Comparison c)
    {
        if (!Both(c, v => v.Marker is '%' or '*' && v.Items.Count == 14 && v["id"] is { IsInteger: true } && v["version"] is { } version && Version().IsMatch(version.Text)))
            return false;
        return c.Oracle.Marker == c.Subject.Marker && Enumerable.Range(0, 14).All(i =>
            c.Oracle.Items[i].Equals(c.Subject.Items[i]) || (i % 2 == 1 && (c.Oracle.Items[i - 1].Text is "id" or "version" || (c.Oracle.Items[i - 1].Text == "modules" && SameModules(c.Oracle.Items[i], c.Subject.Items[i])))));
    }

    private static bool SameModules(RespValue oracle, RespValue subject) =>
        oracle.Items.Count < subject.Items.Count && oracle.Items.SequenceEqual(subject.Items.Take(oracle.Items.Count)) && subject.Items.Skip(oracle.Items.Count).All(module => OtherModules.Contains(module["name"]!.Text));

    private static int VersionOf(byte[]? dump) => dump is { Length: > 10 } ? dump[^10] | (dump[^9] << 8) : 0;

    // The oracle's fields must all be present in order, and those with the connection's state must be equal.
    private static bool SameClientLines(Comparison c, int? exactly)
    {
        if (!Both(c, v => v.Marker is '$' or '=' && !v.IsNull) || c.Oracle.Marker != c.Subject.Marker) return false;
        string[] oracle = c.Oracle.Text.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        string[] subject = c.Subject.Text.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        if (oracle.Length == 0 || subject.Length != oracle.Length || (exactly is { } count && subject.Length != count)) return false;
        List<string> unmatched = [.. subject];
        return oracle.All(line => unmatched.FindIndex(other => SameClientLine(line, other)) is >= 0 and int found && RemoveAt(unmatched, found));

        static bool RemoveAt(List<string> lines, int index)
        {
            lines.RemoveAt(index);
            return true;
        }
    }

    private static bool SameClientLine(string oracle, string subject)
    {
        string[] state = ["name", "db", "flags", "sub", "psub", "ssub", "multi", "user", "redir", "resp"];
        List<string[]> given = [.. subject.Split(' ').Select(field => field.Split('=', 2))];
        int at = 0;
        foreach (string[] field in oracle.Split(' ').Select(field => field.Split('=', 2)))
        {
            int found = given.FindIndex(at, candidate => candidate[0] == field[0] && candidate.Length == field.Length);
            if (found < 0 || (state.Contains(field[0]) && given[found][1] != field[1])) return false;
            at = found + 1;
        }

        return true;
    }

    private static bool SameCommandInfo(Comparison c) =>
        Both(c, v => v.Marker == '*') && c.Oracle.Items.Count == c.Subject.Items.Count
        && c.Oracle.Items.Zip(c.Subject.Items).All(pair => SameCommandEntry(pair.First, pair.Second));

    // Name, arity and key positions in order; sets of flags, categories, tips and key specifications; then subcommands by name.
    private static bool SameCommandEntry(RespValue oracle, RespValue subject, bool inCommon = false)
    {
        if (oracle.IsNull || subject.IsNull) return oracle.Equals(subject);
        if (oracle.Items.Count != 10 || subject.Items.Count != 10) return false;
        string name = subject.Items[0].Text;
        for (int i = 0; i < 9; i++)
        {
            // As in Redis 8.6, commands of vector sets have a number of arguments, and subscribing is refused when memory is full.
            if (i == 1 && char.IsAsciiLetterUpper(name[0])) continue;
            if (i == 2 && name.EndsWith("subscribe", StringComparison.Ordinal) && Sorted(subject.Items[i]).Replace("+denyoom ", "", StringComparison.Ordinal) == Sorted(oracle.Items[i])) continue;
            if (Sorted(WithoutNotes(oracle.Items[i])) != Sorted(WithoutNotes(subject.Items[i]))) return false;
        }

        return inCommon
            ? oracle.Items[9].Items.Count == 0 || SameCommandsInCommon(oracle.Items[9], subject.Items[9])
            : SameCommands(oracle.Items[9], subject.Items[9]);
    }

    // The notes of key specifications are prose in RedKite's own words: only their presence must be the same.
    private static RespValue WithoutNotes(RespValue value)
    {
        if (!value.IsAggregate) return value;
        bool follows = false;
        List<RespValue> items = [];
        foreach (RespValue item in value.Items)
        {
            items.Add(follows ? RespValue.Scalar('$', []) : WithoutNotes(item));
            follows = item.Marker == '$' && item.Text == "notes";
        }

        return RespValue.Aggregate(value.Marker, [.. items]);
    }

    private static bool SameCommandsInCommon(RespValue oracle, RespValue subject)
    {
        HashSet<string> given = [.. subject.Items.Where(entry => !entry.IsNull).Select(entry => entry.Items[0].Text)];
        RespValue[] common = [.. oracle.Items.Where(entry => !entry.IsNull && given.Contains(entry.Items[0].Text))];
        return common.Length > 0 && SameCommands(RespValue.Aggregate('*', common), subject, inCommon: true);
    }

    // Every command of the oracle, and possibly more.
    private static bool SameCommands(RespValue oracle, RespValue subject, bool inCommon = false)
    {
        ILookup<string, RespValue> given = subject.Items.ToLookup(entry => entry.Items.Count == 0 ? "" : entry.Items[0].Text);
        return oracle.Items.All(entry => given[entry.Items[0].Text].FirstOrDefault() is { } match && SameCommandEntry(entry, match, inCommon));
    }

    private static bool SameCommandDocs(Comparison c)
    {
        // Without names all commands are listed: compares those that both have.
        bool all = c.Command.Length == 2;
        if (c.Oracle.Marker != c.Subject.Marker || c.Subject.Items.Count == 0 || (!all && !SameElements(Names(c.Oracle), Names(c.Subject)))) return false;
        for (int i = 0; i < c.Oracle.Items.Count; i += 2)
        {
            RespValue oracle = c.Oracle.Items[i + 1];
            RespValue? subject = c.Subject[c.Oracle.Items[i].Text];
            if (all && subject is null) continue;
            if (subject is not null && char.IsAsciiLetterUpper(c.Oracle.Items[i].Text[0])) continue; // of a module: documented since Redis 8.6
            if (subject is null || oracle["summary"]?.Marker != subject["summary"]?.Marker) return false;
            if (!Equals(oracle["since"], subject["since"]) || !Equals(oracle["group"], subject["group"])) return false;
        }

        return true;

        static RespValue Names(RespValue map) => RespValue.Aggregate('*', [.. map.Items.Where((_, i) => i % 2 == 0)]);
    }

    private static bool SamePairs(RespValue oracle, RespValue subject, params string[] without) =>
        oracle.Marker == subject.Marker && oracle.IsAggregate
        && oracle.Items.Chunk(2).Select(pair => $"{pair[0]} {pair[1]}").Order()
            .SequenceEqual(subject.Items.Chunk(2).Where(pair => !without.Contains(pair[0].Text)).Select(pair => $"{pair[0]} {pair[1]}").Order());

    // The server's address is its own; every other common field must be the same.
    private static bool SameCommonPairs(RespValue oracle, RespValue subject)
    {
        string[] own = ["port", "bind", "dir", "logfile", "pidfile", "unixsocket", "maxclients", "proc-title-template", "locale-collate"];
        return oracle.Marker == subject.Marker && oracle.Items.Chunk(2).All(pair =>
            own.Contains(pair[0].Text) || subject[pair[0].Text] is not { } value || value.Equals(pair[1]));
    }

    private static bool SameHistogramShape(Comparison c) =>
        c.Oracle.Marker == c.Subject.Marker && Both(c, v => v.IsAggregate && v.Items.Count % 2 == 0
        && v.Items.Chunk(2).All(pair => CommandName().IsMatch(pair[0].Text) && pair[1]["calls"] is { IsInteger: true } && pair[1]["histogram_usec"] is { IsAggregate: true }));

    // The heading is exact, followed by the subcommands with indented explanations.
    private static bool SameHelp(Comparison c)
    {
        if (!Both(c, v => v.Marker == '*' && v.Items.Count > 2 && v.Items.All(line => line.Marker == '+'))) return false;
        HashSet<string> subject = [.. Subcommands(c.Subject)];
        return c.Oracle.Items[0].Equals(c.Subject.Items[0]) && Subcommands(c.Oracle).All(subject.Contains);

        static IEnumerable<string> Subcommands(RespValue help) =>
            help.Items.Skip(1).Select(line => line.Text).Where(line => !line.StartsWith(' ')).Select(line => line.Split(' ')[0]);
    }

    private static bool SameElements(RespValue oracle, RespValue subject) =>
        oracle.Marker == subject.Marker && oracle.IsAggregate
        && oracle.Items.Select(item => item.ToString()).Order().SequenceEqual(subject.Items.Select(item => item.ToString()).Order());

    private static string Sorted(RespValue value) =>
        value.IsAggregate ? $"{value.Marker}[{string.Join(' ', value.Items.Select(Sorted).Order())}]" : value.ToString();

    private static long Number(RespValue bulk) => long.Parse(bulk.Text, CultureInfo.InvariantCulture);

    [GeneratedRegex("^[0-9]{1,20}$")]
    private static partial Regex UnsignedNumber();

    [GeneratedRegex(@"^[0-9]+\.[0-9]+\.[0-9]+$")]
    private static partial Regex Version();

    [GeneratedRegex(@"^[a-z0-9_.|-]+$")]
    private static partial Regex CommandName();

    [GeneratedRegex(@"^Value at:0x[0-9a-f]+ refcount:[0-9]+ encoding:[a-z]+ serializedlength:[0-9]+ lru:[0-9]+ lru_seconds_idle:[0-9]+")]
    private static partial Regex DebugObject();

    [GeneratedRegex(@"Redis ver\. [0-9]+\.[0-9]+\.[0-9]+\n$")]
    private static partial Regex LolwutEnd();

    /// <param name="Command">The command's name in upper case.</param>
    /// <param name="Subcommand">Its first argument in upper case; empty for any.</param>
    /// <param name="Accepts">The requirement that the two replies must still meet.</param>
    /// <param name="Reason">Why the replies may differ.</param>
    private sealed record Row(string Command, string Subcommand, Func<Comparison, bool> Accepts, string Reason)
    {
        public bool Matches(Comparison c) => c.Name == Command && (Subcommand.Length == 0 || c.Word(1) == Subcommand);
    }
}
