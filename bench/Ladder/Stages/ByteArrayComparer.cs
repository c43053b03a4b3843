using System.Diagnostics.CodeAnalysis;

namespace RedKite.Ladder.Stages;

/// <summary>Keys that are arrays of bytes, by what is in them.</summary>
internal sealed class ByteArrayComparer : IEqualityComparer<byte[]>
{
    internal static readonly ByteArrayComparer Instance = new();

    public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

    public int GetHashCode([DisallowNull] byte[] obj) => BytesHash.Of(obj);
}
