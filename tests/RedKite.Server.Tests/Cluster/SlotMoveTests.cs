using System.Collections.Concurrent;
using System.Globalization;
using RedKite.Server.Loops;
using RedKite.Server.Model;
using RedKite.Server.SlotMoves;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Slots that move as a whole between two nodes: nothing is lost, nothing is there twice, and whatever ends in between, one node has them.</summary>
public sealed partial class SlotMoveTests : IDisposable
{
    private const int WaitMs = 60_000;

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    // A server with one loop has one stripe.
    [Theory]
    [InlineData("64")]
    [InlineData("1")]
    public async Task Values_of_all_types_arrive_as_they_were(string stripes)
    {
        await using Pair pair = await StartAsync(appendOnly: true, stripes);
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        Assert.True(before.Count > 15);
        pair.Move();
        Assert.Equal(0, pair.A.Execute("DBSIZE").Integer);
        Assert.Empty(pair.A.Execute("TS.MRANGE", "-", "+", "FILTER", "room=study").Items);
        Assert.StartsWith("MOVED ", pair.A.Execute("GET", "string").Text, StringComparison.Ordinal);
        Assert.Equal(before, DigestsOf(pair.B));
        Assert.True(pair.B.Execute("PTTL", "expiring").Integer > 1000);
        Assert.True(SpinWait.SpinUntil(() => Held(pair.A) == 0, WaitMs));
        Assert.Null(pair.B.Engine.Keyspace.HiddenSlots);
        await pair.RestartBAsync();
        Assert.Equal(before, DigestsOf(pair.B));
    }

    [Fact]
    public async Task Nothing_is_lost_or_there_twice_while_clients_write()
    {
        await using Pair pair = await StartAsync();
        for (int i = 0; i < 2000; i++) pair.A.Execute("SET", $"filler{i}", new string('x', 200));
        var ledger = new ConcurrentDictionary<string, long>();
        bool ends = false;
        long moved = 0;
        Task[] writers = [.. Enumerable.Range(0, 4).Select(writer => Task.Run(() => Write(writer), TestContext.Current.CancellationToken))];
        Assert.True(SpinWait.SpinUntil(() => ledger.Values.Sum() > 200, WaitMs));
        pair.Move();
        long atMove = ledger.Values.Sum();
        Assert.True(SpinWait.SpinUntil(() => ledger.Values.Sum() > atMove + 200, WaitMs));
        Volatile.Write(ref ends, true);
        await Task.WhenAll(writers);
        Assert.True(moved >= 4, $"{moved} redirects");
        foreach ((string key, long count) in ledger) Assert.Equal(count, long.Parse(pair.B.Execute("GET", key).Text ?? "0", CultureInfo.InvariantCulture));
        Assert.Equal(2000 + ledger.Count, pair.B.Execute("DBSIZE").Integer);
        Assert.True(SpinWait.SpinUntil(() => Held(pair.A) == 0, WaitMs));

        void Write(int writer)
        {
            using RespConnection a = RespConnection.Connect(pair.A.Port), b = RespConnection.Connect(pair.B.Port);
            RespConnection here = a;
            for (int i = 0; !Volatile.Read(ref ends); i++)
            {
                string key = $"{{w{writer}-{i % 20}}}count";
                RespValue reply;
                if (writer % 2 == 0)
                {
                    reply = here.Run($"INCR {key}");
                }
                else
                {
                    here.Run("MULTI").IsOk();
                    RespValue queued = here.Run($"INCR {key}");
                    if (queued.Marker != '-') here.Run($"INCR {key}");
                    reply = here.Run("EXEC");
                    if (queued.Marker == '-') reply = queued;
                }

                if (reply.Marker != '-')
                {
                    ledger.AddOrUpdate(key, writer % 2 == 0 ? 1 : 2, (_, count) => count + (writer % 2 == 0 ? 1 : 2));
                }
                else if (reply.Text!.StartsWith("MOVED", StringComparison.Ordinal))
                {
                    Interlocked.Increment(ref moved);
                    here = reply.Text.EndsWith(pair.B.Port.ToString(CultureInfo.InvariantCulture), StringComparison.Ordinal) ? b : a;
                }
                else
                {
                    Assert.StartsWith("TRYAGAIN", reply.Text, StringComparison.Ordinal);
                }
            }
        }
    }

