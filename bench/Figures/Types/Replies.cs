using System.Text;
using RedKite.Protocol;

namespace RedKite.Figures.Types;

/// <summary>Finds where replies end, and that none is an error.</summary>
internal static class Replies
{
    /// <summary>The length in bytes of the first reply, including nested ones; false if it is incomplete.</summary>
    /// <exception cref="CannotMeasureException">It is an error, or not a reply.</exception>
    internal static bool TryMeasure(ReadOnlySpan<byte> received, out int bytes)
    {
        bytes = 0;
        var reader = new ReplyReader();
        for (long missing = 1; missing > 0;)
        {
            if (!reader.TryRead(received, ref bytes, out ReplyElement element)) return false;
            if (element.Problem is not null) throw new CannotMeasureException($"not a reply: {Encoding.UTF8.GetString(received[..bytes].TrimEnd("\r\n"u8))}");
            if (element.Marker is (byte)'-' or (byte)'!') throw new CannotMeasureException($"error reply: {Encoding.UTF8.GetString(element.Bytes)}");
            if (element.IsWhole) missing--;
            if (element.IsAggregate) missing += Math.Max(0, element.Number);
        }

        return true;
    }
}
