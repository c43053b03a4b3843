using System.Buffers.Binary;
using RedKite.Protocol;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Memory;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries;

/// <summary>The options of TS.CREATE, and of the commands that create a series if there is none.</summary>
internal ref struct SeriesOptions
{
    [ThreadStatic]
    private static NativeBuffer? _labels;

    internal SeriesSettings Settings;

    /// <summary>Which options were given, for TS.ALTER.</summary>
    internal bool HasRetention, HasChunkBytes, HasPolicy, HasIgnore;

    /// <summary>The policy of ON_DUPLICATE; None: the series' own.</summary>
    internal DuplicatePolicy OnDuplicate;

    /// <summary>The first label's argument; 0: LABELS was not given.</summary>
    internal int Labels;

    private int _labelsEnd;

    /// <summary>The argument of a timestamp; 0: none was given.</summary>
    internal int Timestamp;

    private SeriesOptions(Settings settings)
    {
        Settings = SeriesSettings.Usual;
        Settings.Retention = settings.SeriesRetentionMs;
        Settings.ChunkBytes = settings.SeriesChunkBytes;
        Settings.Policy = DuplicatePolicies.At(settings.SeriesDuplicatePolicy);
        (Settings.IgnoredTime, Settings.IgnoredValue) = (settings.SeriesIgnoredTimeMs, settings.SeriesIgnoredValue);
    }

    internal static bool TryReadOrReply(scoped in CommandContext cmd, int first, out SeriesOptions options)
    {
        options = new SeriesOptions(cmd.Settings);
        for (int i = first; i < cmd.Count; i++)
        {
            bool hasValue = i + 1 < cmd.Count;
            if (cmd.Is(i, "LABELS"u8))
            {
                if (!options.TryLabelsOrReply(cmd, i + 1)) return false;
                i = options._labelsEnd - 1;
            }
            else if (cmd.Is(i, "UNCOMPRESSED"u8) || cmd.Is(i, "COMPRESSED"u8))
            {
                options.Settings.IsCompressed = cmd.Is(i, "COMPRESSED"u8);
            }
            else if (cmd.Is(i, "RETENTION"u8))
            {
                if (!hasValue || !RespNumber.TryParseInt64(cmd[++i], out options.Settings.Retention) || options.Settings.Retention < 0) return Fail(cmd, "ERR TSDB: Couldn't parse RETENTION"u8);
                options.HasRetention = true;
            }
            else if (cmd.Is(i, "CHUNK_SIZE"u8))
            {
                if (!hasValue || !RespNumber.TryParseInt64(cmd[++i], out long bytes)) return Fail(cmd, "ERR TSDB: Couldn't parse CHUNK_SIZE"u8);
                if (!SeriesSettings.IsChunkSize(bytes)) return Fail(cmd, "ERR TSDB: CHUNK_SIZE value must be a multiple of 8 in the range [48 .. 1048576]"u8);
                (options.Settings.ChunkBytes, options.HasChunkBytes) = ((int)bytes, true);
            }
            else if (cmd.Is(i, "ENCODING"u8))
            {
                if (hasValue && cmd.Is(i + 1, "UNCOMPRESSED"u8)) options.Settings.IsCompressed = false;
                else if (!hasValue || !cmd.Is(i + 1, "COMPRESSED"u8)) return Fail(cmd, "ERR TSDB: unknown ENCODING parameter"u8);
                i++;
            }
            else if (cmd.Is(i, "DUPLICATE_POLICY"u8))
            {
                if (!hasValue || !DuplicatePolicies.TryFind(cmd[++i], out options.Settings.Policy)) return Fail(cmd, "ERR TSDB: Unknown DUPLICATE_POLICY"u8);
                options.HasPolicy = true;
            }
            else if (cmd.Is(i, "ON_DUPLICATE"u8))
            {
                if (!hasValue || !DuplicatePolicies.TryFind(cmd[++i], out options.OnDuplicate)) return Fail(cmd, "ERR TSDB: Unknown ON_DUPLICATE"u8);
            }
            else if (cmd.Is(i, "IGNORE"u8))
            {
                if (i + 2 >= cmd.Count || !RespNumber.TryParseInt64(cmd[i + 1], out options.Settings.IgnoredTime) || options.Settings.IgnoredTime < 0
                    || !FloatText.TryParse(cmd[i + 2], out options.Settings.IgnoredValue) || !double.IsFinite(options.Settings.IgnoredValue) || options.Settings.IgnoredValue < 0)
                {
                    return Fail(cmd, "ERR TSDB: Couldn't parse IGNORE"u8);
                }

                options.HasIgnore = true;
                i += 2;
            }
            else if (cmd.Is(i, "TIMESTAMP"u8))
            {
                if (!hasValue) return Fail(cmd, "ERR TSDB: invalid timestamp"u8);
                options.Timestamp = ++i;
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        return true;
    }

    /// <summary>Gives a series the labels that follow LABELS.</summary>
    internal readonly void SetLabels(scoped in CommandContext cmd, scoped Series series)
    {
        NativeBuffer labels = _labels ??= new NativeBuffer();
        labels.Clear();
        for (int i = Labels; i < _labelsEnd; i += 2)
        {
            Span<byte> head = labels.Room(SeriesLabels.HeadBytes);
            BinaryPrimitives.WriteInt32LittleEndian(head, cmd[i].Length);
            BinaryPrimitives.WriteInt32LittleEndian(head[4..], cmd[i + 1].Length);
            labels.Advance(SeriesLabels.HeadBytes);
            labels.Write(cmd[i]);
            labels.Write(cmd[i + 1]);
        }

        series.SetLabels(labels.Written);
        labels.Clear();
    }

    private bool TryLabelsOrReply(scoped in CommandContext cmd, int first)
    {
        int end = first;
        long bytes = 0;
        for (; end < cmd.Count && !IsOptionBehindLabels(cmd, end); end += 2)
        {
            if (end + 1 == cmd.Count) return Fail(cmd, "ERR TSDB: Couldn't parse LABELS"u8);
            foreach (int at in (ReadOnlySpan<int>)[end, end + 1])
            {
                bytes += cmd[at].Length + (SeriesLabels.HeadBytes / 2);
                if (cmd[at].IsEmpty || cmd[at].IndexOfAny("(),"u8) >= 0) return Fail(cmd, "ERR TSDB: Couldn't parse LABELS"u8);
            }
        }

        (Labels, _labelsEnd) = (first, end);
        return bytes <= SeriesLabels.GivenBytesMax || Fail(cmd, "ERR TSDB: labels are too long"u8);
    }

    // Redis's own clients write these behind the labels. With other values behind it, such a word is the name of a label.
    private static bool IsOptionBehindLabels(scoped in CommandContext cmd, int at)
    {
        int left = cmd.Count - at - 1;
        while (left > 0 && (cmd.Is(at, "UNCOMPRESSED"u8) || cmd.Is(at, "COMPRESSED"u8))) (at, left) = (at + 1, left - 1);
        if (cmd.Is(at, "UNCOMPRESSED"u8) || cmd.Is(at, "COMPRESSED"u8)) return true;
        if (left >= 1 && (cmd.Is(at, "DUPLICATE_POLICY"u8) || cmd.Is(at, "ON_DUPLICATE"u8))) return DuplicatePolicies.TryFind(cmd[at + 1], out _);
        return left >= 2 && cmd.Is(at, "IGNORE"u8) && RespNumber.TryParseInt64(cmd[at + 1], out _) && FloatText.TryParse(cmd[at + 2], out _);
    }

    private static bool Fail(scoped in CommandContext cmd, ReadOnlySpan<byte> error)
    {
        cmd.Reply.Error(error);
        return false;
    }
}

/// <summary>The names of policies.</summary>
internal static class DuplicatePolicies
{
    private static readonly string[] Names = ["block", "block", "first", "last", "min", "max", "sum"];

    internal static string NameOf(DuplicatePolicy policy) => Names[(int)policy];

    /// <summary>The policy of the setting's word.</summary>
    internal static DuplicatePolicy At(int word) => (DuplicatePolicy)((int)DuplicatePolicy.Block + word);

    internal static bool TryFind(ReadOnlySpan<byte> text, out DuplicatePolicy policy)
    {
        for (policy = DuplicatePolicy.Block; policy <= DuplicatePolicy.Sum; policy++)
        {
            if (AsciiText.EqualsIgnoreCase(text, NameOf(policy))) return true;
        }

        policy = DuplicatePolicy.None;
        return false;
    }
}
