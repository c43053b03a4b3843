using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using RedKite.Scripting.Interop;

namespace RedKite.Scripting.Libraries;

/// <summary>The library cmsgpack.</summary>
internal static class MessagePackLibrary
{
    private const int PackDepthMax = 16; // deeper tables are written as nil
    private const int UnpackDepthMax = 1000;

    internal static void Add(LuaInterpreter lua)
    {
        lua.Add("cmsgpack.pack", Pack);
        lua.Add("cmsgpack.unpack", call => Unpack(call, 0, 0));
        lua.Add("cmsgpack.unpack_one", call => Unpack(call, 1, call.Integer(2, 0)));
        lua.Add("cmsgpack.unpack_limit", call => Unpack(call, call.Integer(2), call.Integer(3, 0)));
    }

    private static int Pack(LuaCall call)
    {
        int count = call.Count;
        if (count == 0) throw call.BadArgument(0, "MessagePack pack needs input.");
        ScriptOutput output = call.Owner.BeginOutput();
        for (int i = 1; i <= count; i++) Write(call, i, output, 0);
        Lua.Push(call.State, output.Written);
        return 1;
    }

    private static void Write(LuaCall call, int index, ScriptOutput output, int depth)
    {
        call.Owner.Step();
        nint state = call.State;
        switch (Lua.TypeOf(state, index))
        {
            case LuaType.String:
                WriteString(Lua.ToSpan(state, index), output);
                break;
            case LuaType.Boolean:
                output.WriteByte(Lua.ToBoolean(state, index) ? (byte)0xC3 : (byte)0xC2);
                break;
            case LuaType.Number:
                WriteNumber(Lua.ToNumber(state, index), output);
                break;
            case LuaType.Table when depth < PackDepthMax:
                WriteTable(call, index, output, depth);
                break;
            default:
                output.WriteByte(0xC0);
                break;
        }
    }

    private static void WriteString(ReadOnlySpan<byte> text, ScriptOutput output)
    {
        if (text.Length < 32) output.WriteByte((byte)(0xA0 | text.Length));
        else WriteHead(output, text.Length, 0xD9, 0xDA, 0xDB);
        output.Write(text);
    }

    private static void WriteHead(ScriptOutput output, long count, byte head8, byte head16, byte head32)
    {
        Span<byte> bytes = stackalloc byte[5];
        if (count <= byte.MaxValue && head8 != 0)
        {
            bytes[0] = head8;
            bytes[1] = (byte)count;
            output.Write(bytes[..2]);
        }
        else if (count <= ushort.MaxValue)
        {
            bytes[0] = head16;
            BinaryPrimitives.WriteUInt16BigEndian(bytes[1..], (ushort)count);
            output.Write(bytes[..3]);
        }
        else
        {
            bytes[0] = head32;
            BinaryPrimitives.WriteUInt32BigEndian(bytes[1..], (uint)count);
            output.Write(bytes);
        }
    }

    private static void WriteNumber(double value, ScriptOutput output)
    {
        Span<byte> bytes = stackalloc byte[9];
        if (value == Math.Floor(value) && value is >= -9223372036854775808.0 and < 9223372036854775808.0)
        {
            WriteInteger((long)value, output, bytes);
        }
        else if ((float)value == value)
        {
            bytes[0] = 0xCA;
            BinaryPrimitives.WriteSingleBigEndian(bytes[1..], (float)value);
            output.Write(bytes[..5]);
        }
        else
        {
            bytes[0] = 0xCB;
            BinaryPrimitives.WriteDoubleBigEndian(bytes[1..], value);
            output.Write(bytes);
        }
    }

    private static void WriteInteger(long value, ScriptOutput output, Span<byte> bytes)
    {
        (byte head, int size) = value switch
        {
            >= 0 and <= 127 => ((byte)value, 0),
            < 0 and >= -32 => ((byte)value, 0),
            >= 0 and <= byte.MaxValue => ((byte)0xCC, 1),
            >= 0 and <= ushort.MaxValue => ((byte)0xCD, 2),
            >= 0 and <= uint.MaxValue => ((byte)0xCE, 4),
            >= 0 => ((byte)0xCF, 8),
            >= sbyte.MinValue => ((byte)0xD0, 1),
            >= short.MinValue => ((byte)0xD1, 2),
            >= int.MinValue => ((byte)0xD2, 4),
            _ => ((byte)0xD3, 8),
        };
        bytes[0] = head;
        for (int i = 0; i < size; i++) bytes[size - i] = (byte)(value >> (8 * i));
        output.Write(bytes[..(size + 1)]);
    }

    private static void WriteTable(LuaCall call, int index, ScriptOutput output, int depth)
    {
        nint state = call.State;
        if (!Lua.EnsureStack(state, 8)) throw new LuaException("stack overflow");
        long count = 0;
        long max = 0;
        bool isArray = true;
        Lua.PushNil(state);
        while (Lua.Next(state, index))
        {
            double key = Lua.TypeOf(state, -2) == LuaType.Number ? Lua.ToNumber(state, -2) : 0;
            if (key < 1 || key != Math.Floor(key) || key > int.MaxValue) isArray = false;
            else max = Math.Max(max, (long)key);
            count++;
            Lua.Pop(state);
        }

        if (isArray && max == count)
        {
            if (count < 16) output.WriteByte((byte)(0x90 | count));
            else WriteHead(output, count, 0, 0xDC, 0xDD);
            for (long i = 1; i <= count; i++)
            {
                Lua.RawGet(state, index, i);
                Write(call, Lua.Top(state), output, depth + 1);
                Lua.Pop(state);
            }

            return;
        }

        if (count < 16) output.WriteByte((byte)(0x80 | count));
        else WriteHead(output, count, 0, 0xDE, 0xDF);
        Lua.PushNil(state);
        while (Lua.Next(state, index))
        {
            int value = Lua.Top(state);
            Write(call, value - 1, output, depth + 1);
            Write(call, value, output, depth + 1);
            Lua.Pop(state);
        }
    }

