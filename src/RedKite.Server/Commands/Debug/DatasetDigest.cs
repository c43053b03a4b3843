using System.Buffers.Binary;
using System.Buffers.Text;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using RedKite.Protocol;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using RedKite.Store.Values.Streams;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Commands.Debug;

/// <summary>
/// A 20-byte digest of a key's value or of all databases, independent of encodings: DEBUG DIGEST and DIGEST-VALUE. Servers with
/// equal data reply equal digests; so does Redis, whose order of bytes this follows.
/// </summary>
/// <remarks>
/// Ordered elements are mixed in one after the other; unordered elements are added by XOR. A combination of both, such as a
/// hash's field with its value, is mixed separately and then added.
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
        MixNumber(TypeNumber(entry.Type));
        switch (entry.Type)
        {
            case DataType.String:
                Mix(entry.Value);
                break;
            case DataType.List:
                MixList(database, entry);
                break;
            case DataType.Set:
                AddSet(database, entry, expiry);
                break;
            case DataType.SortedSet:
                AddSortedSet(database, entry);
                break;
            case DataType.Hash:
                AddHash(database, entry, expiry);
                break;
            case DataType.Stream:
                MixStream(database, entry);
                break;
            case DataType.Array:
                MixArray(database, entry);
                break;
            case DataType.VectorSet:
                AddVectorSet(database, entry);
                break;
        }

        if (entry.Expires) Add("!!expire!!"u8);
    }

    // The numbers of types in Redis.
    private static int TypeNumber(DataType type) => type switch
    {
        DataType.String => 0,
        DataType.List => 1,
        DataType.Set => 2,
        DataType.SortedSet => 3,
        DataType.Hash => 4,
        DataType.VectorSet => 5, // a module's
        DataType.Array => (int)DataType.Array,
        _ => 6,
    };

    private readonly void MixList(Database database, Entry entry)
    {
        var list = new ListValue(database, entry, default);
        ListReader elements = list.Read(0, list.Count);
        while (elements.MoveNext()) Mix(elements.Current);
    }

    private readonly void MixArray(Database database, Entry entry)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        ArrayCursor elements = ArrayValue.Of(database, entry).Between(0, ArrayData.IndexMax);
        while (elements.MoveNext())
        {
            Utf8Formatter.TryFormat(elements.Index, digits, out int length);
            Mix(digits[..length]);
            Mix(elements.Element.Bytes(digits));
        }
    }

    private readonly void AddSet(Database database, Entry entry, ExpiryClock expiry)
    {
        Span<byte> element = stackalloc byte[Bytes];
        var digest = new DatasetDigest(element);
        SetEnumerator members = SetView.Of(database, entry, expiry, countsLiving: false).Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (members.MoveNext())
        {
            Add(members.Current);
            if (!members.Expires) continue;
            element.Clear();
            digest.Mix(members.Current);
            digest.Add("!!sexpire!!"u8);
            Add(element);
        }
    }

    private readonly void AddSortedSet(Database database, Entry entry)
    {
        Span<byte> element = stackalloc byte[Bytes];
        Span<byte> score = stackalloc byte[RespDouble.TextMax];
        var digest = new DatasetDigest(element);
        for (SortedSetCursor place = new SortedSetValue(database, entry).At(0, stackalloc byte[CanonicalInteger.TextBytesMax]); place.Exists; place.MoveNext())
        {
            element.Clear();
            digest.Mix(place.Member);
            digest.Mix(score[..RespDouble.FormatDigits(place.Score, score)]);
            Add(element);
        }
    }

    private readonly void AddHash(Database database, Entry entry, ExpiryClock expiry)
    {
        Span<byte> element = stackalloc byte[Bytes];
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        var digest = new DatasetDigest(element);
        HashValue hash = HashValue.Peek(database, entry, expiry);
        HashFields fields = hash.Fields();
        while (fields.MoveNext())
        {
            element.Clear();
            digest.Mix(fields.Field.Bytes(digits));
            digest.Mix(fields.Value.Bytes(digits));
            if (fields.ExpiryMs != long.MaxValue) digest.Add("!!hexpire!!"u8);
            Add(element);
        }
    }

    private readonly void MixStream(Database database, Entry entry)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        StreamCursor cursor = StreamValue.Of(database, entry).Range(default, StreamId.Max);
        while (cursor.MoveNext())
        {
            Mix(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{cursor.Id.Ms}.{cursor.Id.Sequence}")));
            StreamFields fields = cursor.Fields;
            for (int i = 0; i < fields.Count; i++)
            {
                Mix(fields.Name().Bytes(scratch));
                Mix(fields.Value().Bytes(scratch));
            }
        }
    }

    // Of each element its name, its vector as it is stored, and its attributes. How elements are linked depends on chance.
    private readonly void AddVectorSet(Database database, Entry entry)
    {
        Span<byte> element = stackalloc byte[Bytes];
        var digest = new DatasetDigest(element);
        VectorSetValue set = VectorSetValue.Of(database, entry);
        for (int number = 0; number < set.Numbers; number++)
        {
            VectorElement vector = set.AtOrNone(number);
            if (!vector.Exists) continue;
            element.Clear();
            digest.Mix(vector.Name);
            digest.Mix(vector.Stored);
            digest.Mix(vector.Attributes);
            Add(element);
        }
    }
}
