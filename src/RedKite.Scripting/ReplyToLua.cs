using RedKite.Protocol;
using RedKite.Scripting.Interop;

namespace RedKite.Scripting;

/// <summary>Converts replies of commands into Lua values.</summary>
internal sealed class ReplyToLua(LuaAllocator memory)
{
    private const int DepthMax = 128;

    private bool _resp3; // of the reply that is pushed

    /// <summary>The field of an error that counts as a command's; scripts see it, as in Redis.</summary>
    internal static ReadOnlySpan<byte> CountedField => "ignore_error_stats_update"u8;

    /// <summary>Pushes a reply.</summary>
    /// <param name="state">Lua's state.</param>
    /// <param name="reply">The reply.</param>
    /// <param name="resp3">Whether the script gets replies of protocol 3.</param>
    /// <param name="isError">Whether the reply is an error.</param>
    /// <returns>False if it is nested too deeply, or larger than the script's memory.</returns>
    internal bool TryPush(nint state, ReadOnlySpan<byte> reply, bool resp3, out bool isError)
    {
        _resp3 = resp3;
        int at = 0;
        isError = reply.Length > 0 && reply[0] == '-';
        return TryPush(state, reply, ref at, 0);
    }

    /// <summary>Pushes an error: a table with the field err.</summary>
    /// <param name="state">Lua's state.</param>
    /// <param name="text">The error.</param>
    /// <param name="isCounted">Whether it is a command's: then it counts as that, and not once more if the script returns it.</param>
    internal static void PushError(nint state, ReadOnlySpan<byte> text, bool isCounted)
    {
        Lua.NewTable(state, 0, 2);
        Lua.Push(state, "err"u8);
        Lua.Push(state, text);
        Lua.RawSet(state, -3);
        if (!isCounted) return;
        Lua.Push(state, CountedField);
        Lua.Push(state, true);
        Lua.RawSet(state, -3);
    }

    private static ReadOnlySpan<byte> Line(ReadOnlySpan<byte> reply, ref int at)
    {
        int end = reply[at..].IndexOf((byte)'\r');
        ReadOnlySpan<byte> line = reply.Slice(at, end);
        at += end + 2;
        return line;
    }

    private static long Number(ReadOnlySpan<byte> line)
    {
        return RespNumber.TryParseInt64(line, out long value) ? value : 0;
    }

    private static ReadOnlySpan<byte> Text(ReadOnlySpan<byte> reply, ref int at, long length)
    {
        ReadOnlySpan<byte> text = reply.Slice(at, (int)length);
        at += (int)length + 2;
        return text;
    }

    private static void PushField(nint state, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        Lua.NewTable(state, 0, 1);
        Lua.Push(state, name);
        Lua.Push(state, value);
        Lua.RawSet(state, -3);
    }

    private bool TryPush(nint state, ReadOnlySpan<byte> reply, ref int at, int depth)
    {
        if (memory.Used > memory.BytesMax) return false;

        // Lua guarantees a function the stack space for the reply itself.
        if (depth > 0 && (depth > DepthMax || !Lua.EnsureStack(state, 8))) return false;
        byte marker = reply[at++];
        switch (marker)
        {
            case (byte)':':
                Lua.Push(state, (double)Number(Line(reply, ref at)));
                return true;
            case (byte)'$':
                long length = Number(Line(reply, ref at));
                if (length < 0) Lua.Push(state, false);
                else Lua.Push(state, Text(reply, ref at, length));
                return true;
            case (byte)'+':
                PushField(state, "ok"u8, Line(reply, ref at));
                return true;
            case (byte)'-':
                PushError(state, Line(reply, ref at), isCounted: true);
                return true;
            case (byte)'*':
            case (byte)'>':
                return TryPushArray(state, reply, ref at, depth);
            case (byte)'_':
                at += 2;
                Lua.PushNil(state);
                return true;
            case (byte)'#':
                Lua.Push(state, Line(reply, ref at)[0] == 't');
                return true;
            case (byte)',':
                Lua.NewTable(state, 0, 1);
                Lua.Push(state, "double"u8);
                _ = Translation.NumberText.TryParse(Line(reply, ref at), out double value);
                Lua.Push(state, value);
                Lua.RawSet(state, -3);
                return true;
            case (byte)'(':
                PushField(state, "big_number"u8, Line(reply, ref at));
                return true;
            case (byte)'=':
                PushVerbatim(state, reply, ref at);
                return true;
            case (byte)'%':
                return TryPushMap(state, reply, ref at, depth);
            default:
                return TryPushSet(state, reply, ref at, depth);
        }
    }

    private bool TryPushArray(nint state, ReadOnlySpan<byte> reply, ref int at, int depth)
    {
        long count = Number(Line(reply, ref at));
        if (count < 0)
        {
            if (_resp3) Lua.PushNil(state);
            else Lua.Push(state, false);
            return true;
        }

        Lua.NewTable(state, (int)count);
        for (int i = 1; i <= count; i++)
        {
            if (!TryPush(state, reply, ref at, depth + 1)) return false;
            Lua.RawSet(state, -2, i);
        }

        return true;
    }

    private static void PushVerbatim(nint state, ReadOnlySpan<byte> reply, ref int at)
    {
        ReadOnlySpan<byte> text = Text(reply, ref at, Number(Line(reply, ref at)));
        Lua.NewTable(state, 0, 1);
        Lua.Push(state, "verbatim_string"u8);
        Lua.NewTable(state, 0, 2);
        Lua.Push(state, "format"u8);
        Lua.Push(state, text[..3]);
        Lua.RawSet(state, -3);
        Lua.Push(state, "string"u8);
        Lua.Push(state, text[4..]);
        Lua.RawSet(state, -3);
        Lua.RawSet(state, -3);
    }

    private bool TryPushMap(nint state, ReadOnlySpan<byte> reply, ref int at, int depth)
    {
        long count = Number(Line(reply, ref at));
        Lua.NewTable(state, 0, 1);
        Lua.Push(state, "map"u8);
        Lua.NewTable(state, 0, (int)count);
        for (int i = 0; i < count; i++)
        {
            if (!TryPush(state, reply, ref at, depth + 1) || !TryPush(state, reply, ref at, depth + 1)) return false;
            if (Lua.TypeOf(state, -2) == LuaType.Nil) Lua.Pop(state, 2);
            else Lua.RawSet(state, -3);
        }

        Lua.RawSet(state, -3);
        return true;
    }

    private bool TryPushSet(nint state, ReadOnlySpan<byte> reply, ref int at, int depth)
    {
        long count = Number(Line(reply, ref at));
        Lua.NewTable(state, 0, 1);
        Lua.Push(state, "set"u8);
        Lua.NewTable(state, 0, (int)count);
        for (int i = 0; i < count; i++)
        {
            if (!TryPush(state, reply, ref at, depth + 1)) return false;
            Lua.Push(state, true);
            Lua.RawSet(state, -3);
        }

        Lua.RawSet(state, -3);
        return true;
    }
}
