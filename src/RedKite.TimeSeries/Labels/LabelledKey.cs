namespace RedKite.TimeSeries.Labels;

/// <summary>The key of a series with the labels that it has, or had.</summary>
internal sealed class LabelledKey(byte[] key, byte[] labels)
{
    private volatile bool _isGone;

    internal byte[] Key { get; } = key;

    internal byte[] Labels { get; } = labels;

    /// <summary>Whether the key has other labels now, or is no series.</summary>
    internal bool IsGone => _isGone;

    internal void SetGone() => _isGone = true;
}
