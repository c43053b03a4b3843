using System.Text.Json;
using RedKite.Store.Memory;

namespace RedKite.Microbenchmarks.Documents;

/// <summary>The compact text. A command reads it up to its place, and a change moves what is behind it.</summary>
internal sealed unsafe class TextForm : DocumentForm
{
    private readonly SlabSource _source = new();
    private readonly Arena _arena;
    private byte* _text;
    private int _length;

    internal TextForm() => _arena = new Arena(_source);

    internal override string Name => "text";

    internal override long Bytes => BlockSize.RoundUp(_length);

    private Span<byte> Text => new(_text, _length);

    public override void Dispose()
    {
        _arena.Dispose();
        _source.Dispose();
        base.Dispose();
    }

    internal override void Load(byte[] text)
    {
        Check(text);
        if (_text != null) _arena.Free(_text, _length);
        _text = _arena.Allocate(text.Length);
        _length = text.Length;
        text.CopyTo(Text);
    }

    internal override void Get(byte[][] path, NativeBuffer output)
    {
        (int start, int end) = Find(path);
        output.Write(Text[start..end]);
    }

    internal override void Set(byte[][] path, byte[] text)
    {
        Check(text);
        (int start, int end) = Find(path);
        int longer = text.Length - (end - start), behind = _length - end;
        if (longer > 0) _text = _arena.Reallocate(_text, _length, _length + longer);
        Buffer.MemoryCopy(_text + end, _text + end + longer, behind, behind);
        if (longer < 0) _text = _arena.Reallocate(_text, _length, _length + longer);
        _length += longer;
        text.CopyTo(Text[start..]);
    }

    private static void Check(byte[] text)
    {
        var reader = new Utf8JsonReader(text);
        while (reader.Read())
        {
        }
    }

    private (int Start, int End) Find(byte[][] path)
    {
        var reader = new Utf8JsonReader(Text);
        reader.Read();
        foreach (byte[] name in path)
        {
            while (true)
            {
                reader.Read();
                bool isFound = reader.ValueTextEquals(name);
                reader.Read();
                if (isFound) break;
                reader.Skip();
            }
        }

        int start = (int)reader.TokenStartIndex;
        reader.Skip();
        return (start, (int)reader.BytesConsumed);
    }
}
