namespace RedKite.Protocol.Tests;

/// <summary>Tests that measure the whole managed heap: no other test may allocate meanwhile.</summary>
[CollectionDefinition(nameof(MeasuresTheHeap), DisableParallelization = true)]
public sealed class MeasuresTheHeap;
