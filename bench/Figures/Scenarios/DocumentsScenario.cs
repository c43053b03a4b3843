using System.Globalization;
using System.Text;
using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>JSON documents against strings of the same bytes: server CPU of reading and setting a field, and of loading.</summary>
internal static class DocumentsScenario
{
    private const int Pipeline = 16;
    private const int OperationsOfRound = 160_000;
    private const int CountDefault = 100_000;
    private const int SmallBytes = 1024;
    private const int LargeBytes = 10 * 1024;
    private const int Kinds = 4; // of fields
    private const double GetRatioMax = 2;
    private const double SetRatioMax = 3;
    private const double LoadRatioMax = 2;

    private static readonly string Small = Document(SmallBytes, out SmallMiddle);
    private static readonly string Large = Document(LargeBytes, out LargeMiddle);
    private static readonly int SmallMiddle;
    private static readonly int LargeMiddle;

    internal static Report Run(Options options)
    {
        int count = options.Keys ?? CountDefault;
        var report = new Report("documents", $"One connection with pipeline {Pipeline} to RedKite with one loop on core {Machine.ServerCpus}; CPU of the server until it is idle, medians of {options.Rounds} interleaved rounds of {OperationsOfRound} operations. "
            + $"The field is 27 bytes of text; the documents have {Small.Length} and {Large.Length} bytes, of texts, numbers, booleans and objects, as clients send them. Loading is {count} documents of {Small.Length} bytes and as many strings of the same bytes. No peer has documents on this machine: Debian's and NuGet's packages of Redis, Valkey and Garnet have no such module.");
        var cpu = new Table("server CPU for each operation", new("operation"), new("cpu ns/op", "F0"));
        report.Tables.Add(cpu);
        using var servers = new ServerGroup([ServerUnderTest.Start(ServerKind.Available(options, report).First(kind => kind.Name == "redkite"))]);
        ServerUnderTest server = servers[0];
        using var pipe = new CommandPipe(server.Port);
        MeasureFields(report, cpu, server, pipe, options.Rounds);
        MeasureLoading(report, cpu, server, pipe, count, options.Rounds);
        return report;
    }

    private static void MeasureFields(Report report, Table cpu, ServerUnderTest server, CommandPipe pipe, int rounds)
    {
        string value = Text(LargeMiddle), small = $"$.field{SmallMiddle}", large = $"$.field{LargeMiddle}";
        pipe.Run("SET", "string", value);
        pipe.Run("JSON.SET", "small", "$", Small);
        pipe.Run("JSON.SET", "large", "$", Large);
        (string Name, string[] Command)[] operations =
        [
            ("GET of the field's bytes", ["GET", "string"]),
            ("JSON.GET of a field in the middle of the smaller document", ["JSON.GET", "small", small]),
            ("JSON.GET of a field in the middle of the larger document", ["JSON.GET", "large", large]),
            ("SET of the field's bytes", ["SET", "string", value]),
            ("JSON.SET of a field in the smaller document", ["JSON.SET", "small", small, value]),
            ("JSON.SET of a field in the larger document", ["JSON.SET", "large", large, value]),
        ];
        var costs = operations.Select(_ => new List<double>()).ToArray();
        for (int round = -1; round < rounds; round++)
        {
            for (int i = 0; i < operations.Length; i++)
            {
                double cost = Cost(server, pipe, operations[i].Command);
                if (round >= 0) costs[i].Add(cost); // the first one compiles the code
            }
        }

        for (int i = 0; i < operations.Length; i++) cpu.Add(operations[i].Name, Median.Of(costs[i]));
        report.Targets.Add(Target.AtMost(GetRatioMax, "JSON.GET / GET, smaller document", Spread.OfRatios(costs[1], costs[0])));
        report.Targets.Add(Target.AtMost(GetRatioMax, "JSON.GET / GET, larger document", Spread.OfRatios(costs[2], costs[0])));
        report.Targets.Add(Target.AtMost(SetRatioMax, "JSON.SET / SET, smaller document", Spread.OfRatios(costs[4], costs[3])));
        report.Targets.Add(Target.AtMost(SetRatioMax, "JSON.SET / SET, larger document", Spread.OfRatios(costs[5], costs[3])));
    }

