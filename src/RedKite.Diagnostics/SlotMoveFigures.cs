namespace RedKite.Server.Diagnostics;

/// <summary>The counters of moves of slots as a whole.</summary>
/// <param name="Completed">Moves after which another node has the slots.</param>
/// <param name="Failed">Those that failed or were canceled.</param>
/// <param name="WaitingBytes">Bytes of effects that wait for destinations.</param>
/// <param name="Active">Moves that have not ended.</param>
/// <param name="SentBytes">Bytes that moves from this node have sent.</param>
internal readonly record struct SlotMoveFigures(long Completed, long Failed, long WaitingBytes, int Active, long SentBytes);
