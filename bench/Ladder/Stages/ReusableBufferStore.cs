using System.Buffers;
using System.Collections.Concurrent;
using System.IO.Pipelines;

namespace RedKite.Ladder.Stages;

/// <summary>Stages 6b and 6c: keys and values in buffers that are used again.</summary>
/// <param name="setLooksFirst">
/// 6b: a SET looks whether its key is there, and if so leaves the dictionary's own key where it is and makes none: one
/// more look for one buffer less. 6c makes a key for every SET; where the key was there, the new one is garbage at once.
/// </param>
internal sealed class ReusableBufferStore(bool setLooksFirst) : IPipeStore
{
    // What is looked up is copied here: a slice of a pipe cannot be hashed or compared as it is.
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
        // Nothing is ever removed, so a key that is there stays, and assigning keeps the dictionary's own key object.
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
