namespace RedKite.Ladder.Stages;

/// <summary>GET and SET with their arguments in place; everything else is <see cref="Other"/>.</summary>
internal enum CommandKind
{
    Other,
    Get,
    Set,
}
