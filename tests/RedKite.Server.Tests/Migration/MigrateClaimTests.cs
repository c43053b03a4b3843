using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Migration;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Migration;

/// <summary>Commands that move the same keys at the same time: each waits for the one before it, as in Redis, where that blocks the server.</summary>
public class MigrateClaimTests : HeldMigration
{
    private MigrationService Service => Source.Server.Parts.Migrations;

    [Theory]
    [InlineData("k 0 60000 REPLACE", "k 0 60000 REPLACE")]
    [InlineData("k 0 60000 REPLACE COPY", "k 0 60000 REPLACE")]
    [InlineData("k 0 60000 REPLACE", "k 0 60000 REPLACE COPY")]
    [InlineData("\"\" 0 60000 REPLACE KEYS k k other", "\"\" 0 60000 REPLACE KEYS other k k")]
    public void Second_command_executes_after_the_first(string first, string second)
    {
        using RespConnection other = RespConnection.Connect(Source.Server.Port);
        Source.Run("MSET k 1 other 2").IsOk();
        BeginHeld(first);
        Begin(other, second);
        Held.Holds = false;
        if (first.EndsWith("COPY", StringComparison.Ordinal)) Source.Run("SET k new").IsOk(); // the copy must not replace it at the target
        for (int i = 0; i < 10; i++) Held.GoOn();
        Mover.Read().IsOk();
        if (first.EndsWith("COPY", StringComparison.Ordinal)) other.Read().IsOk();
        else Assert.Equal("NOKEY", other.Read().Text);
        Assert.Equal(0, Source.Run("EXISTS k").Number);
        Assert.Equal(first.EndsWith("COPY", StringComparison.Ordinal) ? "new" : "1", Target.Run("GET k").Text);
        AssertNothingIsClaimed();
    }

    // The keys change their database, and not their names.
    [Fact]
    public void Key_of_a_swapped_database_waits_too()
    {
        using RespConnection other = RespConnection.Connect(Source.Server.Port);
        Source.Run("SET k 1").IsOk();
        BeginHeld("k 0 60000 REPLACE");
        Source.Run("SWAPDB 0 1").IsOk();
        other.Run("SELECT 1").IsOk();
        Begin(other, "k 0 60000 REPLACE");
        Held.Holds = false;
        for (int i = 0; i < 10; i++) Held.GoOn();
        Mover.Read().IsOk();
        other.Read().IsOk();
        Assert.Equal("1", Target.Run("GET k").Text);
        AssertNothingIsClaimed();
    }

    // Each has a key that the other one names next.
    [Fact]
    public void Commands_with_the_same_keys_in_another_order_do_not_wait_for_each_other()
    {
        using RespConnection other = RespConnection.Connect(Source.Server.Port);
        Source.Run("MSET a 1 b 2 c 3").IsOk();
        BeginHeld("\"\" 0 60000 REPLACE KEYS a b");
        other.SendCommand($"MIGRATE 127.0.0.1 {Held.Port} \"\" 0 60000 REPLACE KEYS c b a");
        Held.WaitUntilHeld(); // it sends c alone
        Held.Holds = false;
        for (int i = 0; i < 10; i++) Held.GoOn();
        Mover.Read().IsOk();
        other.Read().IsOk();
        Assert.Equal(3, Target.Run("DBSIZE").Number);
        Assert.Equal(0, Source.Run("DBSIZE").Number);
        AssertNothingIsClaimed();
    }

    [Fact]
    public void Second_command_moves_what_the_first_could_not()
    {
        using RespConnection other = RespConnection.Connect(Source.Server.Port);
        using var silent = new HeldTarget { Holds = true, HeldName = "RESTORE", Script = static request => request[0] == "RESTORE" ? null : "+OK\r\n" };
        Source.Run("SET k 1").IsOk();
        Mover.SendCommand($"MIGRATE 127.0.0.1 {silent.Port} k 0 60000");
        silent.WaitUntilHeld();
        Held.Holds = false;
        Begin(other, "k 0 60000");
        silent.GoOn();
        Mover.Read().IsError("IOERR error or timeout reading to target instance");
        other.Read().IsOk();
        Assert.Equal("1", Target.Run("GET k").Text);
        AssertNothingIsClaimed();
    }

