using System.Globalization;
using RedKite.Server.Model;
using RedKite.Server.SlotMoves;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Slots that a node receives while its topology changes by something else, or its keys are flushed: what was received is not taken, and nothing is written behind clients.</summary>
public sealed class SlotReceptionTests : IDisposable
{
    private const int WaitMs = 60_000;
    private const string NoMore = "ERR the slot is not received any more";

    private static readonly string Other = new('b', 40);

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    // The topology has changed since the source's request was looked at.
    [Theory]
    [InlineData("owner")]
    [InlineData("replica")]
    [InlineData("importing")]
    public async Task A_node_that_has_got_the_slots_or_is_a_replica_receives_none(string change)
    {
        await using RedKiteServer server = await StartAsync();
        var reception = new SlotReception("id", Other, SlotSet.Of([new SlotRange(5, 6)]), connection: null, static _ => { });
        Change(server, change);
        Assert.False(server.Engine.Routing.Hidden.BeginReceiving(reception));
        Assert.Null(reception.Failure);
        Assert.True(server.Engine.Keyspace.HiddenSlots?.Contains(5) != true || change == "replica");
    }

    // Also if the topology is as before then: what was received may have been removed in between, or clients may have written to it.
    [Theory]
    [InlineData("owner")]
    [InlineData("replica")]
    public async Task Another_topology_ends_a_reception_although_it_does_not_last(string change)
    {
        await using RedKiteServer server = await StartAsync();
        using RespConnection source = Receive(server);
        source.Run("SET foo 1").IsOk();
        Assert.Equal(1, Held(server));
        Change(server, change);
        SetNodes(server, 8);
        AssertRefuses(source, "CLUSTER SYNCSLOTS ACK 1");
        AssertRefuses(source, "SET foo 2");
        AssertRefuses(source, "CLUSTER SYNCSLOTS TAKE x");
        Assert.StartsWith("MOVED", server.Execute("GET", "foo").Text, StringComparison.Ordinal);
        source.Dispose();
        Assert.True(SpinWait.SpinUntil(() => server.Parts.SlotMoves()!.Active == 0, WaitMs));
        Assert.True(SpinWait.SpinUntil(() => Held(server) == 0, WaitMs));
    }

    // Its source begins another one at once, and this node may not have heard yet that the connection of the first is closed.
    [Fact]
    public async Task A_reception_that_has_failed_does_not_hinder_the_next_one()
    {
        await using RedKiteServer server = await StartAsync();
        using RespConnection source = Receive(server), next = RespConnection.Connect(server.Port);
        source.Run("SET foo 1").IsOk();
        Assert.Equal("OK", server.Execute("FLUSHALL").Text);
        next.Run($"CLUSTER SYNCSLOTS ESTABLISH {new string('2', 40)} {Other} 0 16383").IsOk();
        next.Run("SET foo 2").IsOk();
        next.Run("CLUSTER SYNCSLOTS ACK 1").IsInteger(1);
        Assert.Equal(1, server.Parts.SlotMoves()!.Active);
    }

    [Fact]
    public async Task Slots_that_are_received_are_not_imported_key_by_key()
    {
        await using RedKiteServer server = await StartAsync();
        using RespConnection source = Receive(server);
        source.Run("SET foo 1").IsOk();
        Assert.StartsWith("ERR Slot 12182 is moving as a whole", server.Execute("CLUSTER", "SETSLOT", "12182", "IMPORTING", Other).Text, StringComparison.Ordinal);
        source.Run("CLUSTER SYNCSLOTS ACK 1").IsInteger(1);
        Assert.Equal(0, server.Execute("DBSIZE").Integer);
        source.Dispose();
        Assert.True(SpinWait.SpinUntil(() => server.Parts.SlotMoves()!.Active == 0 && Held(server) == 0, WaitMs));
        Assert.Equal("OK", server.Execute("CLUSTER", "SETSLOT", "12182", "IMPORTING", Other).Text);
    }

    // It was admitted before the reception ended, which no routing says.
    [Fact]
    public async Task A_command_that_waits_for_its_stripe_is_not_executed_behind_the_end_of_its_reception()
    {
        await using RedKiteServer server = await StartAsync();
        using RespConnection source = Receive(server);
        Keyspace keyspace = server.Engine.Keyspace;
        int stripe = KeySlot.Of("foo"u8) % keyspace.Stripes.Length;
        using (LockScope locked = keyspace.Lock(StripeSet.Of(stripe)))
        {
            source.SendCommand("SADD foo 1");
            Assert.True(SpinWait.SpinUntil(() => keyspace.Stripes[stripe].LockParked > 0, WaitMs));
            Assert.Equal(1, server.Parts.SlotMoves()!.Cancel(static _ => true));
        }

        AssertIsRefused(source.Read);
        Assert.True(SpinWait.SpinUntil(() => server.Parts.SlotMoves()!.Active == 0, WaitMs));
        Assert.Equal(0, Held(server));
    }

