using System.Globalization;
using RedKite.Server.Model;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.Server.Tests.Migration;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Commands that work in slices while their slot, their key or the node's lease goes: what they reply is true of a key that is here, or they are sent to where it is.</summary>
public sealed class SlicedSlotTests : IAsyncLifetime
{
    private const int Slot = 12182; // of "foo"
    private const string Elsewhere = "127.0.0.1:7002";
    private const string Found = "*1 :199999";

    private static readonly string Other = new('b', 40);
    private static readonly string[] Search = ["ARGREP", "foo", "-", "+", "MATCH", "needle"];

    private readonly TemporaryFolder _folder = new();
    private RedKiteServer _server = null!;
    private string _id = "";

    public async ValueTask InitializeAsync()
    {
        Directory.CreateDirectory(_folder.Path);
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", _folder.Path), ("save", ""), ("diagnostics", "no")]) options.Settings[setting] = value;
        _server = await RedKiteServer.StartAsync(options);
        _id = _server.Execute("CLUSTER", "MYID").Text!;
        SetNodes(1, $"{_id} 127.0.0.1 7001 master - 0-16383\n{Other} 127.0.0.1 7002 master -");
        Assert.Equal(200_000, _server.Execute(["ARSET", "foo", "0", .. Elements]).Integer);
    }

    public async ValueTask DisposeAsync()
    {
        await _server.DisposeAsync();
        _folder.Dispose();
    }

    // The slot's keys are removed in the background before the search goes on.
    [Fact]
    public void A_search_whose_slot_has_left_is_sent_elsewhere()
    {
        using var search = new SlicedCommand(_server.Engine, Search);
        Assert.True(search.RunSlice());
        GiveSlot();
        Assert.Equal($"-MOVED {Slot} {Elsewhere}", search.RunToEnd());
    }

    // Its keys stay.
    [Fact]
    public void A_search_whose_slot_no_node_has_is_refused()
    {
        using var search = new SlicedCommand(_server.Engine, Search);
        Assert.Equal("OK", _server.Execute("CLUSTER", "DELSLOTS", "12182").Text);
        Assert.Equal("-CLUSTERDOWN Hash slot not served", search.RunToEnd());
    }

    [Fact]
    public void A_search_whose_slot_is_being_given_is_refused()
    {
        using var search = new SlicedCommand(_server.Engine, Search);
        _server.Cluster!.Hold(SlotSet.Of([new SlotRange(Slot, Slot)]), closes: true);
        Assert.Equal("-TRYAGAIN The slot is being given to another node", search.RunToEnd());
        _server.Cluster.Hold(null);
    }

    // Key by key, as MIGRATE does.
    [Fact]
    public void A_search_whose_key_has_left_asks_there()
    {
        Assert.Equal("OK", _server.Execute("CLUSTER", "SETSLOT", "12182", "MIGRATING", Other).Text);
        using var search = new SlicedCommand(_server.Engine, Search);
        using var stays = new SlicedCommand(_server.Engine, Search);
        Assert.True(search.RunSlice());
        Assert.Equal(Found, stays.RunToEnd()!.ReplaceLineEndings(" "));
        Assert.Equal(1, _server.Execute("DEL", "foo").Integer);
        Assert.Equal($"-ASK {Slot} {Elsewhere}", search.RunToEnd());
    }

    [Fact]
    public void A_search_goes_on_where_its_slot_stays()
    {
        using var search = new SlicedCommand(_server.Engine, Search);
        Assert.True(search.RunSlice());
        SetNodes(2, $"{_id} 127.0.0.1 7001 master - 1-16383\n{Other} 127.0.0.1 7002 master - 0");
        Assert.Equal(Found, search.RunToEnd()!.ReplaceLineEndings(" "));
    }

    // A replica takes its primary's data in place of its own: for a moment the key is not there.
    [Fact]
    public void A_search_of_a_replica_that_loads_is_refused()
    {
        using var search = new SlicedCommand(_server.Engine, Search);
        _server.Engine.Attention.Set(ServerAttention.Loading, on: true);
        Assert.Equal("-LOADING Redis is loading the dataset in memory", search.RunToEnd());
        _server.Engine.Attention.Set(ServerAttention.Loading, on: false);
    }