    [Theory]
    [InlineData("established")]
    [InlineData("snapshot")]
    [InlineData("caught-up")]
    [InlineData("intended")]
    [InlineData("held")]
    [InlineData("acknowledged")]
    public async Task A_move_that_is_canceled_leaves_the_slots_with_the_source(string step)
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == step) Assert.Equal("OK", pair.A.Execute("CLUSTER", "CANCELSLOTMIGRATIONS").Text);
        });
        SlotMove move = pair.MoveToEnd();
        Assert.Equal(SlotMoveState.Canceled, move.State);
        Assert.Equal(before, DigestsOf(pair.A));
        Assert.Equal("OK", pair.A.Execute("SET", "string", "later").Text);
        Assert.Equal(0, pair.B.Execute("DBSIZE").Integer);
        Assert.True(SpinWait.SpinUntil(() => Held(pair.B) == 0 && pair.B.Parts.SlotMoves()!.Active == 0, WaitMs));
        pair.MovesOfA.WatchSteps(null);
        before = DigestsOf(pair.A);
        pair.Move(); // another one succeeds
        Assert.Equal(before, DigestsOf(pair.B));
    }

    [Theory]
    [InlineData("established")]
    [InlineData("snapshot")]
    [InlineData("intended")]
    [InlineData("held")]
    [InlineData("acknowledged")]
    [InlineData("asking")]
    public async Task A_destination_that_stops_before_the_change_leaves_the_slots_with_the_source(string step)
    {
        await using Pair pair = await StartAsync(appendOnly: true);
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == step) pair.B.DisposeAsync().AsTask().Wait(WaitMs);
        });
        SlotMove move = pair.MoveToEnd(final: false);
        if (move.State == SlotMoveState.InDoubt) Assert.Contains(step, (string[])["acknowledged", "asking"]);
        else Assert.Equal(SlotMoveState.Failed, move.State);
        pair.MovesOfA.WatchSteps(null);
        await pair.RestartBAsync();
        Assert.True(SpinWait.SpinUntil(() => move.HasEnded, WaitMs));
        Assert.Equal(before, DigestsOf(pair.A)); // after a doubt, too: it has asked
        Assert.Equal("OK", pair.A.Execute("SET", "string", "later").Text);
        Assert.Equal(0, pair.B.Execute("DBSIZE").Integer);
        Assert.True(SpinWait.SpinUntil(() => Held(pair.B) == 0, WaitMs));
    }

    // The destination has taken the slots, and the source does not hear it.
    [Fact]
    public async Task A_source_that_does_not_hear_the_answer_serves_the_slots_no_more_until_it_has_asked()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name != "taking") return;
            Assert.True(SpinWait.SpinUntil(() => pair.B.Execute("CLUSTER", "COUNTKEYSINSLOT", KeySlot.Of("string"u8).ToString(CultureInfo.InvariantCulture)).Integer > 0, WaitMs));
            foreach (SlotMove move in pair.MovesOfA.Moves) move.Stop("the connection ends");
        });
        SlotMove move = pair.MoveToEnd();
        Assert.Equal(SlotMoveState.Completed, move.State);
        Assert.StartsWith("MOVED ", pair.A.Execute("GET", "string").Text, StringComparison.Ordinal);
        Assert.Equal(before, DigestsOf(pair.B));
        Assert.True(SpinWait.SpinUntil(() => Held(pair.A) == 0, WaitMs));
    }

    // Its clients may have written to the slots already: what is read at the source would be old.
    [Fact]
    public async Task Reads_at_the_source_wait_while_the_destination_takes_the_slots()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        using RespConnection reader = RespConnection.Connect(pair.A.Port), writer = RespConnection.Connect(pair.B.Port);
        long id = reader.Run("CLIENT ID").Number;
        bool wrote = false;
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name != "taking") return;
            wrote = SpinWait.SpinUntil(() => writer.Run("SET string newer").Marker == '+', WaitMs);
            Session session = pair.A.Engine.Clients.Find(id)!;
            long executed = session.Counts.CommandsProcessed;
            reader.SendCommand("GET string");
            SpinWait.SpinUntil(() => session.IsPaused || session.Counts.CommandsProcessed != executed, WaitMs);
        });
        pair.Move();
        Assert.True(wrote);
        Assert.StartsWith("MOVED ", reader.Read().Text, StringComparison.Ordinal);
        Assert.Equal("newer", writer.Run("GET string").Text);
    }

    // The destination does not answer: writes wait no longer than the setting says, and nothing waits for the slots until it is known whose they are.
    [Fact]
    public async Task A_source_in_doubt_lets_writes_go_on_and_no_client_waits_for_the_slots()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        pair.A.Execute("CONFIG", "SET", "cluster-move-pause-ms", "1000");
        Assert.False(pair.A.Execute("TS.ADD", "series", "1", "1", "LABELS", "room", "study").IsError);
        using RespConnection pops = RespConnection.Connect(pair.A.Port), claims = RespConnection.Connect(pair.A.Port);
        pops.SendCommand("BLPOP nothing 0");
        pair.A.Execute("XREADGROUP", "GROUP", "group", "me", "STREAMS", "stream", ">");
        claims.SendCommand("XREADGROUP GROUP group other BLOCK 0 CLAIM 60000000 STREAMS stream >");
        Assert.True(SpinWait.SpinUntil(() => pair.A.Engine.Blocked.Count == 2, WaitMs));
        using var answers = new ManualResetEventSlim();
        using var silent = new CountdownEvent(pair.B.Loops.Length);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name != "asking") return;
            foreach (SessionLoop loop in pair.B.Loops)
            {
                loop.Loop.Post(() =>
                {
                    silent.Signal();
                    SpinWait.SpinUntil(() => answers.IsSet, WaitMs);
                });
            }

            SpinWait.SpinUntil(() => silent.IsSet, WaitMs);
        });
        SlotMove move = pair.MoveToEnd(final: false);
        Assert.Equal(SlotMoveState.InDoubt, move.State);
        Assert.Empty(pair.A.Execute("KEYS", "*").Items); // the destination's clients may have changed them
        Assert.Equal(0, pair.A.Execute("DBSIZE").Integer);
        Assert.Empty(pair.A.Execute("TS.MRANGE", "-", "+", "FILTER", "room=study").Items);
        Assert.StartsWith("ERR Can't assign hashslot", pair.A.Execute("CLUSTER", "SETSLOT", KeySlot.Of("string"u8).ToString(CultureInfo.InvariantCulture), "NODE", pair.B.Cluster!.SelfId).Text, StringComparison.Ordinal);
        pops.Read().IsError("CLUSTERDOWN Hash slot not served");
        claims.Read().IsError("CLUSTERDOWN Hash slot not served");
        pops.Run("FUNCTION FLUSH").IsOk(); // it writes, and waits for nothing
        answers.Set();
        Assert.True(SpinWait.SpinUntil(() => move.HasEnded, WaitMs));
        if (move.State == SlotMoveState.Failed) Assert.NotEqual(0, pair.A.Execute("DBSIZE").Integer);
    }

    // Time alone serves it: no command was admitted by its slot.
    [Fact]
    public async Task A_client_that_is_served_by_time_waits_while_its_slot_is_held()
    {
        await using Pair pair = await StartAsync();
        using RespConnection claims = RespConnection.Connect(pair.A.Port), other = RespConnection.Connect(pair.A.Port);
        other.Run("XGROUP CREATE stream group 0 MKSTREAM").IsOk();
        other.Run("XADD stream 1-1 a 1");
        other.Run("XREADGROUP GROUP group me STREAMS stream >");
        claims.SendCommand("XREADGROUP GROUP group other BLOCK 0 CLAIM 60000 STREAMS stream >");
        Assert.True(SpinWait.SpinUntil(() => pair.A.Engine.Blocked.Count == 1, WaitMs));
        pair.A.Cluster!.Hold(SlotSet.Of([new SlotRange(0, KeySlot.Count - 1)]));
        other.Run("XCLAIM stream group me 0 1-1 IDLE 100000 JUSTID");
        using var hasLooked = new ManualResetEventSlim();
        pair.A.Loops[0].Loop.Post(() =>
        {
            pair.A.Loops[0].Executor.Invoker.Blocked.NoteLooks(long.MaxValue - 1);
            pair.A.Loops[0].Executor.Invoker.Blocked.ServeNoted();
            hasLooked.Set();
        });
        Assert.True(SpinWait.SpinUntil(() => hasLooked.IsSet, WaitMs));
        Assert.Equal(1, pair.A.Engine.Blocked.Count);
        pair.A.Cluster.Hold(null);
        Assert.Contains("1-1", claims.Read().ToString(), StringComparison.Ordinal);
    }

    // One that has the slots elsewhere, or not the destination. One that has them here does not: the destination may have them nevertheless.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_topology_ends_a_doubt(bool areGiven)
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "asking") pair.B.DisposeAsync().AsTask().Wait(WaitMs);
        });
        SlotMove move = pair.MoveToEnd(final: false);
        Assert.Equal(SlotMoveState.InDoubt, move.State);
        (string a, string b) = (pair.A.Cluster!.SelfId, pair.B.Cluster!.SelfId);
        string list = areGiven ? $"{a} 127.0.0.1 {pair.A.Port} master -\n{b} 127.0.0.1 7002 master - 0-16383" : $"{a} 127.0.0.1 {pair.A.Port} master - 0-16383";
        Assert.Equal("OK", pair.A.Execute("CLUSTERX", "SETNODES", list, "9").Text);
        Assert.True(SpinWait.SpinUntil(() => move.HasEnded, WaitMs));
        Assert.Equal(areGiven ? SlotMoveState.Completed : SlotMoveState.Failed, move.State);
        Assert.Equal(0, pair.MovesOfA.Active);
        Assert.StartsWith(areGiven ? "MOVED " : "value", pair.A.Execute("GET", "string").Text, StringComparison.Ordinal);
        if (areGiven) return;
        list += $"\n{b} 127.0.0.1 7002 master -";
        Assert.Equal("OK", pair.A.Execute("CLUSTERX", "SETNODES", list, "10").Text);
        Assert.Null(pair.A.Cluster.Intend(SlotSet.Of([new SlotRange(0, 0)]), a, b)); // slots move again
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_source_that_starts_again_asks_whether_the_slots_were_taken(bool areTaken)
    {
        await using Pair pair = await StartAsync(appendOnly: true);
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        SlotSet all = SlotSet.Of([new SlotRange(0, KeySlot.Count - 1)]);
        pair.MovesOfA.Stop(); // it asks nothing before it starts again
        Assert.Null(pair.A.Cluster!.Intend(all, pair.A.Cluster.SelfId, pair.B.Cluster!.SelfId));
        Assert.Equal(RedKite.Server.Cluster.GiveOutcome.Unknown, pair.A.Cluster.TryGive(all, pair.A.Cluster.SelfId, pair.B.Cluster.SelfId, static () => RedKite.Server.Cluster.GiveOutcome.Unknown));
        Assert.StartsWith("CLUSTERDOWN", pair.A.Execute("GET", "string").Text, StringComparison.Ordinal);
        if (areTaken) Assert.Null(pair.B.Cluster.Take(new SlotReception("id", pair.A.Cluster.SelfId, all, connection: null, static _ => { })));
        await pair.RestartAAsync();
        Assert.True(SpinWait.SpinUntil(() => pair.A.Cluster!.Doubtful.Count == 0, WaitMs));
        if (areTaken) Assert.True(SpinWait.SpinUntil(() => Held(pair.A) == 0, WaitMs));
        Assert.Equal(areTaken ? [] : before, DigestsOf(pair.A));
    }

    // Writes wait no longer than the setting says; the move tries again, and then gives up.
    [Fact]
    public async Task A_destination_that_is_too_slow_at_the_end_does_not_hold_the_writes()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        pair.A.Execute("CONFIG", "SET", "cluster-move-pause-ms", "1");
        int held = 0;
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "caught-up") Assert.Equal("OK", pair.A.Execute("SET", "string", "value").Text); // what is left to send
            if (name != "held") return;
            held++;
            Thread.Sleep(5); // the time is over
        });
        SlotMove move = pair.MoveToEnd();
        Assert.Equal(SlotMoveState.Failed, move.State);
        Assert.Equal(SlotMoveLimits.HandoversMax, held);
        Assert.Contains("cluster-move-pause-ms", move.Message, StringComparison.Ordinal);
        Assert.Equal("OK", pair.A.Execute("SET", "string", "value").Text);
        Assert.Equal(before, DigestsOf(pair.A));
    }

    [Fact]
    public async Task Replicas_of_both_follow_and_hide_what_is_not_their_primarys()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        await using RedKiteServer a = await pair.StartAsync("ra", 0), b = await pair.StartAsync("rb", 0);
        RedKiteServer[] all = [pair.A, pair.B, a, b];
        pair.SetNodes(2, all, slotsOfA: "0-16383", slotsOfB: "");
        foreach (RedKiteServer replica in (RedKiteServer[])[a, b]) Assert.True(SpinWait.SpinUntil(() => replica.Execute("INFO", "replication").Text!.Contains("master_link_status:up", StringComparison.Ordinal), WaitMs));
        Assert.True(SpinWait.SpinUntil(() => a.Execute("DBSIZE").Integer == before.Count, WaitMs));
        pair.Move();
        Assert.True(SpinWait.SpinUntil(() => Held(b) == before.Count && Held(a) == 0, WaitMs), $"{Held(b)} {Held(a)}");
        Assert.Equal(0, b.Execute("DBSIZE").Integer);
        Assert.Empty(b.Execute("SCAN", "0", "COUNT", "100000").Items[1].Items);
        pair.SetNodes(3, all, slotsOfA: "", slotsOfB: "0-16383");
        Assert.Equal(before, DigestsOf(b));
        Assert.Equal(before, DigestsOf(pair.B));
    }

    // The clock of the destination is ahead: what the source has still is not removed there.
    [Fact]
    public async Task What_expires_while_it_moves_is_removed_by_its_source()
    {
        await using Pair pair = await StartAsync();
        pair.A.Execute("SET", "kept", "1", "PX", "60000");
        pair.A.Execute("SET", "gone", "1", "PX", "200");
        pair.A.Execute("SET", "other", "1");
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "established")
            {
                Assert.Equal(1, pair.A.Execute("PERSIST", "kept").Integer);
                Assert.Equal(1, pair.A.Execute("PEXPIRE", "kept", "60000").Integer);
            }

            if (name == "snapshot")
            {
                Assert.Equal(1, pair.A.Execute("PERSIST", "kept").Integer);
                Assert.True(SpinWait.SpinUntil(() => pair.A.Execute("EXISTS", "gone").Integer == 0, WaitMs));
            }
        });
        pair.Move();
        Assert.Equal(-1, pair.B.Execute("PTTL", "kept").Integer);
        Assert.Equal(2, pair.B.Execute("DBSIZE").Integer);
    }

    // A command that has begun before the slots are held is not lost: either its effect is sent, or it is refused.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task The_end_of_a_reception_and_the_taking_exclude_each_other(bool takesFirst)
    {
        await using Pair pair = await StartAsync();
        using RespConnection connection = RespConnection.Connect(pair.B.Port);
        string a = pair.A.Cluster!.SelfId;
        connection.Run($"CLUSTER SYNCSLOTS ESTABLISH {new string('1', 40)} {a} 0 16383").IsOk();
        connection.Run("SET foo 1").IsOk();
        Assert.Equal(0, pair.B.Execute("DBSIZE").Integer);
        Assert.StartsWith("MOVED", pair.B.Execute("GET", "foo").Text, StringComparison.Ordinal);
        using RespConnection second = RespConnection.Connect(pair.B.Port);
        second.Run($"CLUSTER SYNCSLOTS ESTABLISH {new string('2', 40)} {a} 0 16383").IsError("ERR this node is receiving slots: one move at a time");
        if (takesFirst)
        {
            connection.Run("CLUSTER SYNCSLOTS TAKE x").IsOk();
            second.Run($"CLUSTER SYNCSLOTS OWNS {a} 0 16383").IsInteger(1);
            Assert.Equal("1", pair.B.Execute("GET", "foo").Text);
            return;
        }

        second.Run($"CLUSTER SYNCSLOTS OWNS {a} 0 16383").IsInteger(0);
        Assert.NotEqual('+', connection.Run("CLUSTER SYNCSLOTS TAKE x").Marker);
        Assert.True(SpinWait.SpinUntil(() => Held(pair.B) == 0, WaitMs));
    }

    [Fact]
    public async Task A_flush_ends_the_move()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "snapshot") pair.B.Execute("FLUSHALL");
        });
        Assert.Contains("flushed", pair.MoveToEnd().Message, StringComparison.Ordinal);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "snapshot") pair.A.Execute("FLUSHALL");
        });
        Assert.Contains("flushed", pair.MoveToEnd().Message, StringComparison.Ordinal);
        Assert.Equal(0, pair.A.Execute("DBSIZE").Integer);
    }

    [Fact]
    public async Task Blocked_and_watching_clients_and_subscribers_are_told()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        using RespConnection blocked = RespConnection.Connect(pair.A.Port), watching = RespConnection.Connect(pair.A.Port), subscribed = RespConnection.Connect(pair.A.Port), tracking = RespConnection.Connect(pair.A.Port);
        blocked.SendCommand("BLPOP nothing 0");
        watching.Run("WATCH string").IsOk();
        subscribed.Run("SSUBSCRIBE channel");
        tracking.Run("HELLO 3");
        tracking.Run("CLIENT TRACKING ON").IsOk();
        tracking.Run("GET string");
        Assert.True(SpinWait.SpinUntil(() => pair.A.Execute("INFO", "clients").Text!.Contains("blocked_clients:1", StringComparison.Ordinal), WaitMs));
        pair.Move();
        Assert.StartsWith("MOVED ", blocked.Read().Text, StringComparison.Ordinal);
        Assert.Contains("sunsubscribe", subscribed.ReadAny().ToString(), StringComparison.Ordinal);
        Assert.Contains("string", tracking.ReadAny().ToString(), StringComparison.Ordinal);
        watching.Run("MULTI").IsOk();
        watching.Run("PING");
        Assert.True(watching.Run("EXEC").IsNull);
    }

    [Fact]
    public async Task The_destination_may_ask_for_the_slots()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        string id = pair.B.Execute("CLUSTER", "MIGRATION", "IMPORT", "0", "16383").Text!;
        Assert.Equal(40, id.Length);
        Assert.True(SpinWait.SpinUntil(() => pair.B.Parts.SlotMoves()!.Moves is [{ HasEnded: true }], WaitMs));
        Assert.Equal(before, DigestsOf(pair.B));
        string status = pair.B.Execute("CLUSTER", "MIGRATION", "STATUS", "ID", id).ToString()!;
        Assert.Contains("completed", status, StringComparison.Ordinal);
        Assert.True(SpinWait.SpinUntil(() => pair.MovesOfA.Moves is [{ HasEnded: true }], WaitMs));
        Assert.Contains("migrate", pair.A.Execute("CLUSTER", "MIGRATION", "STATUS", "ALL").ToString(), StringComparison.Ordinal);
        Assert.Contains("EXPORT", pair.A.Execute("CLUSTER", "GETSLOTMIGRATIONS").ToString(), StringComparison.Ordinal);
        Assert.Equal("ERR this node is already the owner of the slot range", pair.B.Execute("CLUSTER", "MIGRATION", "IMPORT", "0", "1").Text);
    }

    // Valkey 9.1 and redis-server 8.6.3 reply the same.
    [Fact]
    public async Task Errors_are_those_of_Valkey_and_Redis()
    {
        await using Pair pair = await StartAsync();
        using RespConnection a = RespConnection.Connect(pair.A.Port), b = RespConnection.Connect(pair.B.Port);
        string idA = pair.A.Cluster!.SelfId, idB = pair.B.Cluster!.SelfId, none = new('0', 40);
        foreach ((string command, string error) in ((string, string)[])
        [
            ($"SLOTSRANGE 0 10 NODE {idA}", "ERR Target node can not be this node."),
            ($"SLOTSRANGE 0 10 NODE {none}", $"ERR Unknown node name: {none}"),
            ($"SLOTSRANGE 10 0 NODE {idB}", "ERR Start slot number 10 is greater than end slot number 0."),
            ($"SLOTSRANGE 0 99999 NODE {idB}", "ERR Invalid or out of range slot"),
            ("SLOTSRANGE 0 10 NODE zz", "ERR Invalid node name: zz"),
            ($"SLOTSRANGE 0 10 FOO {idB}", "ERR syntax error"),
            ($"SLOTSRANGE 0 10 SLOTSRANGE 5 6 NODE {idB}", "ERR syntax error"),
            ($"SLOTSRANGE 0 10 5 6 NODE {idB}", "ERR Slot range 5-6 overlaps with previous range 0-10."),
            ($"SLOTSRANGE 0 10 20 NODE {idB}", "ERR Invalid or out of range slot"),
            ($"SLOTSRANGE 0 10 NODE {idB} SLOTSRANGE 5 6 NODE {idB}", "ERR Slot ranges in migrations overlap"),
            ($"SLOTSRANGE a 10 NODE {idB}", "ERR No slot ranges specified"),
            ($"SLOTSRANGE 0 NODE {idB} x", "ERR Invalid or out of range slot"),
            ($"FOO 0 10 NODE {idB}", "ERR syntax error"),
            ($"SLOTSRANGE 0 10 NODE {idB} BAR", "ERR syntax error"),
        ]) a.Run("CLUSTER MIGRATESLOTS " + command).IsError(error);
        b.Run($"CLUSTER MIGRATESLOTS SLOTSRANGE 500 501 NODE {idA}").IsError("ERR Slots are not served by this node.");
        a.Run("CLUSTER CANCELSLOTMIGRATIONS").IsError("ERR No migrations ongoing");
        Assert.Empty(a.Run("CLUSTER GETSLOTMIGRATIONS").Items);
        foreach ((string command, string error) in ((string, string)[])
        [
            ("IMPORT 0 99999", "ERR Invalid or out of range slot"),
            ("IMPORT 5 1", "ERR start slot number 5 is greater than end slot number 1"),
            ("IMPORT a 1", "ERR Invalid or out of range slot"),
            ("IMPORT 0 10 5 6", "ERR Slot 5 specified multiple times"),
            ("STATUS FOO", "ERR unknown argument"),
            ("CANCEL FOO BAR", "ERR unknown argument"),
        ]) b.Run("CLUSTER MIGRATION " + command).IsError(error);
        a.Run("CLUSTER MIGRATION IMPORT 0 10").IsError("ERR this node is already the owner of the slot range");
        Assert.Empty(b.Run("CLUSTER MIGRATION STATUS ALL").Items);
        b.Run("CLUSTER MIGRATION CANCEL ALL").IsInteger(0);
        b.Run("CLUSTER MIGRATION CANCEL ID abc").IsInteger(0);
        foreach (string part in (string[])["ESTABLISH", "ACK 1", "TAKE 1", "OWNS x 1 2", "x y"]) Assert.Equal('-', a.Run($"CLUSTER SYNCSLOTS {part}").Marker == '-' ? '-' : a.Run("PING").Marker == '+' ? '-' : '+');
    }

    private static void Fill(RedKiteServer server)
    {
        Run("SET string value", "SET number 12345", "SET expiring value PX 100000000", "SETRANGE bits 100 x", "RPUSH list a b c", "SADD set a b c", "SADD ints 1 2 3", "ZADD sorted 1 a 2 b", "HSET hash a 1 b 2",
            "HSET fields a 1 b 2", "HPEXPIRE fields 100000000 FIELDS 1 a", "XADD stream 1-1 a 1", "XADD stream 2-1 a 1", "XGROUP CREATE stream group 0", "XREADGROUP GROUP group me COUNT 1 STREAMS stream >", "PFADD log a b c",
            "VADD vectors VALUES 2 1 2 element", "ARSET array 5 x", "SADDEX expiringset PX 100000000 MEMBERS 1 a");
        for (int i = 0; i < 1500; i += 50)
        {
            string[] elements = [.. Enumerable.Range(i, 50).Select(static n => $"element-{n}-{new string('y', 40)}")];
            server.Execute(["RPUSH", "biglist", .. elements]);
            server.Execute(["SADD", "bigset", .. elements]);
            server.Execute(["ZADD", "bigsorted", .. elements.SelectMany(static element => (string[])["1.5", element])]);
            server.Execute(["HSET", "bighash", .. elements.SelectMany(static element => (string[])[element, "value"])]);
        }

        server.Execute("SET", "bigstring", new string('z', 1_000_000));
        for (int i = 0; i < 300; i++) server.Execute("SET", $"key{i}", "value");

        void Run(params string[] commands)
        {
            foreach (string command in commands)
            {
                string[] words = command.Split(' ');
                RedKiteReply reply = server.Execute(words);
                Assert.False(reply.IsError, $"{command}: {reply.Text}");
            }
        }
    }

    private static Dictionary<string, string> DigestsOf(RedKiteServer server) =>
        server.Execute("KEYS", "*").Items.ToDictionary(static key => key.Text!, key => server.Execute("DEBUG", "DIGEST-VALUE", key.Text!).Items[0].Text!);

    private static long Held(RedKiteServer server) => server.Engine.Keyspace.Databases[0].Count;

    private async Task<Pair> StartAsync(bool appendOnly = false, string stripes = "64", FaultyFiles? filesOfA = null, string[]? tls = null)
    {
        var pair = new Pair(_folder, appendOnly, stripes) { A = null!, B = null!, FilesOfA = filesOfA, Tls = tls };
        await pair.StartAsync();
        return pair;
    }

    private sealed class Pair(TemporaryFolder folder, bool appendOnly, string stripes) : IAsyncDisposable
    {
        private int _portA;
        private int _portB;

        internal required RedKiteServer A { get; set; }

        internal required RedKiteServer B { get; set; }

        internal FaultyFiles? FilesOfA { get; init; }

        /// <summary>Settings of certificates, by which the nodes reach each other; null: without.</summary>
        internal string[]? Tls { get; init; }

        internal ConcurrentQueue<string> LogOfA { get; } = new();

        internal SlotMoveService MovesOfA => A.Parts.SlotMoves()!;

        internal async Task StartAsync()
        {
            A = await StartAsync("a", 0);
            B = await StartAsync("b", 0);
            (_portA, _portB) = (A.Port, B.Port);
            string list = $"{A.Cluster!.SelfId} 127.0.0.1 {PortOf(A)} master - 0-16383\n{B.Cluster!.SelfId} 127.0.0.1 {PortOf(B)} master -";
            foreach (RedKiteServer server in (RedKiteServer[])[A, B]) Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", list, "1").Text);
        }

        private int PortOf(RedKiteServer server) => Tls is null ? server.Port : int.Parse(server.Execute("CONFIG", "GET", "tls-port").Items[1].Text!, CultureInfo.InvariantCulture);

        internal void SetNodes(int version, RedKiteServer[] nodes, string slotsOfA, string slotsOfB)
        {
            string list = $"{Id(0)} 127.0.0.1 {nodes[0].Port} master - {slotsOfA}\n{Id(1)} 127.0.0.1 {nodes[1].Port} master - {slotsOfB}\n{Id(2)} 127.0.0.1 {nodes[2].Port} slave {Id(0)}\n{Id(3)} 127.0.0.1 {nodes[3].Port} slave {Id(1)}";
            foreach (RedKiteServer node in nodes) Assert.Equal("OK", node.Execute("CLUSTERX", "SETNODES", list, version.ToString(CultureInfo.InvariantCulture)).Text);
            string Id(int node) => nodes[node].Cluster!.SelfId;
        }

        internal void Move()
        {
            SlotMove move = MoveToEnd();
            Assert.Equal("", move.Message);
            Assert.Equal(SlotMoveState.Completed, move.State);
        }

        internal SlotMove MoveToEnd(bool final = true, string first = "0", string last = "16383")
        {
            Assert.Equal("OK", A.Execute("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, last, "NODE", B.Cluster!.SelfId).Text);
            SlotMove move = MovesOfA.Moves[0];
            Assert.True(SpinWait.SpinUntil(() => move.HasEnded || (!final && move.State == SlotMoveState.InDoubt), WaitMs), $"{move.State} {move.Message}");
            return move;
        }

        internal async Task RestartAAsync()
        {
            await A.DisposeAsync();
            A = await StartAsync("a", _portA);
        }

        internal async Task RestartBAsync()
        {
            await B.DisposeAsync();
            B = await StartAsync("b", _portB);
        }

        public async ValueTask DisposeAsync()
        {
            await A.DisposeAsync();
            await B.DisposeAsync();
        }

        internal async Task<RedKiteServer> StartAsync(string name, int port)
        {
            string path = folder.File(name);
            Directory.CreateDirectory(path);
            FaultyFiles? files = name == "a" ? FilesOfA : null;
            files?.CreateFolder(path);
            var options = new RedKiteOptions { Port = port, Files = files, Log = name == "a" ? entry => LogOfA.Enqueue(entry.Message) : null };
            foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", path), ("loops", "2"), ("save", ""), ("repl-diskless-sync-delay", "0"), ("diagnostics", "no"), ("enable-debug-command", "yes"), ("cluster-move-pause-ms", "30000"), ("appendonly", appendOnly ? "yes" : "no"), ("stripes", stripes)]) options.Settings[setting] = value;
            if (Tls is not null) (options.Settings["tls-port"], options.Settings["tls-replication"]) = (LoopbackPort.Next().ToString(CultureInfo.InvariantCulture), "yes");
            for (int i = 0; i < Tls?.Length; i += 2) options.Settings[Tls[i]] = Tls[i + 1];
            return await RedKiteServer.StartAsync(options);
        }
    }
}
