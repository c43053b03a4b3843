namespace RedKite.Ladder.Stages;

/// <summary>The two commands that this is about, where they have their arguments; everything else is <see cref="Other"/>.</summary>
internal enum CommandKind
{
    Other,
    Get,
    Set,
}
