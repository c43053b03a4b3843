using RedKite.Server.Model;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>One expression of FILTER.</summary>
/// <param name="Name">The label's name.</param>
/// <param name="IsNegated">Whether it has != instead of =.</param>
/// <param name="Values">The values; none: the expression asks whether there is such a label.</param>
internal sealed record LabelFilter(byte[] Name, bool IsNegated, byte[][] Values)
{
    /// <summary>Expressions of a request, at most.</summary>
    internal const int CountMax = 1024;

    /// <summary>Whether it names the values that series must have, so that an index finds them.</summary>
    internal bool IsMatcher => !IsNegated && Values.Length > 0;

    /// <summary>Reads the expressions from an argument on.</summary>
    internal static bool TryReadOrReply(scoped in CommandContext cmd, int first, int end, out LabelFilter[] filters)
    {
        filters = [];
        if (end - first is <= 0 or > CountMax)
        {
            cmd.Reply.Error("ERR TSDB: please provide at least one matcher"u8);
            return false;
        }

        var read = new LabelFilter[end - first];
        for (int i = first; i < end; i++)
        {
            if (TryRead(cmd[i], out LabelFilter? filter))
            {
                read[i - first] = filter!;
                continue;
            }

            cmd.Reply.Error("ERR TSDB: failed parsing labels"u8);
            return false;
        }

        if (!Array.Exists(read, static filter => filter.IsMatcher))
        {
            cmd.Reply.Error("ERR TSDB: please provide at least one matcher"u8);
            return false;
        }

        filters = read;
        return true;
    }

    internal static bool Match(LabelFilter[] filters, SeriesLabels labels)
    {
        foreach (LabelFilter filter in filters)
        {
            if (!filter.Matches(labels)) return false;
        }

        return true;
    }

    private bool Matches(SeriesLabels labels)
    {
        bool exists = labels.TryFind(Name, out ReadOnlySpan<byte> value);
        if (Values.Length == 0) return exists == IsNegated;
        bool isIn = false;
        for (int i = 0; exists && !isIn && i < Values.Length; i++) isIn = value.SequenceEqual(Values[i]);
        return isIn != IsNegated;
    }

    private static bool TryRead(ReadOnlySpan<byte> text, out LabelFilter? filter)
    {
        filter = null;
        int equals = text.IndexOf((byte)'=');
        if (equals <= 0) return false;
        bool isNegated = text[equals - 1] == '!';
        ReadOnlySpan<byte> name = text[..(isNegated ? equals - 1 : equals)], rest = text[(equals + 1)..];
        if (name.IsEmpty) return false;
        if (rest.IsEmpty || rest[0] != '(')
        {
            filter = new LabelFilter(name.ToArray(), isNegated, rest.IsEmpty ? [] : [Unquoted(rest).ToArray()]);
            return true;
        }

        if (rest[^1] != ')') return false;
        var values = new List<byte[]>();
        rest = rest[1..^1];
        int start = 0;
        byte quote = 0;
        for (int i = 0; i <= rest.Length; i++)
        {
            if (i < rest.Length && rest[i] is (byte)'"' or (byte)'\'' && (quote == 0 || quote == rest[i])) quote = quote == 0 ? rest[i] : (byte)0;
            if (i < rest.Length && (rest[i] != ',' || quote != 0)) continue;
            ReadOnlySpan<byte> value = Unquoted(rest[start..i]);
            if (value.IsEmpty) return false;
            values.Add(value.ToArray());
            start = i + 1;
        }

        filter = new LabelFilter(name.ToArray(), isNegated, [.. values]);
        return true;
    }

    private static ReadOnlySpan<byte> Unquoted(ReadOnlySpan<byte> value) =>
        value.Length >= 2 && value[0] is (byte)'"' or (byte)'\'' && value[^1] == value[0] ? value[1..^1] : value;
}
