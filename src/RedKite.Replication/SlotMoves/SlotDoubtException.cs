namespace RedKite.Server.SlotMoves;

/// <summary>The destination may have taken the slots. The move goes on by asking it.</summary>
internal sealed class SlotDoubtException() : IOException("the destination has not answered whether it has taken the slots");
