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

        RedKiteReply executed = session.Execute("EXEC");
        return executed.IsError ? executed.Text! : string.Join(' ', executed.Items.Select(static item => item.Text ?? item.Integer.ToString(System.Globalization.CultureInfo.InvariantCulture)));
    }
}
