using System.Collections.Frozen;
using System.Globalization;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Requests of commands and options that Redis 8.0 lacks or parses otherwise, with what clients get wrong: arguments that are missing, surplus, repeated,
/// exchanged or no numbers, options without values or of other commands, and keys that are missing or of another type.
/// </summary>
internal static class WrongArgumentGenerator
{
    /// <summary>The keys that requests name.</summary>
    public static readonly string[][] Data =
    [
        ["FLUSHALL"],
        ["SET", "s", "abc"],
        ["SET", "n", "10"],
        ["HSET", "h", "f1", "v1", "f2", "v2", "f3", "3"],
        ["RPUSH", "l", "a", "b"],
        ["XADD", "x", "1-1", "f", "v"],
        ["XADD", "x", "2-1", "f", "v"],
        ["XADD", "x", "3-1", "f", "v"],
        ["XADD", "x", "4-1", "f", "v"],
        ["XGROUP", "CREATE", "x", "g", "0"],
        ["XREADGROUP", "GROUP", "g", "c", "COUNT", "2", "STREAMS", "x", ">"],
    ];

    private static readonly string[] Keys = ["s", "n", "h", "l", "x", "missing"];

    private static readonly string[] Numbers =
        ["0", "-1", "1", "2", "3", "x", "1.5", "99999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "", "+1", "01", " 1", "4611686018427387904", "2147483648"];

    private static readonly string[] Options =
    [
        "GT", "LT", "EX", "PX", "EXAT", "PXAT", "KEEPTTL", "PERSIST", "GET", "NX", "XX", "IFEQ", "IFNE", "IFDEQ", "IFDNE", "FNX", "FXX", "FIELDS", "IDS", "KEEPREF", "DELREF", "ACKED", "COUNT", "CLAIM",
        "NOACK", "GROUP", "MAXLEN", "MINID", "LIMIT", "=", "~", "IDMP", "IDMPAUTO", "IDMP-DURATION", "IDMP-MAXSIZE", "NOMKSTREAM", "MKSTREAM", "ENTRIESREAD", "FULL", "FOO",
    ];

    // Correct requests.
    private static readonly string[][] Requests = [.. """
        SET s v IFEQ abc
        SET s v IFNE abc GET
        SET s v IFDEQ 0123456789abcdef
        SET s v IFDNE 0123456789abcdef
        SET s v IFEQ abc EX 100 GET
        SET s v IFNE x XX
        DELEX s
        DELEX s IFEQ abc
        DELEX s IFDNE 0123456789abcdef
        DIGEST s
        MSETEX 2 s v n 5
        MSETEX 1 s v XX EX 100
        MSETEX 2 s v n 6 KEEPTTL XX
        BITOP DIFF d s n
        BITOP ANDOR d s n s
        BITOP ONE d s
        HEXPIRE h 100 NX FIELDS 2 f1 f2
        HEXPIRE h 100 FIELDS 1 f1 NX
        HPEXPIRE h 100000 GT FIELDS 1 f1
        HEXPIREAT h 9999999999 LT FIELDS 1 f1
        HPEXPIREAT h 9999999999000 FIELDS 1 f1 XX
        HGETEX h FIELDS 1 f1
        HGETEX h EX 100 FIELDS 2 f1 f2
        HGETEX h FIELDS 1 f1 PERSIST
        HSETEX h FIELDS 1 f1 v
        HSETEX h FNX EX 100 FIELDS 1 f9 v
        HSETEX h FIELDS 2 f1 v f2 v FXX EXAT 9999999999
        HSETEX h PERSIST FIELDS 1 f1 v
        HGETEX h KEEPTTL FIELDS 1 f1
        HGETEX h FNX FIELDS 1 f1 PX 100000
        HGETDEL h FIELDS 2 f1 f2
        HPERSIST h FIELDS 1 f1
        XADD x KEEPREF MAXLEN 3 9-1 f v
        XADD x ACKED MINID 2 9-1 f v
        XADD x IDMP p i 9-1 f v
        XADD missing NOMKSTREAM IDMP p i * f v
        XADD missing NOMKSTREAM IDMPAUTO p * f v
        XTRIM x MAXLEN = 2 ACKED
        XTRIM x MAXLEN ~ 2 LIMIT 10 KEEPREF
        XDELEX x IDS 2 1-1 2-1
        XDELEX x ACKED IDS 1 1-1
        XDELEX x IDS 1 1-1 DELREF
        XACKDEL x g IDS 2 1-1 2-1
        XACKDEL x g DELREF IDS 1 1-1
        XREADGROUP GROUP g c CLAIM 1000000 STREAMS x >
        XREADGROUP GROUP g c COUNT 1 CLAIM 1000000 NOACK STREAMS x >
        XGROUP CREATE x g3 $ MKSTREAM ENTRIESREAD 2
        XGROUP SETID x g 2-1 ENTRIESREAD 100
        XINFO STREAM x
        XINFO STREAM x FULL COUNT 2
        XINFO GROUPS x
        XCFGSET x IDMP-DURATION 100
        XCFGSET x IDMP-MAXSIZE 50 IDMP-DURATION 7
        XIDMPRECORD x p i 9-9
        CLUSTER SLOT-STATS SLOTSRANGE 0 1
        CLUSTER MIGRATION STATUS ALL
        TRIMSLOTS RANGES 1 0 1
        """.Split('\n').Select(line => line.Split(' '))];

    private static readonly FrozenSet<string> Digests = FrozenSet.Create("IFDEQ", "IFDNE");

    /// <summary>The next request.</summary>
    public static string[] Next(Random random)
    {
        while (true)
        {
            List<string> words = [.. Requests[random.Next(Requests.Length)]];
            for (int changes = random.Next(4); changes > 0; changes--) Spoil(random, words);
            if (IsComparable(words)) return [.. words];
        }
    }

    private static void Spoil(Random random, List<string> words)
    {
        if (words.Count < 2) return;
        int at = 1 + random.Next(words.Count - 1);
        switch (random.Next(10))
        {
            case 0: words.RemoveAt(at); break;
            case 1: words.RemoveRange(at, words.Count - at); break;
            case 2: words.Insert(at, words[at]); break;
            case 3: words.InsertRange(at, words.GetRange(at, Math.Min(2, words.Count - at))); break;
            case 4: words[at] = Pick(random, Numbers); break;
            case 5: ReplaceWhere(random, words, word => double.TryParse(word, CultureInfo.InvariantCulture, out _), Numbers); break;
            case 6: words.Insert(at, Pick(random, Options)); break;
            case 7: words.Insert(at, Pick(random, Numbers)); break;
            case 8: ReplaceWhere(random, words, Keys.Contains, Keys); break;
            default:
                int other = 1 + random.Next(words.Count - 1);
                (words[at], words[other]) = (words[other], words[at]);
                break;
        }
    }

    private static void ReplaceWhere(Random random, List<string> words, Func<string, bool> applies, string[] by)
    {
        int[] found = [.. Enumerable.Range(1, words.Count - 1).Where(at => applies(words[at]))];
        if (found.Length > 0) words[found[random.Next(found.Length)]] = Pick(random, by);
    }

    // NX and XX of HSETEX are Valkey's. Redis 8.6 replies twice to SET with a digest of another length and GET. The ids of XADD with * are of each server's clock.
    private static bool IsComparable(List<string> words) => words[0] switch
    {
        "HSETEX" => !words.Contains("NX") && !words.Contains("XX"),
        "SET" => !words.Contains("GET") || !words.Exists(Digests.Contains),
        "XADD" => !words.Contains("*") || (words.Count > 1 && words[1] == "missing" && words.Contains("NOMKSTREAM")),
        _ => true,
    };

    private static string Pick(Random random, string[] from) => from[random.Next(from.Length)];
}
