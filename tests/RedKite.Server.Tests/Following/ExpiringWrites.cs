using System.Globalization;

namespace RedKite.Server.Tests.Following;

/// <summary>Random commands that give members of sets an expiry, and that add entries to streams once; and what has come of them.</summary>
internal sealed class ExpiringWrites(int seed, Func<string, string> run)
{
    private const int Keys = 4;
    private const int Members = 40;

    private readonly Random _random = new(seed);

    // Requests that repeat an entry: each replies its id as long as it is remembered.
    private readonly List<string> _repeated = [];

    internal void Run(int commands)
    {
        for (int i = 0; i < commands; i++)
        {
            string request = Request();
            string reply = run(request);
            Assert.False(reply.StartsWith("ERR", StringComparison.Ordinal), $"{request}: {reply}");
        }
    }

    /// <summary>Repeats the latest entries.</summary>
    /// <returns>Requests of those that are remembered, with the reply.</returns>
    internal Dictionary<string, string> Remembered()
    {
        var remembered = new Dictionary<string, string>(StringComparer.Ordinal);
        foreach (string request in _repeated.TakeLast(20))
        {
            string length = "XLEN " + request.Split(' ')[1];
            string before = run(length), id = run(request);
            if (run(length) == before) remembered[request] = id;
        }

        Assert.NotEmpty(remembered);
        return remembered;
    }

    /// <summary>All members with their expiries, all entries, and what streams remember of their producers.</summary>
    internal static string StateOf(Func<string, string> run, Func<string, string[]> list)
    {
        var lines = new List<string>();
        for (int key = 0; key < Keys; key++)
        {
            foreach (string member in list($"SMEMBERS set{key}").Order(StringComparer.Ordinal)) lines.Add($"set{key} {member} {run($"SPEXPIRETIME set{key} MEMBERS 1 {member}")}");
            if (run($"EXISTS stream{key}") == "0") continue;
            string[] info = list($"XINFO STREAM stream{key}");
            for (int i = 0; i + 1 < info.Length; i += 2)
            {
                if (info[i] is "length" or "last-generated-id" or "entries-added" or "idmp-duration" or "idmp-maxsize" or "pids-tracked" or "iids-tracked" or "iids-added") lines.Add($"stream{key} {info[i]} {info[i + 1]}");
            }
        }

        return string.Join('\n', lines);
    }

    private string Request()
    {
        int key = _random.Next(Keys);
        string members = string.Join(' ', Enumerable.Range(0, _random.Next(1, 5)).Select(_ => "m" + _random.Next(Members).ToString(CultureInfo.InvariantCulture)));
        string list = $"MEMBERS {members.Split(' ').Length} {members}";
        int seconds = _random.Next(8) == 0 ? 0 : _random.Next(10_000, 20_000);
        string condition = _random.Next(8) switch { 0 => "NX ", 1 => "XX ", 2 => "GT ", 3 => "LT ", _ => "" };
        switch (_random.Next(16))
        {
            case 0 or 1:
                return $"SADD set{key} {members}";
            case 2 or 3:
                return $"SEXPIRE set{key} {seconds} {condition}{list}";
            case 4:
                return $"SPEXPIRE set{key} {seconds * 1000} {condition}{list}";
            case 5:
                return $"SEXPIREAT set{key} {(seconds == 0 ? 0 : 4_000_000_000 + seconds)} {condition}{list}";
            case 6:
                return $"SPEXPIREAT set{key} {(seconds == 0 ? 0 : 4_000_000_000_000 + seconds)} {condition}{list}";
            case 7:
                return $"SPERSIST set{key} {list}";
            case 8:
                return $"SADDEX set{key} {(_random.Next(3) switch { 0 => "MNX ", 1 => "MXX ", _ => "" })}{(_random.Next(3) switch { 0 => "KEEPTTL ", 1 => $"EX {seconds} ", _ => "" })}{list}";
            case 9:
                return _random.Next(20) == 0 ? $"DEL set{key}" : $"SREM set{key} {members}";
            case 10 when _random.Next(4) == 0:
                return $"XCFGSET stream{key} IDMP-DURATION {_random.Next(50_000, 60_000)} IDMP-MAXSIZE {_random.Next(20, 40)}";
            case 11:
                return $"XADD stream{key} IDMPAUTO p{_random.Next(3)} * a {_random.Next(30)}";
            case 12:
                return $"XADD stream{key} IDMP p{_random.Next(3)} {_random.Next(100)} MAXLEN {_random.Next(50, 60)} * a {_random.Next(1000)}";
            default:
                string request = $"XADD stream{key} IDMP p{_random.Next(3)} {_random.Next(100)} * a ";
                _repeated.Add(request + "other");
                return request + _random.Next(1000).ToString(CultureInfo.InvariantCulture);
        }
    }
}
