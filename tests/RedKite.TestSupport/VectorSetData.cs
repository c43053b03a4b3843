using System.Globalization;

namespace RedKite.TestSupport;

/// <summary>Vector sets of every form on a real server, changes of them, and whether another server has the same.</summary>
public static class VectorSetData
{
    private const int Dimensions = 20;
    private const int Elements = 60;
    private const double Tolerance = 1e-5;

    private static readonly (string Key, string Reduce, string Quantization)[] Forms =
    [
        ("vectors:q8", "", "Q8"), ("vectors:floats", "", "NOQUANT"), ("vectors:bin", "", "BIN"), ("vectors:reduced", "REDUCE 7 ", "Q8"), ("vectors:reduced:floats", "REDUCE 9 ", "NOQUANT"),
    ];

    /// <summary>Adds elements to a set of each form.</summary>
    /// <param name="replaces">Whether vectors are replaced: redis-server 8.0 writes that neither to replicas nor to its log. Otherwise their elements are removed first.</param>
    public static void Fill(RespConnection client, Random random, bool replaces)
    {
        foreach ((string key, string reduce, string quantization) in Forms)
        {
            for (int i = 0; i < Elements; i++) Add(client, random, key, reduce, quantization, replaces);
        }
    }

    /// <summary>Adds, replaces and removes elements and attributes, also in transactions and scripts.</summary>
    /// <param name="replaces">As of <see cref="Fill"/>.</param>
    public static void Change(RespConnection client, Random random, int commands, bool replaces)
    {
        for (int i = 0; i < commands; i++)
        {
            (string key, string reduce, string quantization) = Forms[random.Next(Forms.Length)];
            switch (random.Next(8))
            {
                case 0:
                    Run(client, $"VREM {key} {Element(random)}");
                    break;
                case 1:
                    Run(client, $"VSETATTR {key} {Element(random)} " + (random.Next(4) == 0 ? "''" : $"'{{\"n\":{i}}}'"));
                    break;
                case 2:
                    Run(client, "MULTI");
                    Add(client, random, key, reduce, quantization, replaces);
                    Run(client, $"VREM {key} {Element(random)}");
                    Run(client, "EXEC");
                    break;
                case 3:
                    Run(client, $"EVAL \"redis.call('VREM', KEYS[1], ARGV[1]) return redis.call('VSETATTR', KEYS[1], ARGV[2], 'script')\" 1 {key} {Element(random)} {Element(random)}");
                    break;
                default:
                    Add(client, random, key, reduce, quantization, replaces);
                    break;
            }
        }
    }

    /// <summary>What differs between the sets of two servers; null: nothing.</summary>
    public static string? Difference(RespConnection expected, RespConnection actual)
    {
        foreach ((string key, _, string quantization) in Forms)
        {
            List<string> questions = [$"VCARD {key}", $"VDIM {key}", $"TYPE {key}"];
            for (int i = 0; i < Elements; i++)
            {
                questions.AddRange([$"VEMB {key} e{i}", $"VGETATTR {key} e{i}", $"VISMEMBER {key} e{i}"]);
                if (quantization != "BIN") questions.AddRange([$"VSIM {key} ELE e{i} COUNT 7 TRUTH WITHSCORES", $"VSIM {key} ELE e{i} COUNT 7 EF {2 * Elements}"]);
            }

            foreach (string question in questions)
            {
                RespValue first = expected.Run(question), second = actual.Run(question);
                if (!AreNear(first, second)) return $"{question}: {first} and {second}";
            }
        }

        return null;
    }

    private static void Add(RespConnection client, Random random, string key, string reduce, string quantization, bool replaces)
    {
        string element = Element(random);
        if (!replaces) Run(client, $"VREM {key} {element}");
        Run(client, Addition(random, key, reduce, quantization, element));
    }

    private static string Addition(Random random, string key, string reduce, string quantization, string element) =>
        $"VADD {key} {reduce}VALUES {Dimensions} {string.Join(' ', Enumerable.Range(0, Dimensions).Select(_ => (random.NextDouble() - 0.5).ToString("F6", CultureInfo.InvariantCulture)))} {element} {quantization}"
        + (random.Next(3) == 0 ? $" SETATTR '{{\"n\":{random.Next(9)}}}'" : "") + (random.Next(4) == 0 ? " CAS" : "");

    private static string Element(Random random) => string.Create(CultureInfo.InvariantCulture, $"e{random.Next(Elements)}");

    private static void Run(RespConnection client, string command)
    {
        RespValue reply = client.Run(command);
        if (reply.IsError || reply.IsClosed) throw new InvalidOperationException($"{command}: {reply}");
    }

    private static bool AreNear(RespValue first, RespValue second)
    {
        if (first.Equals(second)) return true;
        if (first.Marker != second.Marker || first.Items.Count != second.Items.Count) return false;
        if (first.Items.Count > 0) return first.Items.Zip(second.Items).All(pair => AreNear(pair.First, pair.Second));
        return first.Marker is '$' or ',' && double.TryParse(first.Text, CultureInfo.InvariantCulture, out double a)
            && double.TryParse(second.Text, CultureInfo.InvariantCulture, out double b) && Math.Abs(a - b) <= Tolerance * Math.Max(1, Math.Abs(a));
    }
}
