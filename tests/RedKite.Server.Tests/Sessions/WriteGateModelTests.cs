using RedKite.Server.Execution;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Sessions;

/// <summary>No order in which a snapshot's threads and another holder change the gate leaves writes held; and the checker would see it.</summary>
public sealed class WriteGateModelTests : TranscriptTests
{
    private const int Schedules = 1500;

    [Fact]
    public void Gate_is_open_when_nothing_holds_it_in_any_schedule() => Explore(flagsFirst: false);

    [Fact]
    public void The_checker_finds_a_flag_that_is_set_before_the_gate() => Assert.Throws<ModelViolationException>(() => Explore(flagsFirst: true));

    private void Explore(bool flagsFirst)
    {
        Engine engine = Server.Engine;
        WriteGateModel? last = null;
        try
        {
            Interleavings.ExploreRandomly(Schedules, (schedule, _) =>
            {
                last?.Dispose();
                return last = new WriteGateModel(schedule, engine, flagsFirst);
            });
        }
        finally
        {
            last?.Dispose();
        }
    }
}
