using RedKite.Scripting.Interop;

namespace RedKite.Scripting.Libraries;

/// <summary>The library struct: packs values into binary strings, and back.</summary>
internal static class StructLibrary
{
    private const int IntegerBytesMax = 32;
    private const int AlignmentMax = 8;

    internal static void Add(LuaInterpreter lua)
    {
        lua.Add("struct.pack", Pack);
        lua.Add("struct.unpack", Unpack);
        lua.Add("struct.size", Size);
    }

    private static int Pack(LuaCall call)
    {
        var format = new Format(call.Text(1), call);
        int last = call.Count;
        int argument = 2;
        ScriptOutput output = call.Owner.BeginOutput();
        while (format.Next(output.Length))
        {
            for (int i = 0; i < format.Padding; i++) output.WriteByte(0);
            switch (format.Option)
            {
                case 'b' or 'B' or 'h' or 'H' or 'l' or 'L' or 'T' or 'i' or 'I':
                    WriteInteger(Number(call, argument++, last), format, output);
                    break;
                case 'x':
                    output.WriteByte(0);
                    break;
                case 'f':
                    Write(output, BitConverter.GetBytes((float)Number(call, argument++, last)), format.IsBig);
                    break;
                case 'd':
                    Write(output, BitConverter.GetBytes(Number(call, argument++, last)), format.IsBig);
                    break;
                case 'c' or 's':
                    Missing(call, argument, last, "string");
                    ReadOnlySpan<byte> text = call.Text(argument++);
                    int size = format.Size == 0 ? text.Length : format.Size;
                    if (text.Length < size) throw call.BadArgument(argument, "string too short");
                    output.Write(text[..size]);
                    if (format.Option == 's') output.WriteByte(0);
                    break;
                default:
                    break;
            }

            call.Owner.Step();
        }

        Lua.Push(call.State, output.Written);
        return 1;
    }

    private static int Unpack(LuaCall call)
    {
        var format = new Format(call.Text(1), call);
        ReadOnlySpan<byte> data = call.Text(2);
        long position = call.Integer(3, 1) - 1;
        if (position == -1) throw call.BadArgument(3, "offset must be 1 or greater");
        nint state = call.State;
        Lua.SetTop(state, 2);
        while (format.Next(position))
        {
            call.Owner.Step();
            position += format.Padding;
            if (position < 0 || position > data.Length || format.Size > data.Length - position) throw call.BadArgument(2, "data string too short");
            if (!Lua.EnsureStack(state, 4)) throw new LuaException("too many results");
            int size = format.Size;
            switch (format.Option)
            {
                case 'b' or 'B' or 'h' or 'H' or 'l' or 'L' or 'T' or 'i' or 'I':
                    Lua.Push(state, ReadInteger(data.Slice((int)position, size), format));
                    break;
                case 'f':
                    Lua.Push(state, BitConverter.ToSingle(Ordered(data.Slice((int)position, size), format.IsBig)));
                    break;
                case 'd':
                    Lua.Push(state, BitConverter.ToDouble(Ordered(data.Slice((int)position, size), format.IsBig)));
                    break;
                case 'c':
                    if (size == 0)
                    {
                        if (Lua.Top(state) <= 2 || Lua.TypeOf(state, -1) != LuaType.Number) throw new LuaException("format 'c0' needs a previous size");
                        double stated = Lua.ToNumber(state, -1);
                        Lua.Pop(state);
                        if (!(stated >= 0) || stated > data.Length - position) throw call.BadArgument(2, "data string too short");
                        size = (int)stated;
                    }

                    Lua.Push(state, data.Slice((int)position, size));
                    break;
                case 's':
                    size = data[(int)position..].IndexOf((byte)0);
                    if (size < 0) throw new LuaException("unfinished string in data");
                    Lua.Push(state, data.Slice((int)position, size));
                    size++;
                    break;
                default:
                    break;
            }

            position += size;
        }

        Lua.Push(state, (double)(position + 1));
        return Lua.Top(state) - 2;
    }

    private static int Size(LuaCall call)
    {
        var format = new Format(call.Text(1), call) { SkipsUnknown = true };
        long position = 0;
        while (format.Next(position))
        {
            call.Owner.Step();
            if (format.Option == 's') throw call.BadArgument(1, "option 's' has no fixed size");
            if (format is { Option: 'c', Size: 0 }) throw call.BadArgument(1, "option 'c0' has no fixed size");
            position += format.Padding + format.Size;
        }

        Lua.Push(call.State, (double)position);
        return 1;
    }

