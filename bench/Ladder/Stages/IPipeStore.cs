using System.Buffers;
using System.IO.Pipelines;

namespace RedKite.Ladder.Stages;

/// <summary>The key-value store of stage 6, used concurrently by all clients' tasks.</summary>
internal interface IPipeStore
{
    void Set(in ReadOnlySequence<byte> key, in ReadOnlySequence<byte> value);

    /// <summary>Writes GET's reply.</summary>
    void WriteValue(in ReadOnlySequence<byte> key, PipeWriter output);
}
