using System.Text;

namespace RedKite.Server.Config;

/// <summary>
/// The boundary between bytes and strings for settings: a setting's text is Latin-1, one character per byte, so any
/// password, value or path passes unchanged through CONFIG SET, CONFIG GET and the file.
/// </summary>
/// <remarks>
/// UTF-8 was rejected for the text: bytes that are not valid UTF-8 would be lost. Only paths and the program's arguments,
/// which the operating system must understand, are decoded as UTF-8.
/// </remarks>
internal static class SettingText
{
    /// <summary>Returns the setting text of bytes from the protocol or a file.</summary>
    internal static string FromBytes(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    /// <summary>Returns the bytes of a setting text.</summary>
    internal static byte[] ToBytes(string text) => Encoding.Latin1.GetBytes(text);

    /// <summary>Cuts a word at a zero byte, where Redis reads a C string: sizes, choices, yes and no.</summary>
    internal static string UpToZero(string word)
    {
        int end = word.IndexOf('\0', StringComparison.Ordinal);
        return end < 0 ? word : word[..end];
    }

    /// <summary>Returns the setting text of a .NET string (a path, an argument of the program).</summary>
    internal static string FromNative(string native) => Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(native));

    /// <summary>Returns the .NET string (a path) of a setting text.</summary>
    internal static string ToNative(string text) => Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(text));
}