    private static double Number(LuaCall call, int argument, int last)
    {
        Missing(call, argument, last, "number");
        return call.Number(argument);
    }

    // The first missing argument counts as nil.
    private static void Missing(LuaCall call, int argument, int last, string expected)
    {
        if (argument == last + 1) throw call.BadArgument(argument, $"{expected} expected, got nil");
    }

    private static void WriteInteger(double number, Format format, ScriptOutput output)
    {
        ulong value = number < 0 ? (ulong)LuaCall.ToInt64(number) : double.IsNaN(number) || number < 9223372036854775808.0 ? (ulong)LuaCall.ToInt64(number) : number < 18446744073709551616.0 ? (ulong)number : 0;
        var bytes = new byte[format.Size];
        for (int i = 0; i < bytes.Length; i++)
        {
            bytes[i] = (byte)value;
            value >>= 8;
        }

        Write(output, bytes, format.IsBig);
    }

    private static void Write(ScriptOutput output, byte[] littleEndian, bool isBig)
    {
        if (isBig) Array.Reverse(littleEndian);
        output.Write(littleEndian);
    }

    private static byte[] Ordered(ReadOnlySpan<byte> bytes, bool isBig)
    {
        byte[] copy = bytes.ToArray();
        if (isBig) Array.Reverse(copy);
        return copy;
    }

    private static double ReadInteger(ReadOnlySpan<byte> bytes, Format format)
    {
        ulong value = 0;
        for (int i = 0; i < bytes.Length; i++) value = (value << 8) | bytes[format.IsBig ? i : bytes.Length - 1 - i];
        if (format.Option is 'B' or 'H' or 'L' or 'T' or 'I') return value;
        ulong mask = ulong.MaxValue << ((bytes.Length * 8) - 1);
        return (value & mask) != 0 ? (long)(value | mask) : (long)value;
    }

    // The options of a format, one after the other.
    private ref struct Format
    {
        private readonly ReadOnlySpan<byte> _text;
        private readonly LuaCall _call;
        private int _at;
        private int _align = 1;

        internal Format(ReadOnlySpan<byte> text, LuaCall call)
        {
            _text = text;
            _call = call;
        }

        internal bool IsBig { get; private set; }

        /// <summary>Whether a letter or digit that is no option has no size, instead of being an error.</summary>
        internal bool SkipsUnknown { get; init; }

        internal char Option { get; private set; }

        internal int Size { get; private set; }

        internal int Padding { get; private set; }

        internal bool Next(long position)
        {
            if (_at >= _text.Length || _text[_at] == 0) return false;
            Option = (char)_text[_at++];
            Size = Option switch
            {
                'B' or 'b' or 'x' => 1,
                'H' or 'h' => 2,
                'L' or 'l' or 'T' or 'd' => 8,
                'f' => 4,
                'c' => Number(1),
                'i' or 'I' => IntegerSize(),
                's' or ' ' or '<' or '>' or '!' => 0,
                _ when SkipsUnknown && char.IsAsciiLetterOrDigit(Option) => 0,
                _ => throw _call.BadArgument(1, $"invalid format option '{Option}'"),
            };
            if (Option is '<' or '>') IsBig = Option == '>';
            if (Option == '!') _align = Alignment();
            int align = Math.Min(Size, _align);
            Padding = align <= 1 || Option == 'c' ? 0 : (int)(-position & (align - 1));
            return true;
        }

        private int IntegerSize()
        {
            int size = Number(4);
            return size <= IntegerBytesMax ? size : throw new LuaException($"integral size {size} is larger than limit of {IntegerBytesMax}");
        }

        private int Alignment()
        {
            int align = Number(AlignmentMax);
            return align > 0 && (align & (align - 1)) == 0 ? align : throw new LuaException($"alignment {align} is not a power of 2");
        }

        private int Number(int missing)
        {
            if (_at >= _text.Length || !char.IsAsciiDigit((char)_text[_at])) return missing;
            long value = 0;
            while (_at < _text.Length && char.IsAsciiDigit((char)_text[_at]))
            {
                value = (value * 10) + (_text[_at++] - '0');
                if (value > int.MaxValue) throw new LuaException("integral size overflow");
            }

            return (int)value;
        }
    }
}
