using RedKite.Server.Model;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Acl;

/// <summary>A subscriber whose user may no longer have its channel is closed before the command that changed the user replies, although its loop is busy.</summary>
public class DeniedSubscriberTests : NetworkTests
{
    [Theory]
    [InlineData("SUBSCRIBE c", "ACL SETUSER ann resetchannels &other")]
    [InlineData("PSUBSCRIBE c*", "ACL SETUSER ann resetchannels &c")]
    [InlineData("SSUBSCRIBE c", "ACL SETUSER ann resetchannels")]
    [InlineData("SUBSCRIBE other c", "ACL SETUSER ann resetchannels &other")]
    [InlineData("SUBSCRIBE c", "CLIENT KILL USER ann")]
    public async Task Subscriber_of_a_busy_loop_is_gone_at_the_reply(string subscribe, string change)
    {
        await using RedKiteServer server = await StartAsync("sockets");
        (RespConnection control, RespConnection subscriber) = ConnectToBothLoops(server);
        using RespConnection one = control, other = subscriber;
        control.Run("ACL SETUSER ann on nopass ~* +@all allchannels").IsOk();
        subscriber.Run("AUTH ann word").IsOk();
        subscriber.Run("CLIENT SETNAME ann").IsOk();
        subscriber.Run(subscribe);
        if (subscribe.Contains(" other ", StringComparison.Ordinal)) subscriber.Read();
        Session session = server.Engine.Clients.All.Single(static client => client.Name == "ann");
        using var turn = new ManualResetEventSlim();
        session.Connection!.Loop.Post(turn.Wait);
        try
        {
            Assert.NotEqual('-', control.Run(change).Marker);
            Assert.DoesNotContain("name=ann", control.Run("CLIENT LIST").Text, StringComparison.Ordinal);
            control.Run($"CLIENT KILL ID {session.Id}").IsInteger(0);
            Assert.Contains("\r\nconnected_clients:1\r\n", control.Run("INFO clients").Text, StringComparison.Ordinal);
            Assert.Contains("\r\npubsub_clients:0\r\n", control.Run("INFO clients").Text, StringComparison.Ordinal);
            control.Run("PUBSUB NUMPAT").IsInteger(0);
            Assert.Empty(control.Run("PUBSUB CHANNELS").Items);
            Assert.Empty(control.Run("PUBSUB SHARDCHANNELS").Items);
            control.Run("PUBLISH c late").IsInteger(0);
            control.Run("SPUBLISH c late").IsInteger(0);
        }
        finally
        {
            turn.Set();
        }

        subscriber.Read().IsClosed();
        control.Run("PING").IsSimple("PONG");
        Assert.Equal(0, server.Engine.Messages.Clients);
        Assert.Null(server.Failure);
    }

    [Fact]
    public async Task What_was_published_before_is_delivered_and_nothing_afterwards()
    {
        await using RedKiteServer server = await StartAsync("sockets");
        (RespConnection control, RespConnection subscriber) = ConnectToBothLoops(server);
        using RespConnection one = control, other = subscriber;
        control.Run("ACL SETUSER ann on nopass ~* +@all allchannels").IsOk();
        subscriber.Run("AUTH ann word").IsOk();
        subscriber.Run("CLIENT SETNAME ann").IsOk();
        subscriber.Run("SUBSCRIBE c");
        subscriber.Run("SUBSCRIBE d");
        using RespConnection stays = RespConnection.Connect(server.Port); // keeps the channel's list
        stays.Run("SUBSCRIBE c");
        using var turn = new ManualResetEventSlim();
        server.Engine.Clients.All.Single(static client => client.Name == "ann").Connection!.Loop.Post(turn.Wait);
        control.Run("PUBLISH d early").IsInteger(1);
        control.Run("ACL SETUSER ann resetchannels").IsOk();
        control.Run("PUBLISH c late").IsInteger(1);
        control.Run("PUBLISH d late").IsInteger(0);
        turn.Set();
        subscriber.Read().IsArray("message", "d", "early");
        subscriber.Read().IsClosed();
        stays.Read().IsArray("message", "c", "late");
        Assert.Equal(1, server.Engine.Messages.Clients);
    }

    [Fact]
    public async Task Who_takes_its_own_channel_away_gets_that_reply_and_no_further_one()
    {
        await using LiveServer live = await LiveServer.StartAsync();
        live.Run("ACL SETUSER ann on nopass ~* +@all allchannels").IsOk();
        using RespConnection client = RespConnection.Connect(live.Server.Port);
        client.Run("HELLO 3 AUTH ann word");
        client.SendCommand("SUBSCRIBE c");
        client.Run("PING").IsSimple("PONG"); // behind the confirmation, a push message
        client.Send("ACL SETUSER ann resetchannels\r\nPING\r\n");
        client.Read().IsOk();
        client.Read().IsClosed();
    }

    [Fact]
    public async Task Clients_of_both_loops_that_take_channels_from_each_other_end_it()
    {
        await using RedKiteServer server = await StartAsync("sockets");
        (RespConnection control, RespConnection second) = ConnectToBothLoops(server);
        using RespConnection one = control, other = second;
        foreach (string name in (string[])["ann", "ben"]) control.Run($"ACL SETUSER {name} on nopass ~* +@all allchannels").IsOk();
        for (int round = 0; round < 20; round++)
        {
            List<RespConnection> subscribers = [];
            for (int i = 0; i < 4; i++)
            {
                var subscriber = RespConnection.Connect(server.Port);
                subscribers.Add(subscriber);
                subscriber.Run(i < 2 ? "AUTH ann word" : "AUTH ben word").IsOk();
                subscriber.Run("SUBSCRIBE c");
            }

            control.SendCommand("ACL SETUSER ann resetchannels");
            second.SendCommand("ACL SETUSER ben resetchannels");
            control.Read().IsOk();
            second.Read().IsOk();
            control.Run("PUBLISH c x").IsInteger(0);
            subscribers.ForEach(static subscriber => subscriber.Read().IsClosed());
            subscribers.ForEach(static subscriber => subscriber.Dispose());
            foreach (string name in (string[])["ann", "ben"]) control.Run($"ACL SETUSER {name} allchannels").IsOk();
        }

        Assert.Equal(0, server.Engine.Messages.Clients);
        Assert.Null(server.Failure);
    }
}
