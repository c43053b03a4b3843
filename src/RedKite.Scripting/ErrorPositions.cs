using System.Text;
using RedKite.Scripting.Interop;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting;

/// <summary>
/// Translates a message while the functions that raised it are on the stack: positions in the translated text into the script's, the names of
/// operands and of functions as the script has them, Lua 5.4's words into those of 5.1.
/// </summary>
internal static class ErrorPositions
{
    private const string Arithmetic = "attempt to perform arithmetic on ";
    private const char Left = '\x01'; // which operand the prelude's arithmetic refuses: see Prelude
    private const char Right = '\x02';

    /// <summary>Finds where an error was raised: the chunk's name and the line; empty if no script's line is known.</summary>
    /// <param name="state">The thread whose stack it is.</param>
    /// <param name="level">The level of the function that raised it.</param>
    /// <param name="message">The message; empty: it is no text.</param>
    /// <param name="bytesMax">The most bytes of a message that is copied: a longer one keeps the position that Lua has given it.</param>
    /// <param name="translated">The message in Lua 5.1's form; null: it is that already.</param>
    internal static (byte[] Source, int Line) Find(nint state, int level, ReadOnlySpan<byte> message, int bytesMax, out byte[]? translated)
    {
        translated = null;
        bool isKnown = Lua.TryFindScriptLine(state, level, LuaInterpreter.OwnSource, out ReadOnlySpan<byte> source, out int line, out LuaCaller caller, out string called);
        bool hasPosition = ChunkSource.TryReadPosition(message, out long number, out int positionLine, out int length);
        bool isIndexing = message[length..].StartsWith("attempt to index "u8);
        isKnown &= ChunkSource.TryRead(source, out ChunkSource chunk);
        (byte[], int) found = isKnown ? (chunk.Name.ToArray(), chunk.LineOf(line, isIndexing)) : ([], 0);
        string position = "";
        if (hasPosition) position = PositionOf(state, level, number, positionLine, isIndexing);
        ReadOnlySpan<byte> rest = message[length..];
        if (rest.Length > LuaMessages.BytesMax)
        {
            if (hasPosition && rest.Length <= bytesMax) translated = [.. Encoding.Latin1.GetBytes(position), .. rest];
            return found;
        }

        string text = Encoding.Latin1.GetString(rest);
        string ownPosition = isKnown && caller != LuaCaller.Protected ? chunk.Position(line, isIndexing) : "";
        text = LuaMessages.Translate(text, ownPosition, caller, called);
        if (isKnown) text = WithOperand(text, chunk, line);
        translated = Encoding.Latin1.GetBytes(position + text);
        return found;
    }

    /// <summary>An error of Lua's own compiler, such as too many locals.</summary>
    /// <param name="message">Lua's message.</param>
    /// <param name="source">The chunk's source.</param>
    internal static string OfCompilation(ReadOnlySpan<byte> message, ReadOnlySpan<byte> source)
    {
        string position = ChunkSource.TryReadPosition(message, out _, out int line, out int length) && ChunkSource.TryRead(source, out ChunkSource chunk)
            ? chunk.Position(line, isIndexing: false)
            : "";
        return position + LuaMessages.Translate(Encoding.Latin1.GetString(message[length..]), "");
    }

    private static string PositionOf(nint state, int level, long number, int line, bool isIndexing)
    {
        for (int end = level + Lua.LevelsMax; level < end && Lua.TryGetSource(state, level, out ReadOnlySpan<byte> source); level++)
        {
            if (ChunkSource.IsOf(source, number) && ChunkSource.TryRead(source, out ChunkSource chunk)) return chunk.Position(line, isIndexing);
        }

        return "";
    }

    private static string WithOperand(string text, in ChunkSource chunk, int line)
    {
        int at = text.IndexOf(Arithmetic, StringComparison.Ordinal) + Arithmetic.Length;
        if (at < Arithmetic.Length || at >= text.Length || text[at] is not (Left or Right)) return text;
        string operand = chunk.OperandOf(line, isLeft: text[at] == Left);
        string value = text[(at + 1)..];
        return text[..at] + (operand.Length == 0 ? value : $"{operand} ({value})");
    }
}
