using System.Globalization;

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
