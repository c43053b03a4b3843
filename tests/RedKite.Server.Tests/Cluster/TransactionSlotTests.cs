using RedKite.Server.Cluster;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Transactions whose slot is about to go, or goes, between two of their commands.</summary>
public sealed class TransactionSlotTests : IAsyncLifetime
{
    private const int Slot = 12182; // of "foo"
    private static readonly string Other = new('b', 40);

    private readonly TemporaryFolder _folder = new();
    private RedKiteServer _server = null!;
    private Action _between = static () => { };

    public async ValueTask InitializeAsync()
    {
        Directory.CreateDirectory(_folder.Path);
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("cluster-enabled", "yes"), ("dir", _folder.Path), ("save", ""), ("diagnostics", "no")]) options.Settings[setting] = value;
        options.Commands.Add("T.BETWEEN", ([RedKiteKey] string key) => Task.Run(_between).Wait());
        _server = await RedKiteServer.StartAsync(options);
        string nodes = $"{_server.Execute("CLUSTER", "MYID").Text} 127.0.0.1 7001 master - 0-16383\n{Other} 127.0.0.1 7002 master -";
        Assert.Equal("OK", _server.Execute("CLUSTERX", "SETNODES", nodes, "1").Text);
    }

    public async ValueTask DisposeAsync()
    {
        await _server.DisposeAsync();
        _folder.Dispose();
    }

    // What gives the slot waits for the transaction's stripes before it sends the last of the slot's data.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void A_transaction_whose_slot_is_held_meanwhile_is_executed_whole(bool closes)
    {
        _between = () => _server.Cluster!.Hold(SlotSet.Of([new SlotRange(Slot, Slot)]), closes);
        Assert.Equal("1 OK 1 1", Execute());
        _server.Cluster!.Hold(null);
        Assert.Equal("1", _server.Execute("GET", "{foo}b").Text);
    }

    // Nothing of it is acknowledged; but the node may serve again, with half of it otherwise.
    [Fact]
    public void A_transaction_that_outlives_the_right_to_serve_is_executed_whole()
    {
        SlotRouting up = _server.Engine.Routing.Value!;
        _between = () => _server.Engine.Routing.Use(up.WhenDown);
        Assert.Equal("1 OK 1 1", Execute());
        Assert.StartsWith("CLUSTERDOWN", Execute(), StringComparison.Ordinal);
        _server.Engine.Routing.Use(up);
        Assert.Equal("1", _server.Execute("GET", "{foo}b").Text);
    }

    // A tool may move its keys only when it is answered, which waits for the transaction.
    [Fact]
    public void A_transaction_whose_slot_begins_to_move_key_by_key_is_executed_whole()
    {
        _between = () => Assert.Null(_server.Cluster!.ChangeHere(static state => (state.WithMigrating(Slot, Other), null)));
        Assert.Equal("1 OK 1 1", Execute());
        Assert.StartsWith("ASK 12182", Execute(), StringComparison.Ordinal); // what is queued is looked at
    }

    [Fact]
    public void A_transaction_that_removes_a_key_of_a_slot_that_moves_key_by_key_is_executed_whole()
    {
        Assert.Equal("OK", _server.Execute("SET", "{foo}a", "1").Text);
        Assert.Equal("OK", _server.Execute("CLUSTER", "SETSLOT", "12182", "MIGRATING", Other).Text);
        _between = () => Assert.Null(_server.Cluster!.ChangeHere(static state => (state, null)));
        using RedKiteSession session = _server.CreateSession();
        foreach (string command in (string[])["MULTI", "DEL {foo}a", "T.BETWEEN {foo}a", "INCR {foo}a"]) Assert.False(session.Execute(command.Split(' ')).IsError);
        Assert.Equal("1 OK 1", Joined(session.Execute("EXEC")));
    }

    // As a transaction is: by what is decided while it executes, it would end with half of its effects.
    [Theory]
    [InlineData("down")]
    [InlineData("migrating")]
    public void A_script_is_executed_whole_whatever_begins_meanwhile(string what)
    {
        SlotRouting up = _server.Engine.Routing.Value!;
        _between = what == "down" ? () => _server.Engine.Routing.Use(up.WhenDown) : () => Assert.Null(_server.Cluster!.ChangeHere(static state => (state.WithMigrating(Slot, Other), null)));
        const string Script = "redis.call('INCR', '{foo}a') redis.call('T.BETWEEN', '{foo}') return redis.call('INCR', '{foo}b')";
        Assert.Equal(1, _server.Execute("EVAL", Script, "1", "{foo}a").Integer);
        _server.Engine.Routing.Use(up);
        Assert.Equal("1", _server.Execute("GET", "{foo}b").Text);
    }

    // It is a part of the transaction, by whose admission it goes.
    [Theory]
    [InlineData("held")]
    [InlineData("closed")]
    [InlineData("down")]
    [InlineData("migrating")]
    public void A_script_in_a_transaction_is_executed_whole_whatever_began_before_it(string what)
    {
        SlotRouting up = _server.Engine.Routing.Value!;
        _between = what switch
        {
            "down" => () => _server.Engine.Routing.Use(up.WhenDown),
            "migrating" => () => Assert.Null(_server.Cluster!.ChangeHere(static state => (state.WithMigrating(Slot, Other), null))),
            _ => () => _server.Cluster!.Hold(SlotSet.Of([new SlotRange(Slot, Slot)]), what == "closed"),
        };
        Assert.Equal("1 OK 1", ExecuteWithScript());
    }

    // The right to serve has ended, and the slot has another owner, which may serve it already.
    [Fact]
    public void What_is_executed_without_the_right_to_serve_is_not_about_a_slot_that_has_gone()
    {
        SlotRouting up = _server.Engine.Routing.Value!;
        _between = () =>
        {
            Assert.Null(_server.Cluster!.ChangeHere(state => (state.With(state.Topology.WithOwner([Slot], Other)), null)));
            _server.Engine.Routing.Use(_server.Engine.Routing.Value!.WhenDown);
        };
        Assert.StartsWith("1 OK CLUSTERDOWN", Execute(), StringComparison.Ordinal);
        _server.Engine.Routing.Use(up);
        const string Script = "redis.call('INCR', '{foo}a') redis.call('T.BETWEEN', '{foo}') return redis.call('INCR', '{foo}b')";
        Assert.Contains("while the cluster is down", _server.Execute("EVAL", Script, "1", "{foo}a").Text, StringComparison.Ordinal);
    }

    // What it has not used before may have moved already: it has no lock on the slot's keys.
    [Fact]
    public void A_script_that_first_uses_a_slot_that_has_begun_to_move_is_refused()
    {
        _between = () => Assert.Null(_server.Cluster!.ChangeHere(static state => (state.WithMigrating(Slot, Other), null)));
        const string Script = "#!lua flags=allow-cross-slot-keys\nredis.call('T.BETWEEN', 'bar') return redis.call('INCR', '{foo}b')";
        Assert.Contains("access a non local key", _server.Execute("EVAL", Script, "0").Text, StringComparison.Ordinal);
    }

    [Fact]
    public void A_command_of_a_transaction_whose_slot_has_gone_is_not_executed()
    {
        _between = () => Assert.Null(_server.Cluster!.ChangeHere(state => (state.With(state.Topology.WithOwner([Slot], Other)), null)));
        const string Moved = "MOVED 12182 127.0.0.1:7002";
        Assert.Equal($"1 OK {Moved} {Moved}", Execute());
    }

    private string Execute()
    {
        using RedKiteSession session = _server.CreateSession();
        foreach (string command in (string[])["MULTI", "INCR {foo}a", "T.BETWEEN {foo}", "INCR {foo}b", "GET {foo}b"])
        {
            RedKiteReply reply = session.Execute(command.Split(' '));
            if (reply.IsError) return reply.Text!;
        }

        return Joined(session.Execute("EXEC"));
    }

    private string ExecuteWithScript()
    {
        using RedKiteSession session = _server.CreateSession();
        foreach (string command in (string[])["MULTI", "INCR {foo}a", "T.BETWEEN {foo}"]) Assert.False(session.Execute(command.Split(' ')).IsError);
        Assert.False(session.Execute("EVAL", "return redis.call('INCR', KEYS[1])", "1", "{foo}b").IsError);
        return Joined(session.Execute("EXEC"));
    }

    private static string Joined(RedKiteReply executed) =>
        executed.IsError ? executed.Text! : string.Join(' ', executed.Items.Select(static item => item.Text ?? item.Integer.ToString(System.Globalization.CultureInfo.InvariantCulture)));
}
