using System.Runtime.CompilerServices;
using System.Text;
using RedKite.Protocol;
using RedKite.Scripting.Interop;

namespace RedKite.Scripting;

/// <summary>Converts the value that a script returns into a reply.</summary>
internal static class ReplyFromLua
{
    private const int DepthMax = 1000;
    private const int LinePieceBytes = 2048;
    private const int ErrorPlaceBytesMax = 4096; // the script and the line behind an error's text

    /// <summary>Writes the value on the top of the stack.</summary>
    /// <param name="state">Lua's state.</param>
    /// <param name="reply">The client's reply.</param>
    /// <param name="host">Counts errors.</param>
    /// <param name="hasBooleans">Whether the script chose RESP3, which has booleans.</param>
    internal static void Write(nint state, ReplyWriter reply, ScriptHost host, bool hasBooleans) => Write(state, Lua.Top(state), reply, host, hasBooleans, 0);

    /// <summary>Whether an error's table says that it was counted as a command's.</summary>
    internal static bool IsCounted(nint state, int index)
    {
        if (!TryField(state, index, ReplyToLua.CountedField, LuaType.Boolean)) return false;
        bool isCounted = Lua.ToBoolean(state, -1);
        Lua.Pop(state);
        return isCounted;
    }

    private static void Write(nint state, int index, ReplyWriter reply, ScriptHost host, bool hasBooleans, int depth)
    {
        Lua.OwnerOf(state).CheckEnding();
        if (reply.Overflowed) return;
        if (depth > 0 && (depth > DepthMax || !RuntimeHelpers.TryEnsureSufficientExecutionStack() || !Lua.EnsureStack(state, 8)))
        {
            reply.Error("ERR reached lua stack limit"u8);
            return;
        }

        switch (Lua.TypeOf(state, index))
        {
            case LuaType.String:
                reply.Bulk(Lua.ToSpan(state, index));
                break;
            case LuaType.Number:
                reply.Integer(LuaCall.ToInt64(Lua.ToNumber(state, index)));
                break;
            case LuaType.Boolean when hasBooleans:
                if (reply.Resp3) reply.Boolean(Lua.ToBoolean(state, index));
                else reply.Integer(Lua.ToBoolean(state, index) ? 1 : 0);
                break;
            case LuaType.Boolean when Lua.ToBoolean(state, index):
                reply.Integer(1);
                break;
            case LuaType.Table:
                WriteTable(state, index, reply, host, hasBooleans, depth);
                break;
            default:
                reply.Null();
                break;
        }
    }

    private static void WriteTable(nint state, int index, ReplyWriter reply, ScriptHost host, bool hasBooleans, int depth)
    {
        int top = Lua.Top(state);
        if (TryField(state, index, "err"u8, LuaType.String))
        {
            WriteError(reply, host, Lua.ToSpan(state, -1), IsCounted(state, index));
        }
        else if (TryField(state, index, "ok"u8, LuaType.String))
        {
            WriteLine(reply, "+"u8, Lua.ToSpan(state, -1));
        }
        else if (TryField(state, index, "double"u8, LuaType.Number))
        {
            reply.Double(Lua.ToNumber(state, -1));
        }
        else if (TryField(state, index, "map"u8, LuaType.Table))
        {
            WritePairs(state, Lua.Top(state), reply, host, hasBooleans, depth, isMap: true);
        }
        else if (TryField(state, index, "set"u8, LuaType.Table))
        {
            WritePairs(state, Lua.Top(state), reply, host, hasBooleans, depth, isMap: false);
        }
        else if (TryField(state, index, "big_number"u8, LuaType.String))
        {
            WriteBigNumber(reply, Lua.ToSpan(state, -1));
        }
        else if (TryField(state, index, "verbatim_string"u8, LuaType.Table) && TryVerbatim(state, Lua.Top(state), reply))
        {
            // written
        }
        else
        {
            WriteArray(state, index, reply, host, hasBooleans, depth);
        }

        Lua.SetTop(state, top);
    }

