using System.Buffers;
using RedKite.Scripting.Interop;

namespace RedKite.Scripting.Libraries;

/// <summary>The functions of strings that take patterns. The prelude calls the functions that scripts pass to gsub and gmatch.</summary>
internal static class PatternLibrary
{
    private static readonly SearchValues<byte> Specials = SearchValues.Create("^$*+?.([%-"u8);

    // Compared in one piece at most: about a millisecond.
    private const int SearchBytes = 16 * 1024 * 1024;

    internal static void Add(LuaInterpreter lua)
    {
        lua.Add("string.find", Find);
        lua.Add("string.match", Match);
        lua.Add("string.nextmatch", NextMatch);
        lua.Add("string.gsub", Replace);
    }

    private static int Find(LuaCall call)
    {
        ReadOnlySpan<byte> text = call.Text(1);
        ReadOnlySpan<byte> pattern = call.Text(2);
        int from = Beginning(call, text.Length);
        if ((call.Count >= 4 && Lua.ToBoolean(call.State, 4)) || IsPlain(pattern))
        {
            int at = IndexOf(call.Owner, text, pattern, from);
            if (at < 0) return PushNil(call);
            PushRange(call, at, at + pattern.Length);
            return 2;
        }

        var match = new LuaPattern(call.Owner, text, pattern);
        if (!match.TryFind(from, takesAnchor: true, out int start, out int end)) return PushNil(call);
        PushRange(call, start, end);
        return 2 + match.PushCaptures(call.State);
    }

    // A long text may begin to match almost everywhere, so that their lengths multiply: in pieces, between which the script may end.
    private static int IndexOf(LuaInterpreter owner, ReadOnlySpan<byte> text, ReadOnlySpan<byte> sought, int from)
    {
        if (sought.IsEmpty) return from;
        int positions = Math.Max(1, SearchBytes / sought.Length);
        for (long at = from; at + sought.Length <= text.Length; at += positions)
        {
            int found = text.Slice((int)at, (int)Math.Min(text.Length - at, (long)positions + sought.Length - 1)).IndexOf(sought);
            if (found >= 0) return (int)at + found;
            owner.Step();
        }

        return -1;
    }

    private static int Match(LuaCall call)
    {
        ReadOnlySpan<byte> text = call.Text(1);
        ReadOnlySpan<byte> pattern = call.Text(2);
        int from = Beginning(call, text.Length);
        var match = new LuaPattern(call.Owner, text, pattern);
        return match.TryFind(from, takesAnchor: true, out int start, out int end) ? match.PushCaptures(call.State, start, end) : PushNil(call);
    }

    // The text, the pattern, where to begin, whether ^ is an anchor. Returns where the next match begins and ends, and its captures.
    private static int NextMatch(LuaCall call)
    {
        ReadOnlySpan<byte> text = Lua.ToSpan(call.State, 1);
        var from = (int)Lua.ToInteger(call.State, 3);
        var match = new LuaPattern(call.Owner, text, Lua.ToSpan(call.State, 2));
        if (from > text.Length || !match.TryFind(from, Lua.ToBoolean(call.State, 4), out int start, out int end)) return PushNil(call);
        Lua.PushInteger(call.State, start);
        Lua.PushInteger(call.State, end);
        return 2 + match.PushCaptures(call.State, start, end);
    }

    // gsub with a text as the replacement.
    private static int Replace(LuaCall call)
    {
        ReadOnlySpan<byte> text = call.Text(1);
        ReadOnlySpan<byte> pattern = call.Text(2);
        ReadOnlySpan<byte> replacement = call.Text(3);
        long max = call.IsNoneOrNil(4) ? text.Length + 1L : unchecked((int)call.Integer(4));
        var match = new LuaPattern(call.Owner, text, pattern);
        ScriptOutput output = call.Owner.BeginOutput();
        int copied = 0;
        long count = 0;
        for (int from = 0; count < max && from <= text.Length;)
        {
            if (!match.TryFind(from, takesAnchor: true, out int start, out int end)) break;
            count++;
            output.Write(text[copied..start]);
            WriteReplacement(call.Owner, output, replacement, in match, start, end);
            copied = end;
            from = end > start ? end : end + 1;
            if (match.IsAnchored) break;
            call.Owner.Step();
        }

        output.Write(text[copied..]);
        Lua.Push(call.State, output.Written);
        Lua.PushInteger(call.State, count);
        return 2;
    }

    // %1 is the first capture and %0 the match; %x is x where x is no digit, and a % at the end is a zero byte.
    private static void WriteReplacement(LuaInterpreter owner, ScriptOutput output, ReadOnlySpan<byte> replacement, in LuaPattern match, int start, int end)
    {
        while (replacement.IndexOf((byte)'%') is >= 0 and var at)
        {
            owner.Step();
            output.Write(replacement[..at]);
            byte c = at + 1 < replacement.Length ? replacement[at + 1] : (byte)0;
            if (c == '0') match.WriteWhole(output, start, end);
            else if (char.IsAsciiDigit((char)c)) match.WriteCapture(output, c - '1', start, end);
            else output.WriteByte(c);
            replacement = replacement[Math.Min(at + 2, replacement.Length)..];
        }

        output.Write(replacement);
    }

    private static bool IsPlain(ReadOnlySpan<byte> pattern)
    {
        int zero = pattern.IndexOf((byte)0); // special characters behind it do not count, but the whole pattern is searched for
        return !(zero < 0 ? pattern : pattern[..zero]).ContainsAny(Specials);
    }

    // From the third argument, a position that may be negative: from the end.
    private static int Beginning(LuaCall call, int length)
    {
        if (call.IsNoneOrNil(3)) return 0;
        long position = call.Integer(3);
        if (position < 0) position += length + 1L;
        return (int)Math.Clamp(position - 1, 0, length);
    }

    private static void PushRange(LuaCall call, int start, int end)
    {
        Lua.PushInteger(call.State, start + 1L);
        Lua.PushInteger(call.State, end);
    }

    private static int PushNil(LuaCall call)
    {
        Lua.PushNil(call.State);
        return 1;
    }
}
