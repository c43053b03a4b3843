using System.Diagnostics;
using System.Text;
using RedKite.Scripting.Interop;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting.Libraries;

/// <summary>The managed part of Lua's own libraries.</summary>
internal static class BaseLibrary
{
    private static readonly long Start = Stopwatch.GetTimestamp() - 1; // a clock is never at 0

    internal static void Add(LuaInterpreter lua)
    {
        lua.Add("numtext", NumberToText);
        lua.Add("tonumber", ToNumber);
        lua.Add("tonumberbase", ToNumberOfBase);
        lua.Add("tick", Tick);
        lua.Add("ending", Ending);
        lua.Add("handler", Handler);
        lua.Add("located", Located);
        lua.Add("load", Load);
        lua.Add("clock", Clock);
        lua.Add("tableconcat", Concatenate);
        lua.Add("math.atan", call => Push(call, Math.Atan(call.Number(1))));
        lua.Add("math.atan2", call => OfTwo(call, Math.Atan2));
        lua.Add("math.cosh", call => Push(call, Math.Cosh(call.Number(1))));
        lua.Add("math.sinh", call => Push(call, Math.Sinh(call.Number(1))));
        lua.Add("math.tanh", call => Push(call, Math.Tanh(call.Number(1))));
        lua.Add("math.log", call => Push(call, Logarithm(call.Number(1))));
        lua.Add("math.log10", call => Push(call, Math.Log10(call.Number(1))));
        lua.Add("math.pow", call => OfTwo(call, Math.Pow));
        lua.Add("math.ldexp", call => OfTwo(call, (value, exponent) => Math.ScaleB(value, unchecked((int)LuaCall.ToInt64(exponent)))));
        lua.Add("math.frexp", Frexp);
        lua.Add("math.random", Random);
        lua.Add("math.randomseed", Seed);
    }

    private static int Push(LuaCall call, double value)
    {
        Lua.Push(call.State, value);
        return 1;
    }

    // Lua 5.1 as it is compiled in Redis looks at the second argument first.
    private static int OfTwo(LuaCall call, Func<double, double, double> function)
    {
        double second = call.Number(2);
        return Push(call, function(call.Number(1), second));
    }

    // C's function returns a NaN with its sign set for negative numbers, which tostring shows.
    private static double Logarithm(double value) => value < 0 ? double.NaN : Math.Log(value);

    private static int NumberToText(LuaCall call)
    {
        call.Push(NumberText.Format(Lua.ToNumber(call.State, 1)));
        return 1;
    }

    private static int ToNumber(LuaCall call)
    {
        LuaType type = call.TypeOf(1);
        if (type == LuaType.Number) return Push(call, Lua.ToNumber(call.State, 1));
        if (type == LuaType.String && NumberText.TryParse(Lua.ToSpan(call.State, 1), out double value)) return Push(call, value);
        Lua.PushNil(call.State);
        return 1;
    }

    private static int ToNumberOfBase(LuaCall call)
    {
        LuaCall named = call with { Name = "tonumber" };
        long radix = named.Integer(2);
        if (radix == 10) return ToNumber(call);
        ReadOnlySpan<byte> text = named.Text(1).Trim(" \t\n\v\f\r"u8);
        if (radix is < 2 or > 36) throw named.BadArgument(2, "base out of range");
        bool isNegative = text.Length > 0 && text[0] == '-';
        if (text.Length > 0 && text[0] is (byte)'-' or (byte)'+') text = text[1..];
        if (radix == 16 && text.Length > 1 && text[0] == '0' && text[1] is (byte)'x' or (byte)'X') text = text[2..];
        ulong value = 0;
        bool isTooLarge = false;
        foreach (byte c in text)
        {
            call.Owner.Step();
            int digit = char.IsAsciiDigit((char)c) ? c - '0' : char.IsAsciiLetter((char)c) ? (c | 0x20) - 'a' + 10 : 99;
            if (digit >= radix)
            {
                text = default;
                break;
            }

            UInt128 next = ((UInt128)value * (ulong)radix) + (ulong)digit;
            isTooLarge |= next > ulong.MaxValue;
            value = isTooLarge ? ulong.MaxValue : (ulong)next;
        }

        if (text.IsEmpty) Lua.PushNil(call.State);
        else Lua.Push(call.State, (double)(isNegative && !isTooLarge ? 0 - value : value)); // as C's strtoul
        return 1;
    }

