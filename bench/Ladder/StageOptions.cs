using System.Globalization;
using System.Net;
using RedKite.Ladder.Stages;

namespace RedKite.Ladder;

/// <summary>The stage to serve and its options: the arguments after <c>serve</c>.</summary>
internal sealed record StageOptions
{
    private const int ShardsMax = 256;

    internal int Stage { get; private init; }

    /// <summary>0: any free port.</summary>
    internal int Port { get; private init; }

    /// <summary>Stages 3 to 5: threads with a dictionary each.</summary>
    internal int Shards { get; private init; } = 4;

    /// <summary>Stage 5: do not report an incomplete request to the pipe as examined.</summary>
    internal bool BusyWait { get; private init; }

    /// <summary>Stage 6: the type of keys and values.</summary>
    internal string Values { get; private init; } = "strings";

    /// <exception cref="FormatException">An argument is invalid; the message names it.</exception>
    internal static StageOptions Parse(string[] arguments)
    {
        var options = new StageOptions();
        for (int i = 0; i < arguments.Length; i++)
        {
            string argument = arguments[i];
            string Value() => ++i < arguments.Length ? arguments[i] : throw new FormatException($"{argument} needs a value");
            options = argument switch
            {
                "--stage" => options with { Stage = LadderOptions.ParseNumber(argument, Value()) },
                "--port" => options with { Port = ParsePort(Value()) },
                "--shards" => options with { Shards = LadderOptions.ParseNumber(argument, Value()) },
                "--busy-wait" => options with { BusyWait = true },
                "--values" => options with { Values = Value() },
                _ => throw new FormatException($"{argument} is not an option of serve"),
            };
        }

        if (options.Stage is < 1 or > 6) throw new FormatException("serve: --stage is 1 to 6");
        if (options.Shards > ShardsMax) throw new FormatException($"--shards: at most {ShardsMax}");
        if (options.Values is not ("strings" or "look-first" or "buffers")) throw new FormatException($"--values: {options.Values} is not one of strings, look-first, buffers");
        return options;
    }

    internal IStage CreateStage() => Stage switch
    {
        1 => new StreamStage(flushesLate: false),
        2 => new StreamStage(flushesLate: true),
        3 => new ShardedStage(Shards),
        4 => new ShardedPipelineStage(Shards),
        5 => new PipeStage(Shards, BusyWait),
        _ => new PipeDictionaryStage(Values switch
        {
            "strings" => new TextStore(),
            "look-first" => new ReusableBufferStore(setLooksFirst: true),
            _ => new ReusableBufferStore(setLooksFirst: false),
        }),
    };

    private static int ParsePort(string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int port) && port <= IPEndPoint.MaxPort
            ? port
            : throw new FormatException($"--port: {text} is not a port");
}
