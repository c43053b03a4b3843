using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>
/// Compares names of channels and the like as bytes. The hash is keyed, so that no client can aim its names at one bucket.
/// Tables can be searched by a span without a copy of it.
/// </summary>
internal sealed class NameComparer : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
{
    internal static readonly NameComparer Instance = new();

    private static readonly KeyHasher Hasher = new();

    internal static ulong Hash(ReadOnlySpan<byte> name) => Hasher.Hash(name);

    public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

    public int GetHashCode(byte[] obj) => (int)Hash(obj);

    public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();

    public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);

    public int GetHashCode(ReadOnlySpan<byte> alternate) => (int)Hash(alternate);
}