    // Nanoseconds of the server for each operation.
    private static double Cost(ServerUnderTest server, CommandPipe pipe, string[] command)
    {
        byte[][] words = [.. command.Select(Encoding.UTF8.GetBytes)];
        CpuClock before = server.Cpu;
        for (int i = 0; i < OperationsOfRound; i++)
        {
            pipe.Begin(words.Length, words[0]);
            foreach (byte[] word in words.AsSpan(1)) pipe.Add(word);
            if (i % Pipeline == Pipeline - 1) pipe.Flush();
        }

        pipe.Flush();
        IdleWait.Run(server, IdleWait.AfterRound);
        return (server.Cpu - before).TotalSeconds * 1e9 / OperationsOfRound;
    }

    private static void MeasureLoading(Report report, Table cpu, ServerUnderTest server, CommandPipe pipe, int count, int rounds)
    {
        List<double> strings = [], documents = [], others = [];
        string renamed = Small.Replace("field", "other", StringComparison.Ordinal);
        for (int round = -1; round < rounds; round++)
        {
            double stringCost = Load(server, pipe, count, isDocument: false, Small), documentCost = Load(server, pipe, count, isDocument: true, Small), othersCost = Load(server, pipe, count, isDocument: true, Small, renamed);
            if (round < 0) continue;
            strings.Add(stringCost);
            documents.Add(documentCost);
            others.Add(othersCost);
        }

        cpu.Add("SET of a new key, when loading", Median.Of(strings));
        cpu.Add("JSON.SET of a new document, when loading", Median.Of(documents));
        cpu.Add("JSON.SET of a new document, when those with other names come in turn", Median.Of(others));
        report.Targets.Add(Target.AtMost(LoadRatioMax, "loading documents / strings", Spread.OfRatios(documents, strings)));
    }

    private static double Load(ServerUnderTest server, CommandPipe pipe, int count, bool isDocument, params string[] documents)
    {
        pipe.Run("FLUSHALL", "SYNC");
        IdleWait.Run(server, IdleWait.AfterRound);
        byte[][] texts = [.. documents.Select(Encoding.UTF8.GetBytes)];
        CpuClock before = server.Cpu;
        for (int i = 0; i < count; i++)
        {
            pipe.Begin(isDocument ? 4 : 3, isDocument ? "JSON.SET"u8 : "SET"u8).AddNumbered("key:"u8, i, digits: 8);
            if (isDocument) pipe.Add("$"u8);
            pipe.Add(texts[i % texts.Length]);
            if (i % Pipeline == Pipeline - 1) pipe.Flush();
        }

        pipe.Flush();
        IdleWait.Run(server, IdleWait.AfterRound);
        return (server.Cpu - before).TotalSeconds * 1e9 / count;
    }

    // An object of about so many bytes, and the number of a field of text in its middle.
    private static string Document(int bytes, out int middle)
    {
        var text = new StringBuilder("{");
        int count = 0;
        while (true)
        {
            string field = string.Create(CultureInfo.InvariantCulture, $"{(count == 0 ? "" : ",")}\"field{count}\":{Field(count)}");
            if (text.Length + field.Length >= bytes) break;
            text.Append(field);
            count++;
        }

        middle = count / 2 / Kinds * Kinds;
        return text.Append('}').ToString();
    }

    private static string Field(int number) => (number % Kinds) switch
    {
        0 => Text(number),
        1 => string.Create(CultureInfo.InvariantCulture, $"{number * 7919 % 100_000}"),
        2 => number % 8 == 2 ? "true" : "false",
        _ => string.Create(CultureInfo.InvariantCulture, $$"""{"city":"Oslo","zip":"{{number % 10_000,4:D4}}","at":[59.91,10.75],"tags":["a","b"]}"""),
    };

    private static string Text(int number) => string.Create(CultureInfo.InvariantCulture, $"\"a text of the field {number % 100,5:D5}\"");
}
