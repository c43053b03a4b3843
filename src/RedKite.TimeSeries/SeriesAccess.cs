using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries;

/// <summary>How handlers open series, read numbers and reply samples.</summary>
internal static class SeriesAccess
{
    private static ReadOnlySpan<byte> Missing => "ERR TSDB: the key does not exist"u8;

    /// <summary>Opens a key's series to read it, or replies that there is none.</summary>
    internal static bool OpenToReadOrReply(this scoped in CommandContext cmd, out Series series, int argument = 1)
    {
        Entry entry = cmd.Environment.Blocking.IsServing ? cmd.Peek(argument) : cmd.Find(argument); // a client that has waited was counted before
        series = default;
        if (!cmd.IsTypeOrReply(entry, SeriesType.Instance.Number)) return false;
        series = Series.Of(cmd.Database, entry);
        if (!series.Exists) cmd.Reply.Error(Missing);
        return series.Exists;
    }

    /// <summary>Opens a key's series to change it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToWriteOrReply(this scoped in CommandContext cmd, out Series series, int argument = 1)
    {
        Entry entry = cmd.FindToWrite(argument);
        series = default;
        if (!cmd.IsTypeOrReply(entry, SeriesType.Instance.Number)) return false;
        series = Series.Of(cmd.Database, entry);
        return true;
    }

    /// <summary>Opens a key's series to change it, or replies that there is none.</summary>
    internal static bool OpenExistingOrReply(this scoped in CommandContext cmd, out Series series, int argument = 1)
    {
        if (!cmd.OpenToWriteOrReply(out series, argument)) return false;
        if (!series.Exists) cmd.Reply.Error(Missing);
        return series.Exists;
    }

    /// <summary>Reads a timestamp, or * for now.</summary>
    internal static bool TryTimeOrReply(this scoped in CommandContext cmd, int argument, out long time)
    {
        time = cmd.NowMs;
        if (cmd[argument].SequenceEqual("*"u8)) return true;
        if (!RespNumber.TryParseInt64(cmd[argument], out time))
        {
            cmd.Reply.Error("ERR TSDB: invalid timestamp"u8);
            return false;
        }

        if (time >= 0) return true;
        cmd.Reply.Error("ERR TSDB: invalid timestamp, must be a nonnegative integer"u8);
        return false;
    }

    /// <summary>Reads a value: a number of JSON, or nan.</summary>
    internal static bool TryValueOrReply(this scoped in CommandContext cmd, int argument, out double value, bool mayBeNan = true)
    {
        if (mayBeNan && cmd.Is(argument, "nan"u8))
        {
            value = double.NaN;
            return true;
        }

        ReadOnlySpan<byte> text = cmd[argument];
        if (text.IndexOfAny("xX"u8) < 0 && FloatText.TryParse(text, out value) && double.IsFinite(value)) return true;
        value = 0;
        cmd.Reply.Error("ERR TSDB: invalid value"u8);
        return false;
    }

    /// <summary>Replies a time and a value.</summary>
    internal static void Sample(this ReplyWriter reply, in Sample sample)
    {
        reply.Array(2);
        reply.Integer(sample.Time);
        reply.SampleValue(sample.Value);
    }

    internal static void SampleValue(this ReplyWriter reply, double value)
    {
        if (reply.Resp3)
        {
            reply.Double(value);
            return;
        }

        Span<byte> text = stackalloc byte[RespDouble.TextMax];
        reply.SimpleString(double.IsNaN(value) ? "NaN"u8 : text[..RespDouble.Format(value, text)]);
    }

    /// <summary>Replies the newest sample, if there is one.</summary>
    /// <param name="reply">The reply.</param>
    /// <param name="series">The series.</param>
    /// <param name="latest">Whether the open bucket of a destination counts.</param>
    internal static void Newest(this ReplyWriter reply, scoped Series series, bool latest)
    {
        if (latest && series.TryPending(out Sample pending)) reply.Sample(pending);
        else if (series.IsEmpty) reply.Array(0);
        else reply.Sample(series.Last);
    }

    internal static void Samples(this ReplyWriter reply, ReadOnlySpan<Sample> samples)
    {
        reply.Array(samples.Length);
        foreach (ref readonly Sample sample in samples)
        {
            if (reply.Overflowed) return;
            reply.Sample(sample);
        }
    }

    /// <summary>Begins the replies of several series: over RESP2 an array, over RESP3 a map.</summary>
    internal static void BeginAllSeries(this ReplyWriter reply, int count)
    {
        if (reply.Resp3) reply.Map(count);
        else reply.Array(count);
    }

    /// <summary>Begins the part of one series: over RESP2 an array with its key, over RESP3 an entry of a map.</summary>
    internal static void BeginSeries(this ReplyWriter reply, ReadOnlySpan<byte> key, int parts)
    {
        if (!reply.Resp3) reply.Array(parts + 1);
        reply.Bulk(key);
        if (reply.Resp3) reply.Array(parts);
    }
}
