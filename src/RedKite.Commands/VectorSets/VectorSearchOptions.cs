using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Commands.VectorSets.Filters;
using RedKite.Server.Model;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Commands.VectorSets;

/// <summary>The options of VSIM.</summary>
internal struct VectorSearchOptions
{
    // FILTER-EF is so many times COUNT by default.
    private const int ExaminedForEach = 100;

    internal bool WithScores { get; private set; }

    internal bool WithAttributes { get; private set; }

    internal long Count { get; private set; }

    internal long Effort { get; private set; }

    /// <summary>The largest distance. A score is 1 minus half of an element's distance, and EPSILON says how much below 1 it may be.</summary>
    internal double DistanceMax { get; private set; }

    internal FilterProgram? Filter { get; private set; }

    internal long ExaminedMax { get; private set; }

    /// <summary>TRUTH: compare all elements.</summary>
    internal bool IsExact { get; private set; }

    internal static bool TryReadOrReply(scoped in CommandContext cmd, int first, out VectorSearchOptions options)
    {
        options = new VectorSearchOptions { Count = VectorSetLimits.CountDefault, Effort = VectorSetLimits.SearchEffortDefault, DistanceMax = double.PositiveInfinity };
        if (!options.TryOptionsOrReply(cmd, first)) return false;
        if (options.ExaminedMax == 0) options.ExaminedMax = Math.Min(options.Count, long.MaxValue / ExaminedForEach) * ExaminedForEach;
        return true;
    }

    private bool TryOptionsOrReply(scoped in CommandContext cmd, int first)
    {
        var reader = new OptionReader(cmd, first);
        while (reader.More)
        {
            if (reader.Take("WITHSCORES"u8)) WithScores = true;
            else if (reader.Take("WITHATTRIBS"u8)) WithAttributes = true;
            else if (reader.Take("TRUTH"u8)) IsExact = true;
            else if (reader.Take("NOTHREAD"u8)) continue; // asks Redis to search on its main thread: every reply is the same with it
            else if (reader.TakeWithValue("COUNT"u8, out int count))
            {
                if (!cmd.TryPositiveOrReply(count, "ERR invalid COUNT"u8, out long value)) return false;
                Count = value;
            }
            else if (reader.TakeWithValue("EF"u8, out int effort))
            {
                if (!cmd.TryPositiveOrReply(effort, "ERR invalid EF"u8, out long value)) return false;
                if (value > VectorSetLimits.EffortMax)
                {
                    cmd.Reply.Error("ERR invalid EF"u8);
                    return false;
                }

                Effort = value;
            }
            else if (reader.TakeWithValue("FILTER-EF"u8, out int examined))
            {
                if (!cmd.TryPositiveOrReply(examined, "ERR invalid FILTER-EF"u8, out long value)) return false;
                ExaminedMax = value;
            }
            else if (reader.TakeWithValue("EPSILON"u8, out int distance))
            {
                if (!FloatText.TryParse(cmd[distance], out double value) || value <= 0)
                {
                    cmd.Reply.Error("ERR invalid EPSILON"u8);
                    return false;
                }

                DistanceMax = (float)(value * 2); // distances are floats: one that is equal is within
            }
            else if (reader.TakeWithValue("FILTER"u8, out int filter))
            {
                if (!TryFilterOrReply(cmd, filter)) return false;
            }
            else
            {
                cmd.Reply.Error("ERR syntax error in VSIM command"u8);
                return false;
            }
        }

        return true;
    }

    private bool TryFilterOrReply(scoped in CommandContext cmd, int argument)
    {
        ReadOnlySpan<byte> text = cmd[argument];
        if (text.Length > FilterCompiler.TextBytesMax)
        {
            cmd.Reply.Error($"ERR a FILTER expression has at most {FilterCompiler.TextBytesMax} bytes");
            return false;
        }

        bool compiled = FilterProgram.TryCompile(text, out FilterProgram program, out int error);
        Filter = program;
        if (!compiled) cmd.Reply.Error("ERR syntax error in FILTER expression near: " + cmd.ShownText(argument)[error..]);
        return compiled;
    }
}