    /// <summary>Writes an error of a script.</summary>
    internal static void WriteError(ReplyWriter reply, ScriptHost host, ReadOnlySpan<byte> text, bool isCounted)
    {
        reply.CountedError(text[..Math.Min(text.Length, LuaInterpreter.ErrorBytesMax + ErrorPlaceBytesMax)].TrimEnd("\r\n"u8));
        host.NoteError(reply.LastErrorCode, isCounted);
    }

    private static void WriteBigNumber(ReplyWriter reply, ReadOnlySpan<byte> digits)
    {
        WriteLine(reply, reply.Resp3 ? "("u8 : Encoding.ASCII.GetBytes($"${digits.Length}\r\n"), digits);
    }

    // A line of any length, in pieces: its line ends become blanks.
    private static void WriteLine(ReplyWriter reply, ReadOnlySpan<byte> head, ReadOnlySpan<byte> text)
    {
        Span<byte> room = stackalloc byte[LinePieceBytes];
        reply.Raw(head);
        while (!text.IsEmpty)
        {
            Span<byte> piece = room[..Math.Min(text.Length, room.Length)];
            text[..piece.Length].CopyTo(piece);
            text = text[piece.Length..];
            piece.Replace((byte)'\r', (byte)' ');
            piece.Replace((byte)'\n', (byte)' ');
            reply.Raw(piece);
        }

        reply.Raw("\r\n"u8);
    }

    private static bool TryVerbatim(nint state, int index, ReplyWriter reply)
    {
        if (!TryField(state, index, "format"u8, LuaType.String)) return false;
        ReadOnlySpan<byte> format = Lua.ToSpan(state, -1);
        if (!TryField(state, index, "string"u8, LuaType.String)) return false;
        Span<byte> three = [(byte)' ', (byte)' ', (byte)' '];
        format[..Math.Min(3, format.Length)].CopyTo(three);
        reply.Verbatim(three, Lua.ToSpan(state, -1));
        return true;
    }

    private static bool TryField(nint state, int index, ReadOnlySpan<byte> name, LuaType type)
    {
        Lua.Push(state, name);
        Lua.RawGet(state, index);
        if (Lua.TypeOf(state, -1) == type) return true;
        Lua.Pop(state);
        return false;
    }

    private static void WritePairs(nint state, int index, ReplyWriter reply, ScriptHost host, bool hasBooleans, int depth, bool isMap)
    {
        int count = 0;
        LuaInterpreter owner = Lua.OwnerOf(state);
        Lua.PushNil(state);
        while (Lua.Next(state, index))
        {
            owner.CheckEnding();
            count++;
            Lua.Pop(state);
        }

        if (isMap) reply.Map(count);
        else reply.Set(count);
        Lua.PushNil(state);
        while (Lua.Next(state, index))
        {
            int value = Lua.Top(state);
            Write(state, value - 1, reply, host, hasBooleans, depth + 1);
            if (isMap) Write(state, value, reply, host, hasBooleans, depth + 1);
            Lua.Pop(state);
        }
    }

    private static void WriteArray(nint state, int index, ReplyWriter reply, ScriptHost host, bool hasBooleans, int depth)
    {
        int count = 0;
        LuaInterpreter owner = Lua.OwnerOf(state);
        while (true)
        {
            owner.CheckEnding();
            Lua.RawGet(state, index, count + 1);
            bool ends = Lua.TypeOf(state, -1) == LuaType.Nil;
            Lua.Pop(state);
            if (ends) break;
            count++;
        }

        reply.Array(count);
        for (int i = 1; i <= count; i++)
        {
            Lua.RawGet(state, index, i);
            Write(state, Lua.Top(state), reply, host, hasBooleans, depth + 1);
            Lua.Pop(state);
        }
    }
}
