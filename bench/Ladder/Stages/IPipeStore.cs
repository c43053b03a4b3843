using System.Buffers;
using System.IO.Pipelines;

namespace RedKite.Ladder.Stages;

/// <summary>What stage 6 keeps keys and values in. All clients' tasks use it at once.</summary>
internal interface IPipeStore
{
    void Set(in ReadOnlySequence<byte> key, in ReadOnlySequence<byte> value);

    /// <summary>Writes GET's reply.</summary>
    void WriteValue(in ReadOnlySequence<byte> key, PipeWriter output);
}
