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
        if (!position.IsBegun) MixNumber(TypeNumber(entry.Type));
        position.IsBegun = true;
        bool isComplete = true;
        switch (entry.Type)
        {
            case DataType.String:
                Mix(entry.Value);
                break;
            case DataType.List:
                isComplete = MixList(database, entry, ref position, left);
                break;
            case DataType.Set:
                isComplete = AddSet(database, entry, expiry, ref position, left);
                break;
            case DataType.SortedSet:
                isComplete = AddSortedSet(database, entry, ref position, left);
                break;
            case DataType.Hash:
                isComplete = AddHash(database, entry, expiry, ref position, left);
                break;
            case DataType.Stream:
                isComplete = MixStream(database, entry, ref position, left);
                break;
            case DataType.Array:
                isComplete = MixArray(database, entry, ref position, left);
                break;
            case DataType.VectorSet:
                isComplete = AddVectorSet(database, entry, ref position, left);
                break;
        }

        if (isComplete && entry.Expires) Add("!!expire!!"u8);
        return isComplete;
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

    private readonly bool MixList(Database database, Entry entry, scoped ref ValuePosition position, WorkLeft left)
    {
        var list = new ListValue(database, entry, default);
        ListReader elements = list.Read((long)position.Next, list.Count - (long)position.Next);
        while (elements.MoveNext())
        {
            Mix(elements.Current);
            position.Next++;
            if (left.Take(elements.Current.Length) && (long)position.Next < list.Count) return false;
        }

        return true;
    }

    private readonly bool MixArray(Database database, Entry entry, scoped ref ValuePosition position, WorkLeft left)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        ArrayCursor elements = ArrayValue.Of(database, entry).Between(position.Next, ArrayData.IndexMax);
        while (elements.MoveNext())
        {
            Utf8Formatter.TryFormat(elements.Index, digits, out int length);
            Mix(digits[..length]);
            ReadOnlySpan<byte> element = elements.Element.Bytes(digits);
            Mix(element);
            if (elements.Index == ArrayData.IndexMax) return true;
            position.Next = elements.Index + 1;
            if (left.Take(element.Length)) return false;
        }

        return true;
    }

    private readonly bool AddSet(Database database, Entry entry, ExpiryClock expiry, scoped ref ValuePosition position, WorkLeft left)
    {
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        SetView set = SetView.Of(database, entry, expiry, countsLiving: false);
        if (!set.IsTable)
        {
            AddMembers(set.Enumerate(number), ref left);
            return true;
        }

        ulong cursor = position.Next;
        bool isOver;
        do
        {
            isOver = AddMembers(set.ScanBucket(ref cursor, number), ref left);
        }
        while (cursor != 0 && !isOver);
        position.Next = cursor;
        return cursor == 0;
    }

    private readonly bool AddMembers(scoped SetEnumerator members, scoped ref WorkLeft left)
    {
        Span<byte> element = stackalloc byte[Bytes];
        var digest = new DatasetDigest(element);
        bool isOver = false;
        while (members.MoveNext())
        {
            ReadOnlySpan<byte> member = members.Current;
            Add(member);
            isOver = left.Take(member.Length);
            if (!members.Expires) continue;
            element.Clear();
            digest.Mix(member);
            digest.Add("!!sexpire!!"u8);
            Add(element);
        }

        return isOver;
    }

    private readonly bool AddSortedSet(Database database, Entry entry, scoped ref ValuePosition position, WorkLeft left)
    {
        Span<byte> element = stackalloc byte[Bytes];
        Span<byte> score = stackalloc byte[RespDouble.TextMax];
        var digest = new DatasetDigest(element);
        var set = new SortedSetValue(database, entry);
        if ((long)position.Next >= set.Count) return true;
        for (SortedSetCursor place = set.At((long)position.Next, stackalloc byte[CanonicalInteger.TextBytesMax]); place.Exists; place.MoveNext())
        {
            element.Clear();
            digest.Mix(place.Member);
            digest.Mix(score[..RespDouble.FormatDigits(place.Score, score)]);
            Add(element);
            position.Next++;
            if (left.Take(place.Member.Length) && (long)position.Next < set.Count) return false;
        }

        return true;
    }

    private readonly bool AddHash(Database database, Entry entry, ExpiryClock expiry, scoped ref ValuePosition position, WorkLeft left)
    {
        HashValue hash = HashValue.Peek(database, entry, expiry);
        if (!hash.Exists) return true;
        if (!hash.IsTable)
        {
            AddFields(hash.Fields(), ref left);
            return true;
        }

        ulong cursor = position.Next;
        bool isOver;
        do
        {
            isOver = AddFields(hash.ScanBucket(ref cursor), ref left);
        }
        while (cursor != 0 && !isOver);
        position.Next = cursor;
        return cursor == 0;
    }

    private readonly bool AddFields(HashFields fields, scoped ref WorkLeft left)
    {
        Span<byte> element = stackalloc byte[Bytes];
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        var digest = new DatasetDigest(element);
        bool isOver = false;
        while (fields.MoveNext())
        {
            element.Clear();
            digest.Mix(fields.Field.Bytes(digits));
            ReadOnlySpan<byte> value = fields.Value.Bytes(digits);
            digest.Mix(value);
            if (fields.ExpiryMs != long.MaxValue) digest.Add("!!hexpire!!"u8);
            Add(element);
            isOver = left.Take(value.Length);
        }

        return isOver;
    }

    private readonly bool MixStream(Database database, Entry entry, scoped ref ValuePosition position, WorkLeft left)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        StreamCursor cursor = StreamValue.Of(database, entry).Range(position.NextId, StreamId.Max);
        while (cursor.MoveNext())
        {
            Mix(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{cursor.Id.Ms}.{cursor.Id.Sequence}")));
            StreamFields fields = cursor.Fields;
            bool isOver = false;
            for (int i = 0; i < fields.Count; i++)
            {
                Mix(fields.Name().Bytes(scratch));
                ReadOnlySpan<byte> value = fields.Value().Bytes(scratch);
                Mix(value);
                isOver = left.Take(value.Length);
            }

            if (!cursor.Id.TryNext(out StreamId next)) return true;
            position.NextId = next;
            if (isOver) return false;
        }

        return true;
    }

    // Of each element its name, its vector as it is stored, and its attributes. How elements are linked depends on chance.
    private readonly bool AddVectorSet(Database database, Entry entry, scoped ref ValuePosition position, WorkLeft left)
    {
        Span<byte> element = stackalloc byte[Bytes];
        var digest = new DatasetDigest(element);
        VectorSetValue set = VectorSetValue.Of(database, entry);
        while ((int)position.Next < set.Numbers)
        {
            VectorElement vector = set.AtOrNone((int)position.Next++);
            bool isOver = left.Take(0);
            if (vector.Exists)
            {
                element.Clear();
                digest.Mix(vector.Name);
                digest.Mix(vector.Stored);
                digest.Mix(vector.Attributes);
                Add(element);
                isOver = left.Take(vector.Stored.Length + vector.Attributes.Length);
            }

            if (isOver) return (int)position.Next >= set.Numbers;
        }

        return true;
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
