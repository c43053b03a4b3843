using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.Store.Memory;

namespace RedKite.Microbenchmarks.Documents;

/// <summary>
/// The forms that a document could have, side by side: './dev bench micro document-forms'. The forms take turns, a batch each, so that what disturbs the machine affects
/// all alike; the table has the medians of the rounds, and their ranges.
/// </summary>
internal static class DocumentForms
{
    internal const string Verb = "document-forms";

    private const int Rounds = 11;
    private const long BatchNs = 8_000_000;
    private const int ItemsOfRow = 4;

    internal static void Run()
    {
        Console.WriteLine($"medians (and ranges) of {Rounds} interleaved rounds, nanoseconds; memory by the bytes of the compact text");
        Measure("profile", 1000);
        Measure("profile", 100_000);
        Measure("orders", 1000);
        Measure("orders", 100_000);
    }

    private static void Measure(string shape, int bytes)
    {
        byte[] text = Encoding.UTF8.GetBytes(Text(shape, bytes, out string last, out string nested));
        byte[][] field = [Encoding.UTF8.GetBytes(last)], inner = [Encoding.UTF8.GetBytes(nested), "city"u8.ToArray()];
        byte[] same = "\"a text of a field 111\""u8.ToArray(), other = "\"a text of a field 222\""u8.ToArray(), longer = "\"a text of a field that is longer\""u8.ToArray();
        DocumentForm[] forms = [new TreeForm(), new TextForm(), new TapeForm(), new NodeForm()];
        var output = new NativeBuffer();
        foreach (DocumentForm form in forms)
        {
            form.Load(text);
            form.Set(field, longer);
            form.Set(field, same);
            form.Get(field, output);
            output.Write(" "u8);
            form.Get(inner, output);
            if (!output.Written.SequenceEqual("\"a text of a field 111\" \"Oslo\""u8)) throw new InvalidOperationException($"{form.Name}: {Encoding.UTF8.GetString(output.Written)}");
            output.Clear();
            form.Load(text);
        }

        Console.WriteLine();
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"| {shape}, {text.Length:N0} bytes | Memory / text | Read a field near the end | Read a nested field | Set, same length | Set, other length | Load |"));
        Console.WriteLine("|---|---|---|---|---|---|---|");
        Action<DocumentForm, int>[] operations =
        [
            (form, _) => form.Get(field, output),
            (form, _) => form.Get(inner, output),
            (form, i) => form.Set(field, i % 2 == 0 ? same : other),
            (form, i) => form.Set(field, i % 2 == 0 ? longer : same),
            (form, _) => form.Load(text),
        ];
        var times = new double[forms.Length, operations.Length][];
        long[] memory = [.. forms.Select(static form => form.Bytes)];
        for (int o = 0; o < operations.Length; o++)
        {
            int[] counts = [.. forms.Select(form => CountOf(form, operations[o], output))];
            for (int f = 0; f < forms.Length; f++) times[f, o] = new double[Rounds];
            for (int round = 0; round < Rounds; round++)
            {
                for (int i = 0; i < forms.Length; i++)
                {
                    int f = round % 2 == 0 ? i : forms.Length - 1 - i;
                    times[f, o][round] = Time(forms[f], operations[o], counts[f], output);
                }
            }
        }

        for (int f = 0; f < forms.Length; f++)
        {
            string[] cells = [.. Enumerable.Range(0, operations.Length).Select(o => Show(times[f, o]))];
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"| {forms[f].Name} | {(double)memory[f] / text.Length:F2} | {string.Join(" | ", cells)} |"));
            forms[f].Dispose();
        }

        output.Dispose();
    }

    // As many as a batch takes, when the code is compiled.
    private static int CountOf(DocumentForm form, Action<DocumentForm, int> operation, NativeBuffer output)
    {
        int count = 64;
        for (long until = Stopwatch.GetTimestamp() + (Stopwatch.Frequency / 4); Stopwatch.GetTimestamp() < until;)
        {
            count = (int)Math.Clamp(BatchNs / Time(form, operation, count, output), 2, 1_000_000);
        }

        return count;
    }

    private static double Time(DocumentForm form, Action<DocumentForm, int> operation, int count, NativeBuffer output)
    {
        long start = Stopwatch.GetTimestamp();
        for (int i = 0; i < count; i++)
        {
            output.Clear();
            operation(form, i);
        }

        return Stopwatch.GetElapsedTime(start).TotalNanoseconds / count;
    }

    private static string Show(double[] times)
    {
        Array.Sort(times);
        return string.Create(CultureInfo.InvariantCulture, $"{times[times.Length / 2]:N0} ({times[0]:N0} to {times[^1]:N0})");
    }

    // A profile has fields of all kinds. Of orders, the fields that are read and set are behind an array of objects with the same names.
    private static string Text(string shape, int bytes, out string last, out string nested)
    {
        const string Address = """{"city":"Oslo","zip":"0150","at":[59.91,10.75],"tags":["a","b"]}""";
        var text = new StringBuilder(shape == "profile" ? "{" : """{"orders":[""");
        int i = 0;
        for (; text.Length < bytes - 150 || i % ItemsOfRow != 0; i++)
        {
            if (i > 0) text.Append(',');
            if (shape == "profile") text.Append(CultureInfo.InvariantCulture, $"\"field{i}\":");
            text.Append(shape != "profile"
                ? string.Create(CultureInfo.InvariantCulture, $$"""{"id":{{i}},"customer":"c-{{i % 100}}","price":{{i % 1000}}.25,"paid":false,"tags":["new","gift"]}""")
                : (i % ItemsOfRow) switch
                {
                    0 => string.Create(CultureInfo.InvariantCulture, $"\"a text of a field {i % 1000:D3}\""),
                    1 => (i * 7919 % 100_000).ToString(CultureInfo.InvariantCulture),
                    2 => "true",
                    _ => Address,
                });
        }

        (last, nested) = ("last", "nested");
        if (shape == "orders") text.Append(']');
        return text.Append(CultureInfo.InvariantCulture, $",\"{last}\":\"a text of a field 000\",\"{nested}\":{Address}}}").ToString();
    }
}