    [Fact]
    public void Wait_for_a_key_ends_with_the_timeout_and_with_the_client()
    {
        using RespConnection killed = RespConnection.Connect(Source.Server.Port);
        using RespConnection impatient = RespConnection.Connect(Source.Server.Port);
        long id = killed.Run("CLIENT ID").Number;
        Source.Run("SET k 1").IsOk();
        BeginHeld("k 0 60000");
        Begin(killed, "k 0 60000");
        impatient.SendCommand($"MIGRATE 127.0.0.1 {Held.Port} k 0 1");
        impatient.Read().IsError("IOERR error or timeout writing to target instance");
        Assert.Equal(1, Source.Run($"CLIENT KILL ID {id}").Number);
        NetworkTests.WaitFor(() => Source.Server.Engine.Blocked.Count == 1, "the end of the client");
        Held.GoOn();
        Mover.Read().IsOk();
        AssertNothingIsClaimed();
    }

    [Fact]
    public void Server_stops_while_a_command_waits_for_a_key()
    {
        using RespConnection other = RespConnection.Connect(Source.Server.Port);
        Source.Run("SET k 1").IsOk();
        BeginHeld("k 0 600000");
        Begin(other, "k 0 600000");
        Service.Stop();
        Assert.True(other.Read().IsError);
        Assert.True(Mover.Read().IsError);
        AssertNothingIsClaimed();
    }

    // The loop of the client that holds them may be busy: nobody ends the hold.
    [Fact]
    public void Hold_of_writes_ends_by_itself()
    {
        var clock = new TimersClock();
        using var gate = new WriteGate(new AttentionWord());
        var service = new MigrationService(new ServerClock(clock), gate, new ServerLog(new Settings(), static _ => { }));
        using MigrationHold forgotten = service.HoldWrites();
        Assert.Equal(TimeSpan.FromMilliseconds(MigrationService.HoldMsMax), Assert.Single(clock.Timers).Due);
        using MigrationHold second = service.HoldWrites();
        clock.Timers[0].Fire();
        Assert.True(gate.Waits); // for the second
        forgotten.Dispose();
        clock.Timers[0].Fire();
        Assert.True(gate.Waits);
        clock.Timers[1].Fire();
        Assert.False(gate.Waits);
        second.Dispose();
        using MigrationHold third = service.HoldWrites();
        Assert.True(gate.Waits);
        third.Dispose();
        Assert.False(gate.Waits);
    }

    // Waits until the command waits for a key, without a turn.
    private void Begin(RespConnection client, string arguments)
    {
        client.SendCommand($"MIGRATE 127.0.0.1 {Held.Port} {arguments}");
        NetworkTests.WaitFor(() => Source.Server.Engine.Blocked.Count == 2, "the second command");
    }

    private void AssertNothingIsClaimed()
    {
        NetworkTests.WaitFor(() => Service.Running == 0, "the end of all turns");
        Assert.Equal(0, Service.ClaimedKeys);
    }

    // Its result is read with stripes locked: an exception would end the process.
    [Fact]
    public async Task A_transfer_that_ends_by_a_bug_fails_and_is_logged()
    {
        List<string> lines = [];
        using var gate = new WriteGate(new AttentionWord());
        var service = new MigrationService(new ServerClock(new FailingClock()), gate, new ServerLog(new Settings(), entry => lines.Add(entry.Message)));
        Transfer transfer = service.Send(new MigrationTarget("127.0.0.1", 1, null, null, 0, TimeSpan.FromSeconds(60)), [], 1, false);
        Assert.NotEqual(TransferFailure.None, (await transfer.Completion).Failure);
        Assert.StartsWith("A bug ended a transfer of MIGRATE: System.InvalidOperationException: no timer", Assert.Single(lines), StringComparison.Ordinal);
        Assert.Equal(1, service.Failures);
    }

    private sealed class FailingClock : TimeProvider
    {
        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) => new FailingTimer();
    }

    private sealed class FailingTimer : ITimer
    {
        public bool Change(TimeSpan dueTime, TimeSpan period) => throw new InvalidOperationException("no timer");

        public void Dispose()
        {
        }

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }

    private sealed class TimersClock : TimeProvider
    {
        internal List<HeldTimer> Timers { get; } = [];

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            Timers.Add(new HeldTimer(() => callback(state), dueTime));
            return Timers[^1];
        }
    }

    private sealed class HeldTimer(Action fire, TimeSpan due) : ITimer
    {
        internal TimeSpan Due => due;

        internal void Fire() => fire();

        public bool Change(TimeSpan dueTime, TimeSpan period) => throw new NotSupportedException();

        public void Dispose()
        {
        }

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
