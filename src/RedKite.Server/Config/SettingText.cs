using System.Text;

namespace RedKite.Server.Config;

/// <summary>
/// The boundary between bytes and strings for settings: a setting's text is Latin-1, one character a byte, so any
/// password, value or path survives a round trip through CONFIG SET, CONFIG GET and the file unchanged.
/// </summary>
/// <remarks>
/// UTF-8 was rejected for the text: bytes that are not valid UTF-8 would be lost. Only what the operating system must
/// understand is decoded further: a path's bytes are UTF-8, and so are the program's arguments.
/// </remarks>
internal static class SettingText
{
    /// <summary>The setting text of bytes from the protocol or a file.</summary>
    internal static string FromBytes(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    /// <summary>The bytes that a setting text stands for.</summary>
    internal static byte[] ToBytes(string text) => Encoding.Latin1.GetBytes(text);

    /// <summary>A word as Redis reads it where it takes a C string, which a zero byte ends: sizes, choices, yes and no.</summary>
    internal static string UpToZero(string word)
    {
        int end = word.IndexOf('\0', StringComparison.Ordinal);
        return end < 0 ? word : word[..end];
    }

    /// <summary>The setting text of a .NET string (a path, an argument of the program).</summary>
    internal static string FromNative(string native) => Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(native));

    /// <summary>The .NET string (a path) that a setting text stands for.</summary>
    internal static string ToNative(string text) => Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(text));
}
