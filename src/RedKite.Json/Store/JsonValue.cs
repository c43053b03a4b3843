using System.Runtime.CompilerServices;

namespace RedKite.Json.Store;

/// <summary>A value of a document, or none. It is valid as long as the document's stripe is locked and the document does not change.</summary>
internal readonly unsafe struct JsonValue
{
    private readonly byte* _at;

    internal JsonValue(byte* at) => _at = at;

    internal bool Exists => _at != null;

    internal byte* Address => _at;

    /// <summary>Whether it is the value of the same place.</summary>
    internal bool IsSame(JsonValue other) => _at == other._at;

    internal JsonKind Kind
    {
        get
        {
            byte tag = *_at;
            if (tag >= JsonTag.ShortString) return JsonKind.String;
            if (tag >= JsonTag.SmallInteger) return JsonKind.Integer;
            if (tag >= JsonTag.Decimal) return JsonKind.Number;
            return tag switch
            {
                JsonTag.Null => JsonKind.Null,
                JsonTag.False or JsonTag.True => JsonKind.Boolean,
                <= JsonTag.UInt64 => JsonKind.Integer,
                JsonTag.Double => JsonKind.Number,
                JsonTag.String16 => JsonKind.String,
                JsonTag.Array8 or JsonTag.Array16 => JsonKind.Array,
                JsonTag.Object8 or JsonTag.Object16 => JsonKind.Object,
                _ => JsonTag.BlockOf(_at)->Kind switch { JsonBlock.String => JsonKind.String, JsonBlock.Array => JsonKind.Array, _ => JsonKind.Object },
            };
        }
    }

    internal bool IsContainer => Kind >= JsonKind.Array;

    internal bool IsNumber => Kind is JsonKind.Integer or JsonKind.Number;

    internal bool IsTrue => *_at == JsonTag.True;

    /// <summary>The type as JSON.TYPE names it.</summary>
    internal ReadOnlySpan<byte> TypeName => NameOf(Kind);

    /// <summary>A string's text.</summary>
    internal ReadOnlySpan<byte> Text
    {
        get
        {
            byte tag = *_at;
            if (tag >= JsonTag.ShortString) return new ReadOnlySpan<byte>(_at + 1, tag & JsonTag.ShortStringMax);
            return tag == JsonTag.String16 ? new ReadOnlySpan<byte>(_at + 3, Unsafe.ReadUnaligned<ushort>(_at + 1)) : JsonBlock.Text(JsonTag.BlockOf(_at));
        }
    }

    /// <summary>Whether an integer is above those with a sign: then <see cref="Unsigned"/> has it.</summary>
    internal bool IsUnsigned => *_at == JsonTag.UInt64;

    internal ulong Unsigned => Unsafe.ReadUnaligned<ulong>(_at + 1);

    /// <summary>An integer with a sign.</summary>
    internal long Integer => *_at switch
    {
        JsonTag.Int8 => (sbyte)_at[1],
        JsonTag.Int16 => Unsafe.ReadUnaligned<short>(_at + 1),
        JsonTag.Int32 => Unsafe.ReadUnaligned<int>(_at + 1),
        JsonTag.Int64 or JsonTag.UInt64 => Unsafe.ReadUnaligned<long>(_at + 1),
        byte tag => tag - JsonTag.SmallInteger,
    };

    /// <summary>Any number as a double.</summary>
    internal double Double
    {
        get
        {
            byte tag = *_at;
            if (tag == JsonTag.Double) return Unsafe.ReadUnaligned<double>(_at + 1);
            if (tag == JsonTag.UInt64) return Unsigned;
            if (tag is < JsonTag.Decimal or >= JsonTag.DecimalEnd) return Integer;
            (long digits, int places) = Decimal;
            return digits / JsonNumber.PowersOfTen[places]; // both are exact, so the quotient is the nearest double
        }
    }

    internal bool IsDecimal => *_at is >= JsonTag.Decimal and < JsonTag.DecimalEnd;

    /// <summary>The digits of a decimal number, and how many of them are behind the point.</summary>
    internal (long Digits, int Places) Decimal
    {
        get
        {
            int form = *_at - JsonTag.Decimal;
            long digits = (form & 3) switch
            {
                0 => (sbyte)_at[1],
                1 => Unsafe.ReadUnaligned<short>(_at + 1),
                2 => Unsafe.ReadUnaligned<int>(_at + 1),
                _ => Unsafe.ReadUnaligned<long>(_at + 1),
            };
            return (digits, form >> 2);
        }
    }

    /// <summary>The number of a container's items.</summary>
    internal long Count
    {
        get
        {
            if (*_at == JsonTag.Reference) return JsonTag.BlockOf(_at)->Count;
            long count = 0;
            JsonItems items = Items;
            while (items.MoveNext()) count++;
            return count;
        }
    }

    /// <summary>The number of a container's chunks, which a change inside of it passes.</summary>
    internal long Chunks => *_at == JsonTag.Reference && !JsonTag.BlockOf(_at)->IsString ? JsonTag.BlockOf(_at)->Chunks : 0;

    internal bool IsEmptyContainer => *_at is JsonTag.Array8 or JsonTag.Object8 && _at[1] == 0;

    internal JsonItems Items => new(this);

    internal static ReadOnlySpan<byte> NameOf(JsonKind kind) => kind switch
    {
        JsonKind.Null => "null"u8,
        JsonKind.Boolean => "boolean"u8,
        JsonKind.Integer => "integer"u8,
        JsonKind.Number => "number"u8,
        JsonKind.String => "string"u8,
        JsonKind.Array => "array"u8,
        _ => "object"u8,
    };

    /// <summary>Finds an object's member.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="shared">The number of the name among those that the document shares, or -1.</param>
    /// <param name="ordinal">Which item it is.</param>
    /// <param name="steps">Is increased by the items that were passed.</param>
    internal JsonValue Find(ReadOnlySpan<byte> name, int shared, out int ordinal, ref long steps)
    {
        JsonItems items = Items;
        bool found = items.Find(name, shared);
        ordinal = items.Ordinal;
        steps += ordinal;
        return found ? items.Value : default;
    }

    /// <summary>An array's element; none if the index is outside.</summary>
    internal JsonValue At(long index)
    {
        JsonItems items = Items;
        return index >= 0 && items.Skip(index) ? items.Value : default;
    }

    /// <summary>Whether two values are equal. Numbers are if they have the same value; the order of an object's members does not matter.</summary>
    /// <param name="names">The names of this value's document.</param>
    /// <param name="other">The other value.</param>
    /// <param name="otherNames">The names of its document.</param>
    /// <param name="isExact">Whether an integer is never equal to another number.</param>
    /// <param name="steps">Is increased by the items that were compared, and the bytes.</param>
    internal bool IsEqual(JsonNames names, JsonValue other, JsonNames otherNames, bool isExact, ref long steps)
    {
        steps++;
        JsonKind kind = Kind, otherKind = other.Kind;
        if (IsNumber && other.IsNumber)
        {
            if (isExact && kind != otherKind) return false;
            if (kind == JsonKind.Integer && otherKind == JsonKind.Integer) return IsUnsigned == other.IsUnsigned && Integer == other.Integer;
            return Double == other.Double;
        }

        if (kind != otherKind) return false;
        switch (kind)
        {
            case JsonKind.Null:
                return true;
            case JsonKind.Boolean:
                return IsTrue == other.IsTrue;
            case JsonKind.String:
                steps += Text.Length >> 4;
                return Text.SequenceEqual(other.Text);
        }

        if (Count != other.Count) return false;
        JsonItems items = Items, others = other.Items;
        while (items.MoveNext())
        {
            JsonValue counterpart;
            if (kind == JsonKind.Array)
            {
                others.MoveNext();
                counterpart = others.Value;
            }
            else
            {
                ReadOnlySpan<byte> name = items.Name(names);
                counterpart = other.Find(name, otherNames.Find(name), out _, ref steps);
                if (!counterpart.Exists) return false;
            }

            if (!items.Value.IsEqual(names, counterpart, otherNames, isExact, ref steps)) return false;
        }

        return true;
    }
}
