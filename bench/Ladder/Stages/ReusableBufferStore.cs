using System.Buffers;
using System.Collections.Concurrent;
using System.IO.Pipelines;

namespace RedKite.Ladder.Stages;

/// <summary>Stages 6b and 6c: keys and values in reusable buffers.</summary>
/// <param name="setLooksFirst">
/// 6b: SET first looks up its key, and if it exists keeps the dictionary's key object and needs none of its own: one more
/// lookup for one buffer less. 6c allocates a key for every SET; for an existing key it becomes garbage at once.
/// </param>
internal sealed class ReusableBufferStore(bool setLooksFirst) : IPipeStore
{
    // Keys to look up are copied here, because a pipe's slice cannot be hashed or compared directly.
    [ThreadStatic]
    private static ReusableBuffer? _lookUp;

    private readonly ConcurrentDictionary<ReusableBuffer, ReusableBuffer> _values = new();

    public void Set(in ReadOnlySequence<byte> key, in ReadOnlySequence<byte> value)
    {
        var stored = new ReusableBuffer(value);
        if (!setLooksFirst)
        {
            _values[new ReusableBuffer(key)] = stored;
            return;
        }

        ReusableBuffer lookUp = LookUp(key);
        // Nothing is ever removed, so an existing key stays, and the assignment keeps the dictionary's key object.
        if (_values.ContainsKey(lookUp)) _values[lookUp] = stored;
        else _values[new ReusableBuffer(lookUp)] = stored;
    }

    public void WriteValue(in ReadOnlySequence<byte> key, PipeWriter output)
    {
        if (!_values.TryGetValue(LookUp(key), out ReusableBuffer? value))
        {
            output.WriteNull();
            return;
        }

        output.WriteBulk(value.Bytes);
        GC.KeepAlive(value);
    }

    private static ReusableBuffer LookUp(in ReadOnlySequence<byte> key)
    {
        if (_lookUp is null) return _lookUp = new ReusableBuffer(key);
        _lookUp.Assign(key);
        return _lookUp;
    }
}
