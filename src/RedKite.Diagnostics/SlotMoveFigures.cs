namespace RedKite.Server.Diagnostics;

/// <summary>The counters of moves of slots as a whole.</summary>
/// <param name="Completed">Moves after which another node has the slots.</param>
/// <param name="Failed">Those that failed or were canceled.</param>
/// <param name="WaitingBytes">Bytes of effects that wait for destinations.</param>
internal readonly record struct SlotMoveFigures(long Completed, long Failed, long WaitingBytes);
