namespace RedKite.Ladder.Stages;

/// <summary>The limits of a request, and the errors beyond them.</summary>
internal static class RequestLimits
{
    internal const int ArgumentsMax = 64;
    internal const int ArgumentBytesMax = 64 << 20;

    internal static void CheckArguments(int count)
    {
        if (count > ArgumentsMax) throw new ProtocolException("invalid multibulk length");
    }

    internal static void CheckLength(int bytes)
    {
        if (bytes is < 0 or > ArgumentBytesMax) throw new ProtocolException("invalid bulk length");
    }

    internal static ProtocolException Unexpected(char expected, char got) => new($"expected '{expected}', got '{got}'");
}