    private static int Unpack(LuaCall call, long limit, long offset)
    {
        ReadOnlySpan<byte> input = call.Text(1); // stays on the stack
        if (offset < 0 || limit < 0) throw new LuaException($"Invalid request to unpack with offset of {offset} and limit of {input.Length}.");
        if (offset > input.Length) throw new LuaException($"Start offset {offset} greater than input length {input.Length}.");
        bool isAll = limit == 0 && offset == 0;
        if (isAll) limit = int.MaxValue;
        int at = (int)offset;
        int count = 0;
        int before = call.Count;
        while (at < input.Length && count < limit)
        {
            if (!Lua.EnsureStack(call.State, 8)) throw new LuaException("too many results to unpack");
            Read(call, input, ref at, 0);
            count++;
        }

        if (isAll) return count;
        Lua.Push(call.State, (double)(at == input.Length ? -1 : at));
        Lua.Insert(call.State, before + 1);
        return count + 1;
    }

    private static void Read(LuaCall call, ReadOnlySpan<byte> input, ref int at, int depth)
    {
        call.Owner.Step();
        nint state = call.State;
        if (depth > UnpackDepthMax || !RuntimeHelpers.TryEnsureSufficientExecutionStack() || !Lua.EnsureStack(state, 8)) throw new LuaException("Bad data format in input.");
        byte head = Take(input, ref at, 1)[0];
        switch (head)
        {
            case <= 0x7F:
                Lua.Push(state, (double)head);
                break;
            case >= 0xE0:
                Lua.Push(state, (double)(sbyte)head);
                break;
            case 0xC0:
                Lua.PushNil(state);
                break;
            case 0xC2 or 0xC3:
                Lua.Push(state, head == 0xC3);
                break;
            case 0xCA:
                Lua.Push(state, BinaryPrimitives.ReadSingleBigEndian(Take(input, ref at, 4)));
                break;
            case 0xCB:
                Lua.Push(state, BinaryPrimitives.ReadDoubleBigEndian(Take(input, ref at, 8)));
                break;
            case >= 0xCC and <= 0xCF:
                Lua.Push(state, (double)(long)Unsigned(input, ref at, 1 << (head - 0xCC))); // the largest become negative, as in Redis
                break;
            case >= 0xD0 and <= 0xD3:
                int size = 1 << (head - 0xD0);
                Lua.Push(state, (double)((long)Unsigned(input, ref at, size) << (64 - (8 * size)) >> (64 - (8 * size))));
                break;
            case >= 0xA0 and <= 0xBF:
                Lua.Push(state, Take(input, ref at, head & 0x1F));
                break;
            case >= 0xD9 and <= 0xDB:
                Lua.Push(state, Take(input, ref at, (long)Unsigned(input, ref at, 1 << (head - 0xD9))));
                break;
            case >= 0x90 and <= 0x9F:
                ReadArray(call, input, ref at, head & 0x0F, depth);
                break;
            case 0xDC or 0xDD:
                ReadArray(call, input, ref at, (long)Unsigned(input, ref at, head == 0xDC ? 2 : 4), depth);
                break;
            case <= 0x8F:
                ReadMap(call, input, ref at, head & 0x0F, depth);
                break;
            case 0xDE or 0xDF:
                ReadMap(call, input, ref at, (long)Unsigned(input, ref at, head == 0xDE ? 2 : 4), depth);
                break;
            default:
                throw new LuaException("Bad data format in input.");
        }
    }

    private static void ReadArray(LuaCall call, ReadOnlySpan<byte> input, ref int at, long count, int depth)
    {
        nint state = call.State;
        Lua.NewTable(state);
        for (long i = 1; i <= count; i++)
        {
            Read(call, input, ref at, depth + 1);
            Lua.RawSet(state, -2, i);
        }
    }

    private static void ReadMap(LuaCall call, ReadOnlySpan<byte> input, ref int at, long count, int depth)
    {
        nint state = call.State;
        Lua.NewTable(state);
        for (long i = 0; i < count; i++)
        {
            Read(call, input, ref at, depth + 1);
            Read(call, input, ref at, depth + 1);
            LuaType key = Lua.TypeOf(state, -2);
            if (key == LuaType.Nil) throw new LuaException("table index is nil") { HasNoPosition = true };
            if (key == LuaType.Number && double.IsNaN(Lua.ToNumber(state, -2))) throw new LuaException("table index is NaN") { HasNoPosition = true };
            Lua.RawSet(state, -3);
        }
    }

    private static ulong Unsigned(ReadOnlySpan<byte> input, ref int at, int size)
    {
        ulong value = 0;
        foreach (byte b in Take(input, ref at, size)) value = (value << 8) | b;
        return value;
    }

    private static ReadOnlySpan<byte> Take(ReadOnlySpan<byte> input, ref int at, long count)
    {
        if (count > input.Length - at) throw new LuaException("Missing bytes in input.");
        ReadOnlySpan<byte> taken = input.Slice(at, (int)count);
        at += (int)count;
        return taken;
    }
}
