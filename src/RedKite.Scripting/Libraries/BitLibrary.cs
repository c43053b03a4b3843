using System.Buffers.Binary;
using System.Globalization;
using System.Numerics;
using RedKite.Scripting.Interop;

namespace RedKite.Scripting.Libraries;

/// <summary>The library bit: operations on 32-bit integers.</summary>
internal static class BitLibrary
{
    internal static void Add(LuaInterpreter lua)
    {
        lua.Add("bit.tobit", call => Push(call, Bits(call, 1)));
        lua.Add("bit.bnot", call => Push(call, ~Bits(call, 1)));
        lua.Add("bit.bswap", call => Push(call, BinaryPrimitives.ReverseEndianness(Bits(call, 1))));
        lua.Add("bit.band", call => Fold(call, (a, b) => a & b));
        lua.Add("bit.bor", call => Fold(call, (a, b) => a | b));
        lua.Add("bit.bxor", call => Fold(call, (a, b) => a ^ b));
        lua.Add("bit.lshift", call => Push(call, Bits(call, 1) << (int)(Bits(call, 2) & 31)));
        lua.Add("bit.rshift", call => Push(call, Bits(call, 1) >> (int)(Bits(call, 2) & 31)));
        lua.Add("bit.arshift", call => Push(call, (uint)((int)Bits(call, 1) >> (int)(Bits(call, 2) & 31))));
        lua.Add("bit.rol", call => Push(call, BitOperations.RotateLeft(Bits(call, 1), (int)(Bits(call, 2) & 31))));
        lua.Add("bit.ror", call => Push(call, BitOperations.RotateRight(Bits(call, 1), (int)(Bits(call, 2) & 31))));
        lua.Add("bit.tohex", ToHex);
    }

    // Adding 1.5 * 2^52 leaves the number, rounded to the nearest even integer, in the low bits of the sum.
    private static uint Bits(LuaCall call, int argument) => (uint)BitConverter.DoubleToInt64Bits(call.Number(argument) + 6755399441055744.0);

    private static int Push(LuaCall call, uint bits)
    {
        Lua.Push(call.State, (double)(int)bits);
        return 1;
    }

    private static int Fold(LuaCall call, Func<uint, uint, uint> combine)
    {
        uint result = Bits(call, 1);
        for (int i = 2; i <= call.Count; i++) result = combine(result, Bits(call, i));
        return Push(call, result);
    }

    private static int ToHex(LuaCall call)
    {
        uint bits = Bits(call, 1);
        int digits = call.Count < 2 ? 8 : (int)Bits(call, 2);
        bool isUpper = digits < 0;
        digits = digits == int.MinValue ? 8 : Math.Min(8, Math.Abs(digits));
        string text = bits.ToString(isUpper ? "X8" : "x8", CultureInfo.InvariantCulture);
        call.Push(text[(8 - digits)..]);
        return 1;
    }
}
