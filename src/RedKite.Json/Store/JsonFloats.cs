using System.Globalization;

namespace RedKite.Json.Store;

/// <summary>The precision that JSON.SET gives to the numbers of arrays of numbers.</summary>
internal enum JsonFloats : byte
{
    /// <summary>All digits are kept.</summary>
    Any,
    Half,
    BFloat,
    Single,
    Double,
}

/// <summary>Rounds numbers to a precision.</summary>
internal static class JsonPrecision
{
    private const int BFloatBits = 16;

    // Digits that tell all numbers of 8 significant bits apart.
    private const int BFloatDigitsMax = 4;

    /// <summary>The name of a precision in messages.</summary>
    internal static string NameOf(JsonFloats floats) => floats switch { JsonFloats.Half => "FP16", JsonFloats.BFloat => "BF16", JsonFloats.Single => "FP32", _ => "FP64" };

    /// <summary>Rounds a number; what it becomes is the number with the fewest digits that is the same one in this precision.</summary>
    /// <returns>False: it is too large.</returns>
    internal static bool TryRound(ref double value, JsonFloats floats)
    {
        Span<byte> digits = stackalloc byte[JsonNumber.TextMax];
        int length;
        switch (floats)
        {
            case JsonFloats.Half:
                var half = (Half)value;
                if (!Half.IsFinite(half)) return false;
                half.TryFormat(digits, out length, default, CultureInfo.InvariantCulture);
                break;
            case JsonFloats.Single:
                float single = (float)value;
                if (!float.IsFinite(single)) return false;
                single.TryFormat(digits, out length, default, CultureInfo.InvariantCulture);
                break;
            case JsonFloats.BFloat:
                float rounded = ToBFloat(value);
                if (!float.IsFinite(rounded)) return false;
                length = FormatBFloat(rounded, digits);
                break;
            default:
                return double.IsFinite(value);
        }

        value = double.Parse(digits[..length], NumberStyles.Float, CultureInfo.InvariantCulture);
        return true;
    }

    // To the nearest, of two the even one.
    private static float ToBFloat(double value)
    {
        uint bits = BitConverter.SingleToUInt32Bits((float)value);
        bits += (1u << (BFloatBits - 1)) - 1 + ((bits >> BFloatBits) & 1);
        return BitConverter.UInt32BitsToSingle(bits & ~((1u << BFloatBits) - 1));
    }

    private static int FormatBFloat(float value, Span<byte> digits)
    {
        int length = 0;
        for (int count = 1; count <= BFloatDigitsMax; count++)
        {
            value.TryFormat(digits, out length, FormatOf(count), CultureInfo.InvariantCulture);
            if (ToBFloat(double.Parse(digits[..length], NumberStyles.Float, CultureInfo.InvariantCulture)) == value) break;
        }

        return length;
    }

    // The form of so many significant digits.
    private static ReadOnlySpan<char> FormatOf(int digits) => MemoryExtensions.AsSpan("E0E1E2E3").Slice(2 * (digits - 1), 2);
}
