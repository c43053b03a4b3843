using System.Buffers;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Client;

namespace RedKite;

/// <summary>
/// The elements of a list or set, or the values of several keys: a copy in memory of the shared array pool, read by <c>foreach</c> without an allocation for each
/// element. Dispose it once; one of a batch or transaction is not pooled. Not thread-safe. What comes in pairs is <see cref="RedKitePairs"/>.
/// </summary>
public sealed class RedKiteItems : IDisposable
{
    private byte[]? _array;
    private readonly int _length;
    private readonly bool _isPooled;

    private RedKiteItems(byte[] array, int length, int count, bool isPooled)
    {
        _array = array;
        _length = length;
        _isPooled = isPooled;
        Count = count;
    }

    /// <summary>The number of elements.</summary>
    public int Count { get; }

    private ReadOnlySpan<byte> Bytes
    {
        get
        {
            ObjectDisposedException.ThrowIf(_array is null, this);
            return _array.AsSpan(0, _length);
        }
    }

    /// <summary>The elements, in the order of the reply.</summary>
    public Enumerator GetEnumerator() => new(Bytes);

    /// <summary>The elements as strings (UTF-8), null where there is no value. Disposes this.</summary>
    public string?[] ToStrings()
    {
        var strings = new string?[Count];
        int i = 0;
        foreach (RedKiteItem item in this) strings[i++] = item.IsNull ? null : item.ToString();
        Dispose();
        return strings;
    }

    /// <summary>The elements as arrays, null where there is no value. Disposes this.</summary>
    public byte[]?[] ToArrays()
    {
        var arrays = new byte[]?[Count];
        int i = 0;
        foreach (RedKiteItem item in this) arrays[i++] = item.IsNull ? null : item.Bytes.ToArray();
        Dispose();
        return arrays;
    }

    /// <summary>Returns the memory to the pool.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _array, null) is { Length: > 0 } array && _isPooled) ArrayPool<byte>.Shared.Return(array);
    }

    /// <summary>Copies a flat array; a null array is empty.</summary>
    internal static RedKiteItems Of(ReadOnlySpan<byte> reply)
    {
        int at = 0;
        int count = Math.Max(0, ReplyText.Count(reply, ref at));
        ReadOnlySpan<byte> elements = count == 0 ? [] : reply[at..];
        byte[] array = count == 0 ? [] : ArrayPool<byte>.Shared.Rent(elements.Length);
        elements.CopyTo(array);
        return new RedKiteItems(array, elements.Length, count, isPooled: true);
    }

    /// <summary>Copies a flat array that was read already; a null is empty.</summary>
    internal static RedKiteItems Of(RedKiteReply reply)
    {
        var elements = new ArrayBufferWriter<byte>();
        foreach (RedKiteReply item in reply.Items)
        {
            if (item.IsNull) elements.Write("$-1\r\n"u8);
            else if (item.Kind == ReplyKind.Integer) RequestText.AddArgument(elements, item.Text!);
            else RequestText.AddArgument(elements, item.Bytes.Span);
        }

        return new RedKiteItems(elements.WrittenSpan.ToArray(), elements.WrittenCount, reply.Items.Count, isPooled: false);
    }

    /// <summary>Moves over the elements.</summary>
    public ref struct Enumerator
    {
        private readonly ReadOnlySpan<byte> _bytes;
        private int _at;

        internal Enumerator(ReadOnlySpan<byte> bytes) => _bytes = bytes;

        /// <summary>The element.</summary>
        public RedKiteItem Current { get; private set; }

        /// <summary>Moves on; false at the end.</summary>
        public bool MoveNext()
        {
            if (_at >= _bytes.Length) return false;
            bool exists = ReplyText.TryRead(_bytes, ref _at, out ReadOnlySpan<byte> value);
            Current = new RedKiteItem(value, !exists);
            return true;
        }
    }
}

/// <summary>One element of <see cref="RedKiteItems"/>. Valid until those are disposed.</summary>
public readonly ref struct RedKiteItem
{
    internal RedKiteItem(ReadOnlySpan<byte> bytes, bool isNull)
    {
        Bytes = bytes;
        IsNull = isNull;
    }

    /// <summary>The element's bytes; empty if there is no value.</summary>
    public ReadOnlySpan<byte> Bytes { get; }

    /// <summary>Whether there is no value: a key or field that does not exist.</summary>
    public bool IsNull { get; }

    /// <summary>The element as a number, such as a score.</summary>
    /// <exception cref="InvalidOperationException">It is none.</exception>
    public double ToDouble() => ReplyText.Double(Bytes);

    /// <summary>The element as UTF-8; empty if there is no value.</summary>
    public string Text => Encoding.UTF8.GetString(Bytes);

    /// <summary>The same, so that an element can stand in an interpolated string, which takes no other ref struct.</summary>
    /// <param name="item">The element.</param>
    public static implicit operator string(RedKiteItem item) => item.Text;

    /// <inheritdoc cref="Text"/>
    public override string ToString() => Text;
}
