namespace RedKite;

/// <summary>
/// A key, value or other argument: bytes, or text that is sent as UTF-8. Made by conversion from a string, a span, memory or an array of bytes; nothing is
/// copied or allocated by that.
/// </summary>
/// <remarks>Write <c>client.Get("key")</c>, <c>client.Get("key"u8)</c> or <c>client.Get(bytes)</c>. A null string is refused by the conversion.</remarks>
public readonly ref struct RedKiteArgument
{
    private RedKiteArgument(string text) => Text = text;

    private RedKiteArgument(ReadOnlySpan<byte> bytes) => Bytes = bytes;

    internal string? Text { get; }

    internal ReadOnlySpan<byte> Bytes { get; }

    /// <summary>Text, as UTF-8.</summary>
    /// <exception cref="ArgumentNullException">The text is null.</exception>
    public static implicit operator RedKiteArgument(string text)
    {
        ArgumentNullException.ThrowIfNull(text);
        return new(text);
    }

    /// <summary>Bytes.</summary>
    public static implicit operator RedKiteArgument(ReadOnlySpan<byte> bytes) => new(bytes);

    /// <inheritdoc cref="op_Implicit(ReadOnlySpan{byte})"/>
    public static implicit operator RedKiteArgument(Span<byte> bytes) => new(bytes);

    /// <inheritdoc cref="op_Implicit(ReadOnlySpan{byte})"/>
    public static implicit operator RedKiteArgument(ReadOnlyMemory<byte> bytes) => new(bytes.Span);

    /// <inheritdoc cref="op_Implicit(ReadOnlySpan{byte})"/>
    /// <exception cref="ArgumentNullException">The array is null.</exception>
    public static implicit operator RedKiteArgument(byte[] bytes)
    {
        ArgumentNullException.ThrowIfNull(bytes);
        return new((ReadOnlySpan<byte>)bytes);
    }
}
