namespace RedKite.Server.Changes;

/// <summary>
/// The arguments of a command that a handler writes as its effect. Long ones that are arguments of the request are referenced there.
/// Without a writer nothing is recorded.
/// </summary>
internal readonly ref struct EffectArguments(EffectWriter? writer, ReadOnlySpan<byte> request)
{
    private readonly EffectWriter? _writer = writer;
    private readonly ReadOnlySpan<byte> _request = request;

    internal bool IsRecording => _writer is not null;

    internal EffectArguments Argument(scoped ReadOnlySpan<byte> value)
    {
        if (value.Length >= EffectWriter.ReferencedBytesMin && _request.Overlaps(value, out int start)) _writer?.ArgumentOfRequest(start, value.Length);
        else _writer?.Argument(value);
        return this;
    }

    internal EffectArguments Argument(long value)
    {
        _writer?.Argument(value);
        return this;
    }
}
