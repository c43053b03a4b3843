using System.Buffers.Text;
using System.Globalization;
using System.Text.Json;
using RedKite.Json.Store;
using RedKite.Store.Memory;

namespace RedKite.Microbenchmarks.Documents;

/// <summary>A tree of managed objects, as lean as they can be: arrays without spare places, UTF-8, and a name once in a document.</summary>
internal sealed class NodeForm : DocumentForm
{
    private const int CopiesMeasured = 100;

    private static readonly Word Null = new("null"), True = new("true"), False = new("false");

    private readonly HashSet<byte[]> _names = new(new NameComparer());
    private byte[] _loaded = [];
    private Node _root = Null;

    internal override string Name => "tree of managed nodes";

    // The document as it was loaded, in many copies.
    internal override long Bytes
    {
        get
        {
            var copies = new Node[CopiesMeasured];
            long before = GC.GetTotalMemory(forceFullCollection: true);
            for (int i = 0; i < copies.Length; i++) copies[i] = Parse(_loaded);
            _names.Clear();
            _names.TrimExcess();
            long bytes = GC.GetTotalMemory(forceFullCollection: true) - before;
            GC.KeepAlive(copies);
            return bytes / copies.Length;
        }
    }

    internal override void Load(byte[] text)
    {
        _loaded = text;
        _root = Parse(text);
    }

    internal override void Get(byte[][] path, NativeBuffer output)
    {
        Node node = _root;
        foreach (byte[] name in path)
        {
            var parent = (Container)node;
            node = parent.Items[parent.IndexOf(name)];
        }

        Write(node, output);
    }

    internal override void Set(byte[][] path, byte[] text)
    {
        Node node = _root;
        foreach (byte[] name in path.AsSpan(0, path.Length - 1))
        {
            var container = (Container)node;
            node = container.Items[container.IndexOf(name)];
        }

        var parent = (Container)node;
        parent.Items[parent.IndexOf(path[^1])] = Parse(text);
    }

    private static void Write(Node node, NativeBuffer output)
    {
        switch (node)
        {
            case Word word:
                output.Write(word.Text);
                return;
            case Integer integer:
                Utf8Formatter.TryFormat(integer.Value, output.Room(JsonNumber.TextMax), out int digits);
                output.Advance(digits);
                return;
            case Number number:
                number.Value.TryFormat(output.Room(JsonNumber.TextMax), out int length, default, CultureInfo.InvariantCulture);
                output.Advance(length);
                return;
            case Text text:
                JsonTextWriter.WriteString(output, text.Value);
                return;
        }

        var container = (Container)node;
        output.Write(container.Names is null ? "["u8 : "{"u8);
        for (int i = 0; i < container.Items.Length; i++)
        {
            if (i > 0) output.Write(","u8);
            if (container.Names is not null)
            {
                JsonTextWriter.WriteString(output, container.Names[i]);
                output.Write(":"u8);
            }

            Write(container.Items[i], output);
        }

        output.Write(container.Names is null ? "]"u8 : "}"u8);
    }

    private Node Parse(byte[] text)
    {
        _names.Clear();
        var reader = new Utf8JsonReader(text);
        reader.Read();
        return Parse(ref reader);
    }

    private Node Parse(ref Utf8JsonReader reader)
    {
        switch (reader.TokenType)
        {
            case JsonTokenType.Null:
                return Null;
            case JsonTokenType.True:
                return True;
            case JsonTokenType.False:
                return False;
            case JsonTokenType.String:
                return new Text(TextOf(reader));
            case JsonTokenType.Number:
                return reader.TryGetInt64(out long integer) ? new Integer(integer) : new Number(reader.GetDouble());
        }

        bool isObject = reader.TokenType == JsonTokenType.StartObject;
        List<byte[]>? names = isObject ? [] : null;
        List<Node> items = [];
        while (reader.Read() && reader.TokenType is not (JsonTokenType.EndObject or JsonTokenType.EndArray))
        {
            if (isObject)
            {
                names!.Add(NameOf(reader));
                reader.Read();
            }

            items.Add(Parse(ref reader));
        }

        return new Container(names?.ToArray(), [.. items]);
    }

    private byte[] NameOf(Utf8JsonReader reader)
    {
        if (!reader.ValueIsEscaped && _names.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(reader.ValueSpan, out byte[]? known)) return known;
        byte[] name = TextOf(reader);
        _names.Add(name);
        return name;
    }

    private static byte[] TextOf(Utf8JsonReader reader)
    {
        if (!reader.ValueIsEscaped) return reader.ValueSpan.ToArray();
        var text = new byte[reader.ValueSpan.Length];
        return text[..reader.CopyString(text)];
    }

    private abstract class Node;

    private sealed class Word(string text) : Node
    {
        internal byte[] Text { get; } = System.Text.Encoding.UTF8.GetBytes(text);
    }

    private sealed class Integer(long value) : Node
    {
        internal long Value { get; } = value;
    }

    private sealed class Number(double value) : Node
    {
        internal double Value { get; } = value;
    }

    private sealed class Text(byte[] value) : Node
    {
        internal byte[] Value { get; } = value;
    }

    private sealed class Container(byte[][]? names, Node[] items) : Node
    {
        internal byte[][]? Names { get; } = names;

        internal Node[] Items { get; } = items;

        internal int IndexOf(byte[] name)
        {
            byte[][] names = Names!;
            for (int i = 0; i < names.Length; i++)
            {
                if (names[i].AsSpan().SequenceEqual(name)) return i;
            }

            return -1;
        }
    }

    private sealed class NameComparer : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
    {
        public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

        public int GetHashCode(byte[] obj) => GetHashCode(obj.AsSpan());

        public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();

        public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);

        public int GetHashCode(ReadOnlySpan<byte> alternate)
        {
            var hash = default(HashCode);
            hash.AddBytes(alternate);
            return hash.ToHashCode();
        }
    }
}
