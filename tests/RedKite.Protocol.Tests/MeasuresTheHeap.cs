namespace RedKite.Protocol.Tests;

/// <summary>Tests that look at the size of the whole managed heap: no other test may allocate meanwhile.</summary>
[CollectionDefinition(nameof(MeasuresTheHeap), DisableParallelization = true)]
public sealed class MeasuresTheHeap;
