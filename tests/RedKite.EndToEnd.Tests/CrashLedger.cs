using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// What clients know about the writes of one sequence, outside of the server: how many they have sent, how many were acknowledged, and how
/// many the server has promised to keep. The server's data must show a number between those promised and those sent.
/// </summary>
internal sealed class LedgerMark(string name)
{
    private readonly Lock _lock = new();
    private readonly Queue<(long Ms, long Count)> _recent = new();
    private long _sent;
    private long _promised;

    internal string Name => name;

    /// <summary>Begins again with what the server has.</summary>
    internal void Restart(long count)
    {
        lock (_lock)
        {
            (_sent, _promised) = (count, count);
            _recent.Clear();
        }
    }

    /// <summary>Notes a write that is about to be sent, and returns its number.</summary>
    internal long Send()
    {
        lock (_lock) return ++_sent;
    }

    /// <summary>Notes a write that was acknowledged.</summary>
    /// <param name="number">Its number.</param>
    /// <param name="nowMs">The time.</param>
    internal void Acknowledge(long number, long nowMs)
    {
        lock (_lock) _recent.Enqueue((nowMs, number));
    }

    /// <summary>Checks what the server has after a crash.</summary>
    /// <param name="found">The writes that the server has.</param>
    /// <param name="promisedMs">Everything that was acknowledged until then must be there.</param>
    internal void Check(long found, long promisedMs)
    {
        lock (_lock)
        {
            while (_recent.TryDequeue(out (long Ms, long Count) acknowledged))
            {
                if (acknowledged.Ms <= promisedMs) _promised = Math.Max(_promised, acknowledged.Count);
            }

            if (found < _promised) throw new LedgerException($"{name}: {_promised} writes were promised, {found} are there ({_sent} were sent)");
            if (found > _sent) throw new LedgerException($"{name}: {_sent} writes were sent, {found} are there");
        }
    }
}

/// <summary>The kinds of writes: each raises a number by one.</summary>
internal enum LedgerKind
{
    Counter,

    /// <summary>A transaction that raises two keys.</summary>
    Unit,

    /// <summary>A script that raises two keys.</summary>
    Script,

    /// <summary>A list of consecutive numbers that ends with the last one.</summary>
    List,

    /// <summary>A string that begins with the number, of a random length.</summary>
    Value,

    /// <summary>A script that adds to a count-min sketch, a t-digest and a Bloom filter.</summary>
    Sketches,

    /// <summary>A time series with a sample for each number, and its compaction.</summary>
    Series,

    /// <summary>A document with the number, a text that is changed with it, and an array that ends with the last one.</summary>
    Document,
}

/// <summary>A client on its own connection, which writes one after the other or in batches until the server has gone.</summary>
internal sealed class LedgerWriter(LedgerKind kind, int database, int batchMax)
{
    private const int ListMax = 300;
    private const int ValueBytesMax = 60_000;
    private const int SeriesBucket = 10;

    /// <summary>The setting by which series are compacted.</summary>
    internal const string SeriesPolicy = "sum:10m:0";

    private const string Script = "redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[2])";

    private const string SketchScript = "if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('CMS.INITBYDIM', KEYS[1], 50, 3) redis.call('TDIGEST.CREATE', KEYS[2]) end "
        + "redis.call('TDIGEST.ADD', KEYS[2], ARGV[1]) redis.call('BF.ADD', KEYS[3], ARGV[1]) return redis.call('CMS.INCRBY', KEYS[1], 'writes', 1)";

    private readonly LedgerMark _mark = new($"{kind.ToString().ToLowerInvariant()}-{database}-{batchMax}");

    /// <summary>Writes until the server closes. What is acknowledged counts if it was promised before it was sent and still is.</summary>
    internal void Run(RespConnection connection, Random random, Func<bool> isPromised, Func<long> nowMs)
    {
        connection.Run($"SELECT {database}");
        var numbers = new List<long>();
        while (true)
        {
            bool promised = isPromised();
            numbers.Clear();
            int count = random.Next(1, batchMax + 1);
            using var requests = new MemoryStream();
            for (int i = 0; i < count; i++)
            {
                numbers.Add(_mark.Send());
                foreach (string line in Requests(numbers[^1], random)) requests.Write(CommandLine.Encode(CommandLine.Split(line)));
            }

            connection.Send(requests.ToArray());
            foreach (long number in numbers)
            {
                if (!ReadReplies(connection)) return;
                if (promised && isPromised()) _mark.Acknowledge(number, nowMs());
            }

            if (random.Next(8) == 0) Thread.Sleep(random.Next(4));
        }
    }

    /// <summary>Checks what a server has after a crash, and goes on from there.</summary>
    internal void Check(RespConnection connection, long promisedMs)
    {
        connection.Run($"SELECT {database}");
        long found = Found(connection);
        _mark.Check(found, promisedMs);
        _mark.Restart(found);
    }

    private string Key => _mark.Name;

    private string[] Requests(long number, Random random) => kind switch
    {
        LedgerKind.Counter => [$"INCR {Key}"],
        LedgerKind.Unit => ["MULTI", $"INCR {Key}", $"INCR {Key}-other", "EXEC"],
        LedgerKind.Script => [$"EVAL \"{Script}\" 2 {Key} {Key}-other"],
        LedgerKind.Sketches => [$"EVAL \"{SketchScript}\" 3 {Key} {Key}-digest {Key}-filter {number}"],
        LedgerKind.List => [$"RPUSH {Key} {number}", $"LTRIM {Key} -{ListMax} -1"],
        LedgerKind.Series => [$"TS.ADD {Key} {number} {number}"],
        LedgerKind.Document => DocumentRequests(number, random),
        _ => [$"SET {Key} {Value(number, random.Next(16) == 0 ? random.Next(ValueBytesMax) : random.Next(100))}"],
    };

