using System.Globalization;
using System.Text;

namespace RedKite.TestSupport;

/// <summary>Fills a real server with random data of every type, in several databases, with expiries, functions and groups.</summary>
public static class RandomData
{
    /// <param name="client">A connection to the server.</param>
    /// <param name="random">The source of all choices.</param>
    /// <param name="keys">The number of keys in each database.</param>
    /// <param name="hasFieldExpiry">Whether the server has HPEXPIREAT.</param>
    public static void Fill(RespConnection client, Random random, int keys, bool hasFieldExpiry)
    {
        Run(client, "FUNCTION", "LOAD", "#!lua name=first\nredis.register_function('first_f', function() return 1 end)");
        Run(client, "FUNCTION", "LOAD", "#!lua name=second\nredis.register_function('second_f', function() return '" + new string('x', 500) + "' end)");
        AddLarge(client, random);
        foreach (int database in (int[])[0, 3, 15])
        {
            Run(client, "SELECT", Text(database));
            for (int i = 0; i < keys; i++)
            {
                string key = random.Next(8) switch { 0 => Text(random.Next(-100_000, 100_000) * 10L + (i % 10)) + i, 1 => new string('k', random.Next(30, 400)) + i, _ => $"key:{i}" };
                Add(client, random, key, hasFieldExpiry);
                if (random.Next(4) == 0) Run(client, "PEXPIREAT", key, Text(DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() + random.Next(100_000_000, 2_000_000_000)));
            }
        }
    }

    // More than a window of the file each, and not compressible.
    private static void AddLarge(RespConnection client, Random random)
    {
        byte[] bytes = new byte[600_000];
        random.NextBytes(bytes);
        Check(client.Run("SET"u8.ToArray(), "large string"u8.ToArray(), bytes));
        foreach (string command in (string[])["HSET", "ZADD", "RPUSH", "SADD"])
        {
            List<string> words = [];
            for (int i = 0; i < 12_000; i++) words.AddRange([Text(i), $"{random.NextInt64():x16}{i}"]);
            Send(client, command, $"large {command}", words);
        }

        for (int i = 1; i <= 300; i++)
        {
            random.NextBytes(bytes.AsSpan(0, 1_500));
            client.Run("XADD"u8.ToArray(), "large stream"u8.ToArray(), Encoding.Latin1.GetBytes($"{i}-1"), "field"u8.ToArray(), bytes[..1_500]);
        }
    }

    private static void Add(RespConnection client, Random random, string key, bool hasFieldExpiry)
    {
        int count = random.Next(12) == 0 ? random.Next(1_000, 3_000) : random.Next(5) == 0 ? random.Next(150, 700) : random.Next(1, 20);
        List<string> words = [];
        switch (random.Next(7))
        {
            case 0:
                Run(client, "SET", key, random.Next(20) == 0 ? Word(random, 700_000) : Word(random, 3_000));
                return;
            case 1:
                for (int i = 0; i < count; i++) words.Add(Word(random, random.Next(60) == 0 ? 20_000 : 40));
                Send(client, random.Next(3) == 0 ? "LPUSH" : "RPUSH", key, words);
                return;
            case 2:
                long range = random.Next(3) switch { 0 => 30_000, 1 => int.MaxValue, _ => long.MaxValue / 2 };
                for (int i = 0; i < count; i++) words.Add(Text(random.NextInt64(-range, range)));
                Send(client, "SADD", key, words);
                return;
            case 3:
                for (int i = 0; i < count; i++) words.Add(Word(random, 80) + i);
                Send(client, "SADD", key, words);
                return;
            case 4:
                for (int i = 0; i < count; i++) words.AddRange([Score(random), Word(random, 80) + i]);
                Send(client, "ZADD", key, words);
                return;
            case 5:
                for (int i = 0; i < count; i++) words.AddRange([Word(random, 30) + i, Word(random, random.Next(9) == 0 ? 200 : 60)]);
                Send(client, "HSET", key, words);
                if (!hasFieldExpiry || random.Next(2) == 0) return;
                foreach (string[] fields in words.Where((_, i) => i % 2 == 0 && random.Next(2) == 0).Chunk(100))
                {
                    Run(client, ["HPEXPIREAT", key, Text(4_000_000_000_000 + random.Next(1_000_000)), "FIELDS", Text(fields.Length), .. fields]);
                }

                return;
            default:
                AddStream(client, random, key, Math.Min(count, 700));
                return;
        }
    }

    private static void AddStream(RespConnection client, Random random, string key, int count)
    {
        int ms = 1_000;
        for (int i = 0; i < count; i++)
        {
            ms += random.Next(3);
            List<string> words = [$"{ms}-{i + 1}"];
            for (int pairs = random.Next(5) == 0 ? random.Next(1, 4) : 2; pairs > 0; pairs--) words.AddRange([$"name{pairs}", Word(random, 50)]);
            Send(client, "XADD", key, words);
            if (random.Next(10) == 0) Run(client, "XDEL", key, words[0]);
        }

        for (int i = random.Next(3); i > 0; i--)
        {
            Run(client, "XGROUP", "CREATE", key, $"group{i}", random.Next(2) == 0 ? "0" : "$");
            for (int consumers = random.Next(3); consumers > 0; consumers--)
            {
                Run(client, "XREADGROUP", "GROUP", $"group{i}", $"consumer{consumers}", "COUNT", Text(random.Next(1, 30)), "STREAMS", key, ">");
            }
        }

        if (random.Next(4) == 0) Run(client, "XTRIM", key, "MAXLEN", Text(random.Next(count)));
    }

    private static string Score(Random random) => random.Next(8) switch
    {
        0 => "inf",
        1 => "-inf",
        2 => "-0",
        3 => (random.NextDouble() * 1e300).ToString("R", CultureInfo.InvariantCulture),
        4 => "5e-324",
        _ => Text(random.Next(-50, 50)),
    };

    private static string Word(Random random, int lengthMax)
    {
        switch (random.Next(6))
        {
            case 0: return Text(random.NextInt64(long.MinValue, long.MaxValue));
            case 1: return Text(random.Next(-70_000, 70_000));
            case 2: return new string((char)random.Next('a', 'f'), random.Next(lengthMax));
            case 3: return "";
        }

        var word = new StringBuilder();
        bool isBinary = random.Next(4) == 0;
        for (int i = random.Next(lengthMax); i > 0; i--) word.Append((char)(isBinary ? random.Next(256) : random.Next('a', 'z')));
        return word.ToString();
    }

    private static void Send(RespConnection client, string command, string key, List<string> words) => Run(client, [command, key, .. words]);

    private static void Run(RespConnection client, params string[] words)
    {
        Check(client.Run([.. words.Select(Encoding.Latin1.GetBytes)]));
    }

    private static void Check(RespValue reply)
    {
        if (reply.IsError) throw new TranscriptException($"refused: {reply}");
    }

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
}
