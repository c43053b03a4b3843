using RedKite.Server.SlotMoves;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <content>Slots that move key by key do not move as a whole at the same time: what has gone to a third node, or has come from one, would be lost or come back.</content>
public sealed partial class SlotMoveTests
{
    private const string NotStable = "ERR all slot states must be STABLE to start a slot migration task.";

    private static readonly string Third = new('c', 40);

    [Fact]
    public async Task Slots_that_move_key_by_key_do_not_move_as_a_whole()
    {
        await using Pair pair = await StartAsync();
        AddThird(pair);
        using RespConnection a = RespConnection.Connect(pair.A.Port), b = RespConnection.Connect(pair.B.Port);
        string idA = pair.A.Cluster!.SelfId, idB = pair.B.Cluster!.SelfId;
        a.Run($"CLUSTER SETSLOT 5 MIGRATING {Third}").IsOk();
        a.Run($"CLUSTER MIGRATESLOTS SLOTSRANGE 0 10 NODE {idB}").IsError(NotStable);
        a.Run($"CLUSTER SYNCSLOTS REQUEST {new string('1', 40)} {idB} 0 10").IsError(NotStable);
        b.Run("CLUSTER MIGRATION IMPORT 0 10");
        Assert.True(SpinWait.SpinUntil(() => pair.B.Parts.SlotMoves()!.Moves[0].HasEnded, WaitMs));
        Assert.Equal(SlotMoveState.Failed, pair.B.Parts.SlotMoves()!.Moves[0].State);
        Assert.Contains("STABLE", pair.B.Parts.SlotMoves()!.Moves[0].Message, StringComparison.Ordinal);
        a.Run("CLUSTER SETSLOT 5 STABLE").IsOk();

        b.Run($"CLUSTER SETSLOT 5 IMPORTING {idA}").IsOk();
        b.Run("CLUSTER MIGRATION IMPORT 0 10").IsError(NotStable);
        b.Run($"CLUSTER SYNCSLOTS ESTABLISH {new string('1', 40)} {idA} 0 10").IsError(NotStable);
        SlotMove move = pair.MoveToEnd(first: "0", last: "10");
        Assert.Equal(SlotMoveState.Failed, move.State);
        Assert.Contains("STABLE", move.Message, StringComparison.Ordinal);
        b.Run("CLUSTER SETSLOT 5 STABLE").IsOk();
        Assert.Equal(SlotMoveState.Completed, pair.MoveToEnd(first: "0", last: "10").State);
    }

    [Theory]
    [InlineData("snapshot")]
    [InlineData("acknowledged")]
    public async Task Slots_that_move_as_a_whole_do_not_move_key_by_key(string step)
    {
        await using Pair pair = await StartAsync();
        AddThird(pair);
        List<string> replies = [];
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name != step) return;
            replies.Add(pair.A.Execute("CLUSTER", "SETSLOT", "5", "MIGRATING", Third).Text!);
            replies.Add(pair.B.Execute("CLUSTER", "SETSLOT", "5", "IMPORTING", pair.A.Cluster!.SelfId).Text!);
            replies.Add(pair.A.Execute("CLUSTER", "SETSLOT", "11", "MIGRATING", Third).Text!);
        });
        SlotMove move = pair.MoveToEnd(first: "0", last: "10");
        Assert.Equal("", move.Message);
        Assert.Equal(3, replies.Count);
        Assert.All(replies.Take(2), static reply => Assert.Equal("ERR Slot 5 is moving as a whole, and does not move key by key until that has ended", reply));
        Assert.Equal("OK", replies[2]);
        Assert.Empty(pair.B.Cluster!.State.Importing);
        Assert.Equal("OK", pair.B.Execute("CLUSTER", "SETSLOT", "5", "MIGRATING", Third).Text);
        Assert.Equal("OK", pair.A.Execute("CLUSTER", "SETSLOT", "5", "IMPORTING", pair.B.Cluster.SelfId).Text);
    }

    // Until it is known whether they were given.
    [Fact]
    public async Task Slots_in_doubt_do_not_move_key_by_key()
    {
        await using Pair pair = await StartAsync();
        AddThird(pair);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "asking") pair.B.DisposeAsync().AsTask().Wait(WaitMs);
        });
        Assert.Equal(SlotMoveState.InDoubt, pair.MoveToEnd(final: false).State);
        Assert.Equal("ERR Slot 5 is moving as a whole, and does not move key by key until that has ended", pair.A.Execute("CLUSTER", "SETSLOT", "5", "MIGRATING", Third).Text);
    }

    private static void AddThird(Pair pair)
    {
        string list = $"{pair.A.Cluster!.SelfId} 127.0.0.1 {pair.A.Port} master - 0-16383\n{pair.B.Cluster!.SelfId} 127.0.0.1 {pair.B.Port} master -\n{Third} 127.0.0.1 1 master -";
        foreach (RedKiteServer server in (RedKiteServer[])[pair.A, pair.B]) Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", list, "2").Text);
    }
}