    private static int Tick(LuaCall call) => PushEnding(call, call.Owner.Tick());

    private static int Ending(LuaCall call) => PushEnding(call, call.Owner.Ending);

    private static int PushEnding(LuaCall call, string? error)
    {
        if (error is null) Lua.PushNil(call.State);
        else ReplyToLua.PushError(call.State, Encoding.Latin1.GetBytes(error), isCounted: false);
        return 1;
    }

    private static int Handler(LuaCall call) => call.Owner.HandleMessage(call.State);

    // The message of a coroutine that has ended with an error; its stack is still there.
    private static int Located(LuaCall call)
    {
        if (call.TypeOf(2) != LuaType.String) return 1; // the value itself
        _ = ErrorPositions.Find(Lua.ToPointer(call.State, 1), 0, Lua.ToSpan(call.State, 2), call.Owner.BufferBytesMax, out byte[]? message);
        if (message is not null) Lua.Push(call.State, message);
        return 1;
    }

    private static int Load(LuaCall call)
    {
        string name = call.String(2);
        if (LuaInterpreter.TryLoad(call.State, call.Text(1), name, ChunkName.Show(name), returnsOne: false, out _, out string error)) return 1;
        Lua.PushNil(call.State);
        call.Push(error);
        return 2;
    }

    // Redis's is its process's CPU time, which is the script's own while it runs. That of a process with several threads says nothing about a script.
    private static int Clock(LuaCall call) => Push(call, Stopwatch.GetElapsedTime(Start).TotalSeconds);

    private static int Concatenate(LuaCall call)
    {
        LuaCall named = call with { Name = "concat" };
        ReadOnlySpan<byte> between = named.IsNoneOrNil(2) ? default : named.Text(2);
        if (call.TypeOf(1) != LuaType.Table) throw named.WrongType(1, "table");
        long first = unchecked((int)named.Integer(3, 1));
        long last = unchecked((int)named.Integer(4, TableLength.Of(call.State, 1)));
        ScriptOutput result = call.Owner.BeginOutput();
        for (long i = first; i <= last; i++)
        {
            call.Owner.Step();
            Lua.RawGet(call.State, 1, i);
            LuaType type = Lua.TypeOf(call.State, -1);
            if (type == LuaType.String) result.Write(Lua.ToSpan(call.State, -1));
            else if (type == LuaType.Number) result.Write(Encoding.Latin1.GetBytes(NumberText.Format(Lua.ToNumber(call.State, -1))));
            else throw new LuaException($"invalid value ({LuaCall.NameOf(type)}) at index {i} in table for 'concat'");
            if (i < last) result.Write(between);
            Lua.Pop(call.State);
        }

        Lua.Push(call.State, result.Written);
        return 1;
    }

    private static int Frexp(LuaCall call)
    {
        double value = call.Number(1);
        int exponent = 0;
        if (value != 0 && double.IsFinite(value))
        {
            exponent = Math.ILogB(value) + 1;
            value = Math.ScaleB(value, -exponent);
        }

        Lua.Push(call.State, value);
        Lua.Push(call.State, (double)exponent);
        return 2;
    }

    private static int Random(LuaCall call)
    {
        double value = call.Owner.Random.Next();
        switch (call.Count)
        {
            case 0:
                return Push(call, value);
            case 1:
                double max = (int)call.Integer(1);
                if (max < 1) throw call.BadArgument(1, "interval is empty");
                return Push(call, Math.Floor(value * max) + 1);
            case 2:
                double low = (int)call.Integer(1);
                double high = (int)call.Integer(2);
                if (low > high) throw call.BadArgument(2, "interval is empty");
                return Push(call, Math.Floor(value * (high - low + 1)) + low);
            default:
                throw new LuaException("wrong number of arguments");
        }
    }

    private static int Seed(LuaCall call)
    {
        call.Owner.Random.Seed((int)call.Integer(1));
        return 0;
    }
}
