using System.Buffers;
using System.Text;
using RedKite.Scripting.Interop;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting.Libraries;

/// <summary>The library cjson: its functions, and the writer of JSON. <see cref="JsonReader"/> reads it.</summary>
internal static class JsonLibrary
{
    private static readonly SearchValues<byte> Escaped = SearchValues.Create([.. Enumerable.Range(0, 0x20).Select(c => (byte)c), 0x7F, .. "\"\\/"u8]);

    internal static void Add(LuaInterpreter lua)
    {
        lua.Add("cjson.encode", Encode);
        lua.Add("cjson.decode", Decode);
        lua.Add("cjson.encode_sparse_array", SetSparse);
        lua.Add("cjson.encode_max_depth", call => SetInteger(call, 1, int.MaxValue, static json => json.EncodeDepthMax, static (json, value) => json with { EncodeDepthMax = value }));
        lua.Add("cjson.decode_max_depth", call => SetInteger(call, 1, int.MaxValue, static json => json.DecodeDepthMax, static (json, value) => json with { DecodeDepthMax = value }));
        lua.Add("cjson.encode_number_precision", call => SetInteger(call, 1, 14, static json => json.PrecisionDigits, static (json, value) => json with { PrecisionDigits = value }));
        lua.Add("cjson.encode_keep_buffer", call => SetSwitch(call, static json => json.KeepsBuffer, static (json, value) => json with { KeepsBuffer = value }));
        lua.Add("cjson.decode_invalid_numbers", call => SetSwitch(call, static json => json.DecodeInvalidNumbers, static (json, value) => json with { DecodeInvalidNumbers = value }));
        lua.Add("cjson.encode_invalid_numbers", SetInvalidNumbers);
        lua.Add("cjson.decode_array_with_array_mt", call => SetSwitch(call, static json => json.MarksArrays, static (json, value) => json with { MarksArrays = value }));
        lua.Add("cjson.array_mark", SetArrayMark);
    }

    // As in Redis, where the stack of C functions ends there, whatever the settings say.
    internal const int EncodeDepthMax = 7997;

    private static int Encode(LuaCall call)
    {
        if (call.Count != 1) throw call.BadArgument(1, "expected 1 argument");
        ScriptOutput output = call.Owner.BeginOutput();
        Lua.PushValue(call.State, 1);
        WriteTop(call, output);
        Lua.Push(call.State, output.Written);
        return 1;
    }

    private static int Decode(LuaCall call)
    {
        if (call.Count != 1) throw call.BadArgument(1, "expected 1 argument");
        var reader = new JsonReader(call, call.Text(1));
        reader.Read();
        return 1;
    }

    // Writes and pops the value on the top of the stack. Without recursion: the tables that are open are on Lua's stack, an object with
    // the key that is being written.
    private static void WriteTop(LuaCall call, ScriptOutput output)
    {
        nint state = call.State;
        var open = new Stack<OpenTable>();
        do
        {
            call.Owner.Step();
            if (Lua.TypeOf(state, -1) == LuaType.Table)
            {
                open.Push(Open(call, output, open.Count + 1));
            }
            else
            {
                WriteScalar(call, output);
                Lua.Pop(state);
            }

            while (open.TryPop(out OpenTable table))
            {
                if (!TryPushNext(call, output, ref table)) continue; // the table is written
                open.Push(table);
                break;
            }
        }
        while (open.Count > 0);
    }

    private static OpenTable Open(LuaCall call, ScriptOutput output, int depth)
    {
        if (depth > Math.Min(call.Owner.Json.EncodeDepthMax, EncodeDepthMax) || !Lua.EnsureStack(call.State, 8)) throw new LuaException($"Cannot serialise, excessive nesting ({depth})");
        bool isMarked = IsMarked(call.State);
        long length = isMarked ? LengthToFirstNil(call) : ArrayLength(call, Lua.Top(call.State));
        bool isArray = isMarked || length > 0;
        output.WriteByte(isArray ? (byte)'[' : (byte)'{');
        if (!isArray) Lua.PushNil(call.State); // the key before the first
        return new OpenTable(isArray, length, 0);
    }

    // Pushes a table's next value, to be written, or ends and pops the table.
    private static bool TryPushNext(LuaCall call, ScriptOutput output, ref OpenTable table)
    {
        nint state = call.State;
        bool isArray = table.IsArray;
        if (isArray ? table.Written == table.Length : !Lua.Next(state, -2))
        {
            output.WriteByte(isArray ? (byte)']' : (byte)'}');
            Lua.Pop(state);
            return false;
        }

        if (table.Written > 0) output.WriteByte((byte)',');
        table = table with { Written = table.Written + 1 };
        if (isArray) Lua.RawGet(state, -1, table.Written);
        else WriteKey(call, output);
        return true;
    }

