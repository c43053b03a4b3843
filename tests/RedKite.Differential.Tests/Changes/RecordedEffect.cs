using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>A command that a log or a replica would receive, and the database that it is for.</summary>
internal sealed record RecordedEffect(int Database, byte[][] Command)
{
    public override string ToString() => $"{Database}: {CommandLine.Format(Command)}";
}
