using System.Diagnostics.CodeAnalysis;

namespace RedKite.Ladder.Stages;

/// <summary>Compares byte arrays by content.</summary>
internal sealed class ByteArrayComparer : IEqualityComparer<byte[]>
{
    internal static readonly ByteArrayComparer Instance = new();

    public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

    public int GetHashCode([DisallowNull] byte[] obj) => BytesHash.Of(obj);
}
