using System.Buffers.Binary;
using System.Security.Cryptography;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Types;

/// <summary>
/// A 20-byte digest of a key's value or of all databases, independent of encodings: DEBUG DIGEST and DIGEST-VALUE. Servers with
/// equal data reply equal digests; so does Redis, whose order of bytes this follows.
/// </summary>
/// <remarks>
/// Ordered elements are mixed in one after the other; unordered elements are added by XOR. A combination of both, such as a
/// hash's field with its value, is mixed separately and then added. What of a value is mixed in is said by its type (<see cref="PersistedType.MixValue"/>).
/// </remarks>
internal ref struct DatasetDigest
{
    internal const int Bytes = SHA1.HashSizeInBytes;

    private readonly Span<byte> _digest;

    /// <param name="digest">The digest's 20 bytes, initially 0.</param>
    internal DatasetDigest(Span<byte> digest) => _digest = digest;

    /// <summary>Mixes in the number of a database or of a type.</summary>
    internal readonly void MixNumber(int number)
    {
        Span<byte> bytes = stackalloc byte[sizeof(int)];
        BinaryPrimitives.WriteInt32BigEndian(bytes, number);
        Mix(bytes);
    }

    /// <summary>Mixes in the next ordered element.</summary>
    internal readonly void Mix(scoped ReadOnlySpan<byte> bytes)
    {
        Add(bytes);
        Sha1.Hash(_digest, _digest);
    }

    /// <summary>Adds an unordered element.</summary>
    internal readonly void Add(scoped ReadOnlySpan<byte> bytes)
    {
        Span<byte> hash = stackalloc byte[Bytes];
        Sha1.Hash(bytes, hash);
        for (int i = 0; i < Bytes; i++) _digest[i] ^= hash[i];
    }

    /// <summary>Mixes in a key's value, its type and whether it expires, but not the time of its expiry.</summary>
    internal readonly void MixValue(Database database, Entry entry, ExpiryClock expiry)
    {
        var position = default(ValuePosition);
        MixValue(database, entry, expiry, ref position, new WorkLeft(long.MaxValue));
    }

    /// <summary>Mixes in the next part of a value, one element at least.</summary>
    /// <param name="database">The key's database.</param>
    /// <param name="entry">The key.</param>
    /// <param name="expiry">The time.</param>
    /// <param name="position">Where the part begins, then where the next one does; at first the default.</param>
    /// <param name="left">What the part may have.</param>
    /// <returns>Whether it was the last part.</returns>
    internal readonly bool MixValue(Database database, Entry entry, ExpiryClock expiry, scoped ref ValuePosition position, WorkLeft left)
    {
        PersistedType type = PersistedTypes.Of(entry.Type);
        if (!position.IsBegun) type.MixType(this);
        position.IsBegun = true;
        bool isComplete = type.MixValue(this, database, entry, expiry, ref position, left);
        if (isComplete && entry.Expires) Add("!!expire!!"u8);
        return isComplete;
    }

    /// <summary>Where the next part of a value begins: an index, a cursor of buckets, or an entry's id.</summary>
    internal struct ValuePosition
    {
        /// <summary>Whether the type is mixed in.</summary>
        internal bool IsBegun { get; set; }

        internal ulong Next { get; set; }

        internal StreamId NextId { get; set; }
    }

    /// <summary>What a part of a value may still hash, in bytes.</summary>
    internal struct WorkLeft(long bytes)
    {
        // The hashes of a short element, four to seven, take as long as so many bytes of a long one.
        private const int ElementBytes = 512;

        private long _bytes = bytes;

        /// <summary>Takes an element. True: the part has enough.</summary>
        internal bool Take(long elementBytes) => (_bytes -= ElementBytes + elementBytes) < 0;
    }
}