    // At the destination of a slot that moves key by key. ASKING is for one command, which ends behind its last slice.
    [Theory]
    [InlineData("ARGREP", Found)]
    [InlineData("COPY", ":1")]
    public void A_client_that_asks_is_answered_behind_the_slices_too(string name, string reply)
    {
        GiveSlot();
        Assert.Equal("OK", _server.Execute("CLUSTER", "SETSLOT", "12182", "IMPORTING", Other).Text);
        using RedKiteSession session = _server.CreateSession();
        Assert.Equal("OK", session.Execute("ASKING").Text);
        Assert.Equal(200_000, session.Execute(["ARSET", "foo", "0", .. Elements]).Integer);
        Assert.Equal("OK", session.Execute("ASKING").Text);
        Assert.Equal(1, session.Execute("ARSET", "{foo}copy", "0", "before").Integer);
        using var command = new SlicedCommand(_server.Engine, name == "COPY" ? ["COPY", "foo", "{foo}copy", "REPLACE"] : Search, asks: true);
        Assert.Equal(reply, command.RunToEnd()!.ReplaceLineEndings(" "));
        Assert.StartsWith("MOVED", session.Execute("EXISTS", "foo").Text, StringComparison.Ordinal);
        Assert.Equal(SessionAttention.None, command.Client.Session.Attention & SessionAttention.Asks);
    }

    // The target may have the slot by then, and with it the only copy of the key: it is sent nothing more, and the key's removal here is no client's.
    [Theory]
    [InlineData("given")]
    [InlineData("held")]
    [InlineData("migrating")]
    public void A_migration_ends_when_its_slot_has_left(string how)
    {
        Assert.Equal("OK", _server.Execute("SET", "{foo}small", "value").Text);
        Assert.Equal(1, _server.Execute("DEL", "foo").Integer);
        Assert.Equal("OK", _server.Execute("CLUSTER", "SETSLOT", "12182", "MIGRATING", Other).Text);
        using var target = new HeldTarget { Script = static _ => "+OK\r\n", Holds = true, HeldName = "RESTORE-ASKING" };
        using var migrate = new SlicedCommand(_server.Engine, ["MIGRATE", "127.0.0.1", target.Port.ToString(CultureInfo.InvariantCulture), "{foo}small", "0", "60000"]);
        target.WaitUntilHeld();
        if (how == "given") GiveSlot();
        else if (how == "held") _server.Cluster!.Hold(SlotSet.Of([new SlotRange(Slot, Slot)]));
        if (how == "held") Assert.Equal("OK", _server.Execute("CLUSTER", "SETSLOT", "12182", "STABLE").Text);
        target.Holds = false;
        target.GoOn();
        string expected = how switch { "given" => $"-MOVED {Slot} {Elsewhere}", "held" => "-TRYAGAIN The slot is being given to another node", _ => "+OK" };
        Assert.Equal(expected, migrate.RunToEnd());
        Assert.Equal(["SELECT 0", "RESTORE-ASKING {foo}small"], target.Requests);
        Assert.Equal(how == "held" ? 1 : 0, _server.Engine.Keyspace.Databases[0].Count);
        _server.Cluster!.Hold(null);
    }

    private static IEnumerable<string> Elements => [.. Enumerable.Repeat("abcdefgh", 199_999), "needle"];

    // To the other node; its keys are removed here.
    private void GiveSlot()
    {
        SetNodes(2, $"{_id} 127.0.0.1 7001 master - 0-12181 12183-16383\n{Other} 127.0.0.1 7002 master - 12182");
        Assert.True(SpinWait.SpinUntil(() => _server.Engine.Keyspace.Databases[0].Count == 0, 60_000));
    }

    private void SetNodes(int version, string list) => Assert.Equal("OK", _server.Execute("CLUSTERX", "SETNODES", list, version.ToString(CultureInfo.InvariantCulture)).Text);
}
