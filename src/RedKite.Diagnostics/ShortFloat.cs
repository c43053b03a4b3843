namespace RedKite.Server.Diagnostics;

/// <summary>A number in two bytes, for history: the upper half of one of four bytes, with its range and eight bits of precision.</summary>
internal readonly struct ShortFloat
{
    private const uint NotANumber = 0x7FC0;

    private readonly ushort _upper;

    private ShortFloat(uint upper) => _upper = (ushort)upper;

    internal float Value => BitConverter.UInt32BitsToSingle((uint)_upper << 16);

    /// <summary>The nearest number: up to 0.4 % from what it was.</summary>
    internal static ShortFloat Nearest(float value)
    {
        if (float.IsNaN(value)) return new ShortFloat(NotANumber); // its lower bits alone may tell it from infinity
        uint bits = BitConverter.SingleToUInt32Bits(value);
        return new ShortFloat((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16); // a tie goes to the even one
    }

    /// <summary>The next number that is not smaller, for maxima: up to 0.8 % above what it was.</summary>
    internal static ShortFloat Up(float value)
    {
        if (float.IsNaN(value)) return new ShortFloat(NotANumber);
        uint bits = BitConverter.SingleToUInt32Bits(value);
        bool isExact = (ushort)bits == 0 || float.IsInfinity(value) || value < 0; // cut off, a negative number grows
        return new ShortFloat((bits >> 16) + (isExact ? 0u : 1u));
    }
}
