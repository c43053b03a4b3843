using System.Globalization;
using System.Text;

namespace RedKite.Scripting.Translation;

/// <summary>
/// What an operator's line in the translated text stands for: the script's line in messages, and the names of the operands, such as local 'x'.
/// </summary>
internal sealed record OperatorMark(int Line, string Left, string Right);

/// <summary>
/// The source of a compiled chunk, as Lua keeps it for as long as a function of the chunk lives: a number that no other chunk has, what the
/// translated text's additional lines stand for, and the chunk's name.
/// </summary>
/// <remarks>
/// <code>
/// \x01 number \n mark ... \x02 name
/// mark: line of the translated text , line of the script , left operand , right operand ;
/// </code>
/// Lua shows only the first line in positions: [string "\x01number..."]:line. Messages are translated before a script sees them
/// (<see cref="ErrorPositions"/>). A table of chunks by number was rejected: it would have to learn when Lua drops a function.
/// </remarks>
internal readonly ref struct ChunkSource
{
    private const byte Begin = 1;
    private const byte EndOfMarks = 2;

    private static long _last;

    private readonly ReadOnlySpan<byte> _marks;

    private ChunkSource(long number, ReadOnlySpan<byte> marks, ReadOnlySpan<byte> name)
    {
        Number = number;
        _marks = marks;
        Name = name;
    }

    internal long Number { get; }

    internal ReadOnlySpan<byte> Name { get; }

    /// <summary>The chunk's name and line in messages, with a colon and a blank behind each.</summary>
    internal string Position(int line, bool isIndexing) =>
        string.Create(CultureInfo.InvariantCulture, $"{ChunkName.Show(Encoding.Latin1.GetString(Name))}:{LineOf(line, isIndexing)}: ");

    internal static string Encode(string name, IReadOnlyList<(int Line, OperatorMark Mark)> marks)
    {
        var text = new StringBuilder();
        text.Append((char)Begin).Append(CultureInfo.InvariantCulture, $"{Interlocked.Increment(ref _last)}\n");
        foreach ((int line, OperatorMark mark) in marks) text.Append(CultureInfo.InvariantCulture, $"{line},{mark.Line},{mark.Left},{mark.Right};");
        return text.Append((char)EndOfMarks).Append(name).ToString();
    }

    /// <summary>Reads a chunk's source; false: it is no script's.</summary>
    internal static bool TryRead(ReadOnlySpan<byte> source, out ChunkSource chunk)
    {
        chunk = default;
        if (source.IsEmpty || source[0] != Begin) return false;
        int head = source.IndexOf((byte)'\n');
        int end = source.IndexOf(EndOfMarks);
        if (head < 0 || end < head) return false;
        chunk = new ChunkSource(long.Parse(source[1..head], CultureInfo.InvariantCulture), source[(head + 1)..end], source[(end + 1)..]);
        return true;
    }

    /// <summary>Whether a source is that of the chunk with a number. Of the source, only its first line is read.</summary>
    internal static bool IsOf(ReadOnlySpan<byte> source, long number)
    {
        if (source.IsEmpty || source[0] != Begin) return false;
        int head = source.IndexOf((byte)'\n');
        return head > 0 && long.TryParse(source[1..head], CultureInfo.InvariantCulture, out long found) && found == number;
    }

    /// <summary>Reads the position that Lua has put in front of a message.</summary>
    /// <param name="message">The message.</param>
    /// <param name="number">The chunk's number.</param>
    /// <param name="line">The line of its translated text.</param>
    /// <param name="length">The position's length.</param>
    internal static bool TryReadPosition(ReadOnlySpan<byte> message, out long number, out int line, out int length)
    {
        (number, line, length) = (0, 0, 0);
        ReadOnlySpan<byte> opening = "[string \"\x01"u8;
        ReadOnlySpan<byte> closing = "...\"]:"u8;
        if (!message.StartsWith(opening)) return false;
        int end = message.IndexOf(closing);
        if (end < 0 || !long.TryParse(message[opening.Length..end], CultureInfo.InvariantCulture, out number)) return false;
        int first = end + closing.Length;
        int colon = message[first..].IndexOf((byte)':');
        if (colon < 0 || !int.TryParse(message.Slice(first, colon), CultureInfo.InvariantCulture, out line)) return false;
        length = Math.Min(first + colon + 2, message.Length);
        return true;
    }

    /// <summary>The script's line of a line of the translated text.</summary>
    /// <param name="line">The line of the translated text.</param>
    /// <param name="isIndexing">Whether the message is about an index. Lua evaluates the left operand's index on the operator's own line.</param>
    internal int LineOf(int line, bool isIndexing)
    {
        int before = 0; // marks in front of the line: each adds two lines
        foreach (Range range in _marks.Split((byte)';'))
        {
            ReadOnlySpan<byte> mark = _marks[range];
            if (mark.IsEmpty) break;
            int comma = mark.IndexOf((byte)',');
            int at = int.Parse(mark[..comma], CultureInfo.InvariantCulture);
            if (at > line) break;
            if (at == line) return isIndexing ? line - (2 * before) - 1 : int.Parse(mark[(comma + 1)..][..mark[(comma + 1)..].IndexOf((byte)',')], CultureInfo.InvariantCulture);
            before++;
        }

        return line - (2 * before);
    }

    /// <summary>The name of an operand of the operator on a line of the translated text; empty: it has none.</summary>
    internal string OperandOf(int line, bool isLeft)
    {
        foreach (Range range in _marks.Split((byte)';'))
        {
            string[] parts = Encoding.Latin1.GetString(_marks[range]).Split(',');
            if (parts.Length == 4 && int.Parse(parts[0], CultureInfo.InvariantCulture) == line) return isLeft ? parts[2] : parts[3];
        }

        return "";
    }
}