    // The last request has the number: before it, the write is not there.
    private string[] DocumentRequests(long number, Random random)
    {
        string text = new('x', random.Next(16) == 0 ? random.Next(ValueBytesMax) : random.Next(100));
        return
        [
            "MULTI",
            $$"""JSON.SET {{Key}} $ '{"number":0,"text":"","list":[]}' NX""",
            $"JSON.SET {Key} $.text '\"{text}\"'",
            $"JSON.ARRAPPEND {Key} $.list {number}",
            $"JSON.ARRTRIM {Key} $.list -{ListMax} -1",
            $"JSON.NUMINCRBY {Key} $.number 1",
            "EXEC",
        ];
    }

    private static string Value(long number, int length) => $"{number}:{length}:{new string('x', length)}";

    private bool ReadReplies(RespConnection connection)
    {
        int count = kind switch { LedgerKind.Unit => 4, LedgerKind.List => 2, LedgerKind.Document => 7, _ => 1 };
        for (int i = 0; i < count; i++)
        {
            RespValue reply = connection.Read();
            if (reply.IsClosed) return false;
            if (reply.IsError || reply.IsNull || reply.IsTimeout || reply.Items.Any(item => item.IsError)) throw new LedgerException($"{Key}: {reply}");
        }

        return true;
    }

    private long Found(RespConnection connection)
    {
        switch (kind)
        {
            case LedgerKind.List:
                long[] numbers = [.. connection.Run($"LRANGE {Key} 0 -1").Items.Select(item => item.Number)];
                if (numbers.Length == 0) return 0;
                for (int i = 1; i < numbers.Length; i++)
                {
                    if (numbers[i] != numbers[i - 1] + 1) throw new LedgerException($"{Key}: {numbers[i]} follows {numbers[i - 1]}");
                }

                long expected = Math.Min(numbers[^1], ListMax);
                if (numbers.Length < expected || numbers.Length > expected + 1) throw new LedgerException($"{Key}: {numbers.Length} numbers up to {numbers[^1]}");
                return numbers[^1];
            case LedgerKind.Document:
                string newestText = connection.Run($"JSON.GET {Key} .number").Text;
                if (newestText.Length == 0) return 0;
                long newest = long.Parse(newestText, CultureInfo.InvariantCulture);
                string list = connection.Run($"JSON.GET {Key} $.list[-1]").Text, length = connection.Run($"JSON.ARRLEN {Key} .list").Text;
                if (list != $"[{newest}]") throw new LedgerException($"{Key}: {list} instead of {newest}");
                if (length != Math.Min(newest, ListMax).ToString(CultureInfo.InvariantCulture)) throw new LedgerException($"{Key}: {length} numbers up to {newest}");
                return newest;
            case LedgerKind.Value:
                string[] parts = connection.Run($"GET {Key}").Text.Split(':');
                if (parts.Length == 1) return 0;
                if (parts[2].Length.ToString(CultureInfo.InvariantCulture) != parts[1]) throw new LedgerException($"{Key}: {parts[2].Length} bytes instead of {parts[1]}");
                return long.Parse(parts[0], CultureInfo.InvariantCulture);
            case LedgerKind.Sketches:
                if (connection.Run($"EXISTS {Key} {Key}-digest {Key}-filter").Number == 0) return 0;
                long count = connection.Run($"CMS.QUERY {Key} writes").Items[0].Number, highest = connection.Run($"TDIGEST.MAX {Key}-digest").Number;
                if (count != highest || connection.Run($"BF.EXISTS {Key}-filter {count}").Number != 1) throw new LedgerException($"{Key}: a unit is there in part: {count} and {highest}");
                return count;
            case LedgerKind.Series:
                RespValue sample = connection.Run($"TS.GET {Key}");
                if (sample.IsError) return 0;
                long lastTime = sample.Items[0].Number, closed = lastTime - (lastTime % SeriesBucket);
                if (SumOf(connection, Key) is var sum && sum != lastTime * (lastTime + 1) / 2) throw new LedgerException($"{Key}: the sum of the numbers up to {lastTime} is {sum}");
                if (SumOf(connection, $"{Key}_SUM_{SeriesBucket}") is var compacted && compacted != closed * (closed - 1) / 2) throw new LedgerException($"{Key}: the compacted sum of the numbers below {closed} is {compacted}");
                return lastTime;
            default:
                string text = connection.Run($"GET {Key}").Text;
                if (kind != LedgerKind.Counter && connection.Run($"GET {Key}-other").Text is { } other && other != text)
                {
                    throw new LedgerException($"{Key}: a unit is there in part: {text} and {other}");
                }

                return text.Length == 0 ? 0 : long.Parse(text, CultureInfo.InvariantCulture);
        }
    }

    private static long SumOf(RespConnection connection, string series) =>
        connection.Run($"TS.RANGE {series} - + AGGREGATION sum 1000000000").Items is [var bucket, ..] ? long.Parse(bucket.Items[1].Text, CultureInfo.InvariantCulture) : 0;
}

/// <summary>The server's data contradict what it has acknowledged.</summary>
public sealed class LedgerException(string message, Exception? failure = null) : Exception(message, failure);
