namespace RedKite.Net.Tests;

/// <summary>
/// A transport that says now and then that a send would have to wait although it would not: like a full socket whose peer reads
/// some at that moment.
/// </summary>
internal sealed class HesitantTransport(Transport inner) : OuterTransport(inner)
{
    private const int SendsPerPeriod = 5;
    private const int RefusalsPerPeriod = 2; // one behind the other: who is refused may try once more before it waits

    private int _sends;

    private bool Refuses => _sends++ % SendsPerPeriod < RefusalsPerPeriod;

    internal override int Send(Connection connection, ReadOnlySpan<byte> bytes) => Refuses ? WouldBlock : base.Send(connection, bytes);

    internal override int Send(Connection connection, OutputQueue queue) => Refuses ? WouldBlock : base.Send(connection, queue);
}