    private static void WriteKey(LuaCall call, ScriptOutput output)
    {
        nint state = call.State;
        LuaType type = Lua.TypeOf(state, -2);
        if (type == LuaType.Number)
        {
            output.WriteByte((byte)'"');
            WriteNumber(call, Lua.ToNumber(state, -2), output);
            output.WriteByte((byte)'"');
        }
        else if (type == LuaType.String)
        {
            WriteString(call, Lua.ToSpan(state, -2), output);
        }
        else
        {
            throw new LuaException($"Cannot serialise {LuaCall.NameOf(type)}: table key must be a number or string");
        }

        output.WriteByte((byte)':');
    }

    private static void WriteScalar(LuaCall call, ScriptOutput output)
    {
        nint state = call.State;
        LuaType type = Lua.TypeOf(state, -1);
        switch (type)
        {
            case LuaType.String:
                WriteString(call, Lua.ToSpan(state, -1), output);
                break;
            case LuaType.Number:
                WriteNumber(call, Lua.ToNumber(state, -1), output);
                break;
            case LuaType.Boolean:
                output.Write(Lua.ToBoolean(state, -1) ? "true"u8 : "false"u8);
                break;
            case LuaType.Nil:
                output.Write("null"u8);
                break;
            case LuaType.LightUserdata when Lua.ToUserdata(state, -1) == 0:
                output.Write("null"u8);
                break;
            default:
                throw new LuaException($"Cannot serialise {LuaCall.NameOf(type)}: type not supported");
        }
    }

    private static void WriteNumber(LuaCall call, double value, ScriptOutput output)
    {
        if (!double.IsFinite(value))
        {
            switch (call.Owner.Json.EncodeInvalidNumbers)
            {
                case 0:
                    throw new LuaException("Cannot serialise number: must not be NaN or Inf");
                case 2:
                    output.Write("null"u8);
                    return;
                default:
                    output.Write(double.IsNaN(value) ? "nan"u8 : value > 0 ? "inf"u8 : "-inf"u8);
                    return;
            }
        }

        output.Write(Encoding.Latin1.GetBytes(CFormat.General(value, call.Owner.Json.PrecisionDigits, alternate: false, upper: false)));
    }

    private static void WriteString(LuaCall call, ReadOnlySpan<byte> text, ScriptOutput output)
    {
        output.WriteByte((byte)'"');
        for (int plain = text.IndexOfAny(Escaped); plain >= 0; plain = text.IndexOfAny(Escaped))
        {
            call.Owner.Step();
            output.Write(text[..plain]);
            byte c = text[plain];
            text = text[(plain + 1)..];
            ReadOnlySpan<byte> escape = c switch
            {
                (byte)'"' => "\\\""u8,
                (byte)'\\' => "\\\\"u8,
                (byte)'/' => "\\/"u8,
                (byte)'\b' => "\\b"u8,
                (byte)'\t' => "\\t"u8,
                (byte)'\n' => "\\n"u8,
                (byte)'\f' => "\\f"u8,
                (byte)'\r' => "\\r"u8,
                _ => default,
            };
            output.Write(escape);
            if (!escape.IsEmpty) continue;
            output.Write("\\u00"u8);
            output.WriteByte("0123456789abcdef"u8[c >> 4]);
            output.WriteByte("0123456789abcdef"u8[c & 15]);
        }

        output.Write(text);
        output.WriteByte((byte)'"');
    }

    // Keeps the metatable of decoded arrays, which the prelude makes, where no script finds it.
    private static int SetArrayMark(LuaCall call)
    {
        Lua.PushValue(call.State, 1);
        Lua.RawSet(call.State, Lua.Registry, LuaInterpreter.ArrayMarkPosition);
        return 0;
    }

    /// <summary>Gives the table on the top of the stack the metatable by which it is written as an array, whatever it holds.</summary>
    internal static void Mark(nint state)
    {
        Lua.RawGet(state, Lua.Registry, LuaInterpreter.ArrayMarkPosition);
        Lua.SetMetatable(state, -2);
    }

    // Whether the table on the top of the stack has that metatable, or one of a script's with its field.
    private static bool IsMarked(nint state)
    {
        if (!Lua.PushMetatable(state, -1)) return false;
        Lua.RawGet(state, Lua.Registry, LuaInterpreter.ArrayMarkPosition);
        bool isMarked = Lua.ToPointer(state, -1) == Lua.ToPointer(state, -2);
        Lua.Pop(state);
        if (!isMarked)
        {
            Lua.Push(state, "__is_cjson_array"u8);
            Lua.RawGet(state, -2);
            isMarked = Lua.ToBoolean(state, -1);
            Lua.Pop(state);
        }

        Lua.Pop(state);
        return isMarked;
    }

