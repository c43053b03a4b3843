using System.Buffers.Binary;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// The templates of a file of Redis 8.8 and later: the fields that many hashes have in common are written once, and the hashes refer to
/// them by number. Such a hash is rewritten to the form with its own fields, so that nothing else needs to know about templates.
/// <code>
/// template: id, number of fields, fields     hash, packed: a packed list of the id and the values     hash: id, values
/// </code>
/// </summary>
internal sealed class RdbTemplates
{
    private const int LengthBytesMax = 9;

    private readonly Dictionary<ulong, byte[][]> _fields = [];

    /// <summary>Reads a template.</summary>
    internal bool TryAdd(ref RdbInput input, NativeBuffer scratch)
    {
        if (!input.TryLength(out ulong id) || !input.TryCount(out long count)) return false;
        List<byte[]> fields = [];
        for (; count > 0; count--)
        {
            if (!input.TryString(scratch, out ReadOnlySpan<byte> field)) return false;
            fields.Add(field.ToArray());
        }

        return _fields.TryAdd(id, [.. fields]);
    }

    /// <summary>Reads a hash that refers to a template, and writes it with its fields.</summary>
    internal bool TryExpand(RdbType type, ref RdbInput input, NativeBuffer scratch, NativeBuffer target) =>
        type == RdbType.HashOfTemplate ? TryExpandValues(ref input, scratch, target) : TryExpandPacked(ref input, scratch, target);

    private bool TryExpandValues(ref RdbInput input, NativeBuffer scratch, NativeBuffer target)
    {
        if (!input.TryLength(out ulong id) || !_fields.TryGetValue(id, out byte[][]? fields)) return false;
        WriteLength(target, fields.Length);
        foreach (byte[] field in fields)
        {
            if (!input.TryString(scratch, out ReadOnlySpan<byte> value)) return false;
            WriteString(target, field);
            WriteString(target, value);
        }

        return true;
    }

    private bool TryExpandPacked(ref RdbInput input, NativeBuffer scratch, NativeBuffer target)
    {
        if (!input.TryString(scratch, out ReadOnlySpan<byte> bytes) || !PackedListReader.TryOpen(bytes, out PackedListReader values)) return false;
        if (!values.TryNextNumber(out long id) || !_fields.TryGetValue((ulong)id, out byte[][]? fields) || values.Count != fields.Length + 1) return false;
        WriteLength(target, fields.Length);
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        foreach (byte[] field in fields)
        {
            values.MoveNext();
            WriteString(target, field);
            WriteString(target, values.Bytes(digits));
        }

        return true;
    }

    private static void WriteString(NativeBuffer target, scoped ReadOnlySpan<byte> text)
    {
        WriteLength(target, text.Length);
        target.Write(text);
    }

    private static void WriteLength(NativeBuffer target, int length)
    {
        Span<byte> bytes = target.Room(LengthBytesMax);
        bytes[0] = RdbFormat.Length32;
        BinaryPrimitives.WriteUInt32BigEndian(bytes[1..], (uint)length);
        target.Advance(1 + sizeof(uint));
    }
}
