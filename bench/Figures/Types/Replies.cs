using System.Buffers.Text;
using System.Text;

namespace RedKite.Figures.Types;

/// <summary>Finds where RESP2 replies end, whatever they contain.</summary>
internal static class Replies
{
    private const int NotWhole = -1;

    /// <summary>The length in bytes of the first reply, including nested ones; false if it is incomplete.</summary>
    /// <exception cref="CannotMeasureException">It is an error, or not a reply.</exception>
    internal static bool TryMeasure(ReadOnlySpan<byte> received, out int bytes)
    {
        bytes = Measure(received);
        return bytes != NotWhole;
    }

    private static int Measure(ReadOnlySpan<byte> received)
    {
        int lineEnd = received.IndexOf("\r\n"u8);
        if (lineEnd < 0) return NotWhole;
        int afterLine = lineEnd + 2;
        switch ((char)received[0])
        {
            case '+' or ':':
                return afterLine;
            case '$':
                int bulk = Number(received[1..lineEnd]);
                if (bulk < 0) return afterLine;
                return received.Length >= afterLine + bulk + 2 ? afterLine + bulk + 2 : NotWhole;
            case '*':
                return MeasureElements(received, Number(received[1..lineEnd]), afterLine);
            case '-':
                throw new CannotMeasureException($"error reply: {Encoding.UTF8.GetString(received[1..lineEnd])}");
            default:
                throw new CannotMeasureException($"not a reply: {Encoding.UTF8.GetString(received[..lineEnd])}");
        }
    }

    private static int MeasureElements(ReadOnlySpan<byte> received, int elements, int at)
    {
        for (int i = 0; i < elements; i++)
        {
            int element = Measure(received[at..]);
            if (element == NotWhole) return NotWhole;
            at += element;
        }

        return at;
    }

    private static int Number(ReadOnlySpan<byte> digits) =>
        Utf8Parser.TryParse(digits, out int number, out int read) && read == digits.Length
            ? number
            : throw new CannotMeasureException($"not a length: {Encoding.UTF8.GetString(digits)}");
}
