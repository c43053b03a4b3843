using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.Protocol;

namespace RedKite;

/// <summary>The kinds of replies.</summary>
public enum ReplyKind
{
    /// <summary>No value.</summary>
    Null,

    /// <summary>A status such as OK.</summary>
    Status,

    /// <summary>An error: its class, a space, the text.</summary>
    Error,

    /// <summary>An integer.</summary>
    Integer,

    /// <summary>A string of bytes (numbers and booleans of RESP3 too, as text).</summary>
    Text,

    /// <summary>An array, set, map (alternating keys and values) or push of replies.</summary>
    Array,
}

/// <summary>A reply to a command that was executed in process.</summary>
public sealed class RedKiteReply
{
    // Characters of a reply in a message.
    private const int ShownMax = 200;

    private static readonly RedKiteReply NullReply = new() { Kind = ReplyKind.Null };

    private RedKiteReply()
    {
    }

    private readonly long _integer;

    /// <summary>The kind of the reply; only the properties that fit it have values.</summary>
    public ReplyKind Kind { get; private init; }

    /// <summary>The bytes of a status, error or string.</summary>
    public ReadOnlyMemory<byte> Bytes { get; private init; }

    /// <summary>An integer's value.</summary>
    /// <exception cref="InvalidOperationException">The reply is something else, an error or a string of digits, for example; the message has it.</exception>
    public long Integer
    {
        get => Kind == ReplyKind.Integer ? _integer : throw new InvalidOperationException($"The reply is no integer but {(IsNull ? "null" : $"{Kind}: {Shown(Text!)}")}");
        private init => _integer = value;
    }

    /// <summary>An array's elements.</summary>
    public IReadOnlyList<RedKiteReply> Items { get; private init; } = [];

    /// <summary>Whether the command failed.</summary>
    public bool IsError => Kind == ReplyKind.Error;

    /// <summary>Whether there is no value.</summary>
    public bool IsNull => Kind == ReplyKind.Null;

    /// <summary>The bytes as UTF-8, or an integer's digits; null for a null.</summary>
    public string? Text => Kind switch
    {
        ReplyKind.Null => null,
        ReplyKind.Integer => _integer.ToString(CultureInfo.InvariantCulture),
        ReplyKind.Array => string.Join(", ", Items),
        _ => Encoding.UTF8.GetString(Bytes.Span),
    };

    /// <inheritdoc/>
    public override string ToString() => Text ?? "(null)";

    private static string Shown(string text) => text.Length <= ShownMax ? text : text[..ShownMax] + "...";

    internal static RedKiteReply Error(string text) => new() { Kind = ReplyKind.Error, Bytes = Encoding.UTF8.GetBytes(text) };

    /// <summary>Builds the first reply that a writer holds.</summary>
    internal static RedKiteReply Parse(ReplyWriter written)
    {
        if (written.Length == 0) return NullReply; // CLIENT REPLY OFF leaves nothing
        var source = new Source(written);
        return Read(ref source);
    }

    /// <summary>This, unless it is an error.</summary>
    internal RedKiteReply OrThrow() => IsError ? throw ToException() : this;

    internal RedKiteException ToException() => RedKiteException.Of(Bytes.Span);

    /// <summary>Builds all replies that a writer holds.</summary>
    internal static void ParseAll(ReplyWriter written, List<RedKiteReply> replies)
    {
        if (written.Length == 0) return;
        var source = new Source(written);
        while (source.HasMore) replies.Add(Read(ref source));
    }

    /// <summary>Builds the first reply of some bytes of the protocol.</summary>
    internal static RedKiteReply Parse(ReadOnlySpan<byte> written)
    {
        if (written.IsEmpty) return NullReply;
        var source = new Source(written);
        return Read(ref source);
    }

    private static RedKiteReply Read(scoped ref Source source)
    {
        ReplyElement element = source.Next();
        if (element.Number < 0 && element.Marker != ':') return NullReply;
        return element.Marker switch
        {
            (byte)'+' => new RedKiteReply { Kind = ReplyKind.Status, Bytes = element.Bytes.ToArray() },
            (byte)'-' => new RedKiteReply { Kind = ReplyKind.Error, Bytes = element.Bytes.ToArray() },
            (byte)':' => new RedKiteReply { Kind = ReplyKind.Integer, Integer = element.Number },
            (byte)'$' or (byte)'=' => ReadString(element, ref source),
            _ => element.IsAggregate ? ReadItems(element.Number, ref source) : new RedKiteReply { Kind = ReplyKind.Text, Bytes = element.Bytes.ToArray() },
        };
    }

    private static RedKiteReply ReadString(scoped ReplyElement element, scoped ref Source source)
    {
        const int FormatBytes = 4; // of a verbatim string: "txt:"
        byte[] bytes = new byte[element.Number];
        int at = 0;
        while (true)
        {
            element.Bytes.CopyTo(bytes.AsSpan(at));
            at += element.Bytes.Length;
            if (element.IsWhole) break;
            element = source.Next();
        }

        return new RedKiteReply { Kind = ReplyKind.Text, Bytes = element.Marker == '=' ? bytes.AsMemory(FormatBytes) : bytes };
    }

    private static RedKiteReply ReadItems(long count, scoped ref Source source)
    {
        var items = new RedKiteReply[count];
        for (int i = 0; i < items.Length; i++) items[i] = Read(ref source);
        return new RedKiteReply { Kind = ReplyKind.Array, Items = items };
    }

    // The writer's chunks one after the other, and its tail.
    private ref struct Source
    {
        private readonly ReplyWriter? _written; // null: all is in _input
        private ReplyReader _reader;
        private ReadOnlySpan<byte> _input;
        private int _at;
        private int _nextChunk;

        internal Source(ReplyWriter written) => _written = written;

        internal Source(ReadOnlySpan<byte> written) => _input = written;

        internal readonly bool HasMore => _at < _input.Length || (_written is not null && _nextChunk <= _written.Chunks.Length && (_nextChunk < _written.Chunks.Length || _written.Tail.Length > 0));

        internal ReplyElement Next()
        {
            ReplyElement element;
            while (!_reader.TryRead(_input, ref _at, out element)) Continue();
            Debug.Assert(element.Problem is null, "The server writes RESP.");
            return element;
        }

        // A header line may be cut by the end of a chunk: its beginning is then put before the next chunk.
        private void Continue()
        {
            ReadOnlySpan<byte> left = _input[_at..];
            if (_written is null) throw new FormatException("The reply is incomplete.");
            ReadOnlySpan<byte> next = _nextChunk < _written.Chunks.Length ? _written.Chunks[_nextChunk].Bytes : _written.Tail;
            _nextChunk++;
            _input = left.IsEmpty ? next : (byte[])[.. left, .. next];
            _at = 0;
        }
    }
}