    // Its source stands still, or is cut off: no other move could begin.
    [Fact]
    public async Task A_reception_ends_when_its_source_has_the_slots_no_more_although_it_has_failed()
    {
        await using RedKiteServer server = await StartAsync();
        using RespConnection source = Receive(server);
        source.Run("SET foo 1").IsOk();
        SetNodes(server, 2, $"{server.Cluster!.SelfId} 127.0.0.1 7001 master -\n{Other} 127.0.0.1 7002 master - 0-10\n{new string('c', 40)} 127.0.0.1 7003 master - 11-16383");
        Assert.Equal("OK", server.Execute("FLUSHALL").Text);
        Assert.True(SpinWait.SpinUntil(() => server.Parts.SlotMoves()!.Active == 0, WaitMs));
        using RespConnection another = RespConnection.Connect(server.Port);
        another.Run($"CLUSTER SYNCSLOTS ESTABLISH {new string('2', 40)} {Other} 0 10").IsOk();
    }

    // It stands still.
    [Fact]
    public async Task A_reception_ends_when_its_source_is_silent()
    {
        var clock = new ManualClock();
        await using RedKiteServer server = await StartAsync(clock);
        using RespConnection source = Receive(server);
        source.Run("SET foo 1").IsOk();
        clock.Advance(SlotMoveLimits.SilenceMsMax);
        server.Parts.SlotMoves()!.Tick();
        Assert.Equal(1, server.Parts.SlotMoves()!.Active);
        clock.Advance(1);
        server.Parts.SlotMoves()!.Tick();
        Assert.Equal(0, server.Parts.SlotMoves()!.Active);
        Assert.Equal("the source has sent nothing for too long", server.Parts.SlotMoves()!.Moves[0].Message);
    }

    [Fact]
    public async Task What_the_source_has_sent_is_not_executed_behind_what_clients_write()
    {
        await using RedKiteServer server = await StartAsync();
        using RespConnection source = Receive(server), client = RespConnection.Connect(server.Port);
        bool holds = true;
        server.Engine.HoldForTest((scoped in CommandContext cmd) => Volatile.Read(ref holds) && cmd.Session.Reception is not null);
        source.SendCommand("SET foo old");
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Clients.All.Any(static session => session.Reception is not null && session.IsPaused), WaitMs));
        Change(server, "owner");
        client.Run("SET foo new").IsOk();
        Volatile.Write(ref holds, false);
        AssertIsRefused(source.Read);
        client.Run("GET foo").IsBulk("new");
        source.Dispose();
        Assert.True(SpinWait.SpinUntil(() => server.Parts.SlotMoves()!.Active == 0, WaitMs));
        Assert.Null(server.Engine.Keyspace.RemovedSlots);
        client.Run("GET foo").IsBulk("new");
    }

    [Fact]
    public async Task Nothing_is_received_behind_a_flush()
    {
        await using RedKiteServer server = await StartAsync();
        using RespConnection source = Receive(server);
        source.Run("SET foo 1").IsOk();
        Assert.Equal("OK", server.Execute("FLUSHALL").Text);
        source.Run("SET foo 2").IsError(NoMore);
        Assert.Equal(0, Held(server));
        source.Run("CLUSTER SYNCSLOTS ACK 1").IsError("ERR the keys of the destination were flushed, or loaded again");
    }

    private static long Held(RedKiteServer server) => server.Engine.Keyspace.Databases[0].Count;

    private static void AssertRefuses(RespConnection source, string command) => AssertIsRefused(() => source.Run(command));

    // By an error, or by the end of the connection, as the reception may have ended meanwhile.
    private static void AssertIsRefused(Func<RespValue> request)
    {
        try
        {
            RespValue reply = request();
            Assert.True(reply.IsClosed || reply.Marker == '-', reply.ToString());
        }
        catch (IOException)
        {
        }
    }

    private static RespConnection Receive(RedKiteServer server)
    {
        RespConnection source = RespConnection.Connect(server.Port);
        source.Run($"CLUSTER SYNCSLOTS ESTABLISH {new string('1', 40)} {Other} 0 16383").IsOk();
        return source;
    }

    private static void Change(RedKiteServer server, string change)
    {
        string id = server.Cluster!.SelfId;
        if (change == "owner") SetNodes(server, 7, $"{id} 127.0.0.1 7001 master - 0-16383\n{Other} 127.0.0.1 7002 master -");
        else if (change == "replica") SetNodes(server, 7, $"{id} 127.0.0.1 7001 slave {Other}\n{Other} 127.0.0.1 1 master - 0-16383");
        else foreach (string slot in (string[])["5", "12182"]) Assert.Equal("OK", server.Execute("CLUSTER", "SETSLOT", slot, "IMPORTING", Other).Text);
    }

    private static void SetNodes(RedKiteServer server, int version, string? list = null) =>
        Assert.Equal("OK", server.Execute("CLUSTERX", "SETNODES", list ?? $"{server.Cluster!.SelfId} 127.0.0.1 7001 master -\n{Other} 127.0.0.1 7002 master - 0-16383", version.ToString(CultureInfo.InvariantCulture)).Text);

    private async Task<RedKiteServer> StartAsync(ManualClock? clock = null)
    {
        var options = new RedKiteOptions { Port = 0 };
        if (clock is not null) options.TimeProvider = clock;
        foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", _folder.Path), ("loops", "1"), ("save", ""), ("diagnostics", "no")]) options.Settings[setting] = value;
        RedKiteServer server = await RedKiteServer.StartAsync(options);
        SetNodes(server, 1);
        return server;
    }
}