    private static long LengthToFirstNil(LuaCall call)
    {
        nint state = call.State;
        long length = 0;
        while (true)
        {
            call.Owner.Step();
            Lua.RawGet(state, -1, length + 1);
            bool ends = Lua.TypeOf(state, -1) == LuaType.Nil;
            Lua.Pop(state);
            if (ends) return length;
            length++;
        }
    }

    // The largest index of a table whose keys are all positive integers; -1: it is not such a table, or has too many holes.
    private static long ArrayLength(LuaCall call, int index)
    {
        JsonSettings json = call.Owner.Json;
        nint state = call.State;
        long max = 0;
        long items = 0;
        int top = Lua.Top(state);
        Lua.PushNil(state);
        while (Lua.Next(state, index))
        {
            call.Owner.Step();
            double key = Lua.TypeOf(state, -2) == LuaType.Number ? Lua.ToNumber(state, -2) : 0;
            if (key < 1 || key != Math.Floor(key) || key > int.MaxValue)
            {
                Lua.SetTop(state, top);
                return -1;
            }

            max = Math.Max(max, (long)key);
            items++;
            Lua.Pop(state);
        }

        if (json.SparseRatio > 0 && max > items * json.SparseRatio && max > json.SparseSafe)
        {
            if (!json.SparseConverts) throw new LuaException("Cannot serialise table: excessively sparse array");
            return -1;
        }

        return max;
    }

    private static int SetSparse(LuaCall call)
    {
        AcceptUpTo(call, 3);
        if (!call.IsNoneOrNil(1)) call.Owner.Change(call.Owner.Json with { SparseConverts = Switch(call, 1) });
        if (!call.IsNoneOrNil(2)) call.Owner.Change(call.Owner.Json with { SparseRatio = Integer(call, 2, 0, int.MaxValue) });
        if (!call.IsNoneOrNil(3)) call.Owner.Change(call.Owner.Json with { SparseSafe = Integer(call, 3, 0, int.MaxValue) });
        JsonSettings json = call.Owner.Json;
        Lua.Push(call.State, json.SparseConverts);
        Lua.Push(call.State, (double)json.SparseRatio);
        Lua.Push(call.State, (double)json.SparseSafe);
        return 3;
    }

    private static int SetInvalidNumbers(LuaCall call)
    {
        AcceptUpTo(call, 1);
        if (!call.IsNoneOrNil(1))
        {
            int value = call.TypeOf(1) == LuaType.String && call.Text(1).SequenceEqual("null"u8) ? 2 : Switch(call, 1) ? 1 : 0;
            call.Owner.Change(call.Owner.Json with { EncodeInvalidNumbers = value });
        }

        if (call.Owner.Json.EncodeInvalidNumbers == 2) call.Push("null");
        else Lua.Push(call.State, call.Owner.Json.EncodeInvalidNumbers == 1);
        return 1;
    }

    private static int SetSwitch(LuaCall call, Func<JsonSettings, bool> read, Func<JsonSettings, bool, JsonSettings> change)
    {
        AcceptUpTo(call, 1);
        if (!call.IsNoneOrNil(1)) call.Owner.Change(change(call.Owner.Json, Switch(call, 1)));
        Lua.Push(call.State, read(call.Owner.Json));
        return 1;
    }

    private static int SetInteger(LuaCall call, int min, int max, Func<JsonSettings, int> read, Func<JsonSettings, int, JsonSettings> change)
    {
        AcceptUpTo(call, 1);
        if (!call.IsNoneOrNil(1)) call.Owner.Change(change(call.Owner.Json, Integer(call, 1, min, max)));
        Lua.Push(call.State, (double)read(call.Owner.Json));
        return 1;
    }

    private static void AcceptUpTo(LuaCall call, int count)
    {
        if (call.Count > count) throw call.BadArgument(count + 1, "found too many arguments");
    }

    private static bool Switch(LuaCall call, int argument)
    {
        if (call.TypeOf(argument) == LuaType.Boolean) return Lua.ToBoolean(call.State, argument);
        string text = call.String(argument);
        return text switch
        {
            "on" => true,
            "off" => false,
            _ => throw call.BadArgument(argument, $"invalid option '{text}'"),
        };
    }

    private static int Integer(LuaCall call, int argument, int min, int max)
    {
        long value = call.Integer(argument);
        return value >= min && value <= max ? (int)value : throw call.BadArgument(argument, $"expected integer between {min} and {max}");
    }

    // A table that is being written: an array's length, or 0 for an object; and how many of its elements are written.
    private readonly record struct OpenTable(bool IsArray, long Length, long Written);
}
