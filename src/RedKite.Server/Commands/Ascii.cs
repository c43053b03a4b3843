namespace RedKite.Server.Commands;

/// <summary>Names without case, the way the protocol compares them: ASCII letters only, bytes against bytes.</summary>
internal static class Ascii
{
    internal static bool EqualsIgnoreCase(ReadOnlySpan<byte> text, ReadOnlySpan<byte> word) =>
        System.Text.Ascii.EqualsIgnoreCase(text, word);

    internal static bool EqualsIgnoreCase(ReadOnlySpan<byte> text, string word) =>
        System.Text.Ascii.EqualsIgnoreCase(text, word);
}
