using System.Globalization;
using RedKite.Persistence.Types;
using RedKite.Store.Memory;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// The parts of a module's data that can be understood without the module: its name, and where the data ends.
/// <code>
/// id: 9 characters of 6 bits, then the version of the module's encoding in 10 bits
/// data: numbered parts (1 and 2: a length; 3: a float; 4: a double; 5: a string), then 0
/// </code>
/// </summary>
internal static class RdbModule
{
    private const string Characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    /// <summary>The id of vector sets, in version 0 of their encoding.</summary>
    internal const ulong VectorSet = 0xBDE7_2DA2_BB1E_B400;

    /// <summary>The id of sets of whose members some expire, RedKite's own ("rkset-exp"), in version 0 of their encoding.</summary>
    internal const ulong ExpiringSet = 0xAE4B_1EB7_E7B1_A400;

    /// <summary>The id of arrays, RedKite's own ("rkt-array"), in version 0 of their encoding.</summary>
    internal const ulong Array = 0xAE4B_7E6A_BADA_C800;

    private const int NameLength = 9;
    private const int VersionBits = 10;

    private enum Part
    {
        End = 0,
        Signed = 1,
        Unsigned = 2,
        Float = 3,
        Double = 4,
        String = 5,
    }

    /// <summary>Whether RedKite reads data with an id as a value.</summary>
    internal static bool IsOwn(ulong id) => PersistedTypes.TryOfModule(id, out _);

    /// <summary>The id of a name of nine characters (letters, digits, - and _) and a version of the data's form.</summary>
    internal static ulong IdOf(string name, int version = 0)
    {
        ArgumentOutOfRangeException.ThrowIfNotEqual(name.Length, NameLength);
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)version, 1u << VersionBits);
        ulong id = 0;
        foreach (char c in name)
        {
            int bits = Characters.IndexOf(c, StringComparison.Ordinal);
            ArgumentOutOfRangeException.ThrowIfNegative(bits, nameof(name));
            id = (id << 6) | (uint)bits;
        }

        return (id << VersionBits) | (uint)version;
    }

    /// <summary>Writes the id with which a module's data begins.</summary>
    internal static void WriteId(RdbOutput output, ulong id) => output.Length(id);

    /// <summary>The name that an id stands for.</summary>
    internal static string NameOf(ulong id) => string.Create(NameLength, id >> VersionBits, static (name, bits) =>
    {
        for (int i = name.Length - 1; i >= 0; i--)
        {
            name[i] = Characters[(int)(bits & 63)];
            bits >>= 6;
        }
    });

    /// <summary>The error for data of a module.</summary>
    internal static string Refusal(string name) =>
        string.Create(CultureInfo.InvariantCulture, $"data of the module '{name}', which RedKite does not have");

    internal static void WriteUnsigned(RdbOutput output, ulong value)
    {
        output.Length((ulong)Part.Unsigned);
        output.Length(value);
    }

    internal static void WriteString(RdbOutput output, ReadOnlySpan<byte> text)
    {
        output.Length((ulong)Part.String);
        output.String(text);
    }

    internal static void WriteEnd(RdbOutput output) => output.Length((ulong)Part.End);

    internal static bool TryUnsigned(ref RdbInput input, out ulong value)
    {
        value = 0;
        return TryPart(ref input, Part.Unsigned) && input.TryLength(out value);
    }

    /// <summary>Reads a number, or the end of the data.</summary>
    internal static bool TryUnsignedOrEnd(ref RdbInput input, out ulong value, out bool isEnd)
    {
        value = 0;
        isEnd = false;
        if (!input.TryLength(out ulong part)) return false;
        isEnd = part == (ulong)Part.End;
        return isEnd || (part == (ulong)Part.Unsigned && input.TryLength(out value));
    }

    /// <summary>Reads a string: see <see cref="RdbInput.TryString"/>.</summary>
    internal static bool TryString(ref RdbInput input, NativeBuffer scratch, out ReadOnlySpan<byte> text)
    {
        text = default;
        return TryPart(ref input, Part.String) && input.TryString(scratch, out text);
    }

    internal static bool TryEnd(ref RdbInput input) => TryPart(ref input, Part.End);

    private static bool TryPart(ref RdbInput input, Part part) => input.TryLength(out ulong read) && read == (ulong)part;

    /// <summary>Passes over a module's data up to and including its end.</summary>
    internal static bool TrySkip(ref RdbInput input)
    {
        while (input.TryLength(out ulong part))
        {
            switch ((Part)part)
            {
                case Part.End:
                    return true;
                case Part.Signed or Part.Unsigned when input.TryLength(out ulong _):
                case Part.Float when input.TrySkip(sizeof(float)):
                case Part.Double when input.TrySkip(sizeof(double)):
                case Part.String when input.TrySkipString():
                    continue;
                default:
                    return false;
            }
        }

        return false;
    }
}
