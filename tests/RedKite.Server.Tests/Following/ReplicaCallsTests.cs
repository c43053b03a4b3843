using RedKite.Server.Replication;
using RedKite.Server.Tests.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>Calls in a replica's own process: they read what it has, and write as little as its clients do.</summary>
public class ReplicaCallsTests
{
    [Fact]
    public async Task Writes_of_the_typed_client_are_refused_while_the_server_is_a_replica()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        await using ReplicatedServer replica = await ReplicatedServer.StartAsync();
        RedKiteClient client = replica.Server.CreateClient();
        client.Set("own", "value"); // by the short path
        replica.Client.Run($"REPLICAOF 127.0.0.1 {primary.Server.Port}").IsOk();
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the link");
        primary.Client.Run("SET key value").IsOk();
        replica.WaitFor(() => client.GetString("key") == "value", "the write");
        Assert.Null(client.GetString("own"));
        foreach (Action write in (Action[])[() => client.Set("key", "other"), () => client.Increment("n"), () => client.HashSet("h", "field", "value"), () => client.Delete("key")])
        {
            Assert.Equal("READONLY You can't write against a read only replica.", Assert.Throws<RedKiteException>(write).Message);
        }

        replica.Client.Run("CONFIG SET replica-read-only no").IsOk();
        client.Set("own", "value");
        replica.Client.Run("CONFIG SET replica-read-only yes").IsOk();
        Assert.Throws<RedKiteException>(() => client.Set("own", "other"));
        replica.Client.Run("REPLICAOF NO ONE").IsOk();
        client.Set("key", "other");
        Assert.Equal("other", client.GetString("key"));
        Assert.Equal("value", primary.Client.Run("GET key").Text);
    }
}
