namespace RedKite.Protocol;

/// <summary>Compares names ignoring case, as the protocol does: ASCII letters only, bytes against bytes.</summary>
internal static class AsciiText
{
    public static bool EqualsIgnoreCase(ReadOnlySpan<byte> text, ReadOnlySpan<byte> word) =>
        System.Text.Ascii.EqualsIgnoreCase(text, word);

    public static bool EqualsIgnoreCase(ReadOnlySpan<byte> text, string word) =>
        System.Text.Ascii.EqualsIgnoreCase(text, word);
}
