using System.Buffers;
using System.Collections.Concurrent;
using System.IO.Pipelines;
using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>Stage 6a: strings, allocated from each request's bytes, including GET's key.</summary>
internal sealed class TextStore : IPipeStore
{
    private readonly ConcurrentDictionary<string, string> _values = new();

    public void Set(in ReadOnlySequence<byte> key, in ReadOnlySequence<byte> value) =>
        _values[Encoding.Latin1.GetString(key)] = Encoding.Latin1.GetString(value);

    public void WriteValue(in ReadOnlySequence<byte> key, PipeWriter output)
    {
        if (_values.TryGetValue(Encoding.Latin1.GetString(key), out string? value)) output.WriteBulk(value);
        else output.WriteNull();
    }
}
