using System.Diagnostics;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.PubSub;

/// <summary>Messages over several loops: their order, the end of subscriptions, slow subscribers.</summary>
public sealed class DeliveryOrderTests
{
    private const int Messages = 2000;

    // A message of 64 KiB takes a fraction of a millisecond to those who read.
    private static readonly TimeSpan QuickMax = TimeSpan.FromMilliseconds(100);

    // Four publishers on four loops: whatever the order is, it is the same for every subscriber, of the channel or of a pattern.
    [Fact]
    public async Task Every_subscriber_gets_a_channels_messages_in_the_same_order()
    {
        await using RedKiteServer server = await Start();
        RespConnection[] subscribers = [.. Enumerable.Range(0, 8).Select(_ => RespConnection.Connect(server.Port))];
        for (int i = 0; i < subscribers.Length; i++)
        {
            if (i == 3) subscribers[i].Run("HELLO 3");
            subscribers[i].SendCommand(i % 2 == 0 ? "SUBSCRIBE events" : "PSUBSCRIBE ev*ts");
            subscribers[i].ReadAny();
        }

        Parallel.For(0, 4, publisher =>
        {
            using RespConnection connection = RespConnection.Connect(server.Port);
            for (int i = 0; i < Messages; i++) connection.SendCommand($"PUBLISH events {publisher}:{i}");
            for (int i = 0; i < Messages; i++) Assert.Equal(8, connection.Read().Number);
        });

        string[] first = Received(subscribers[0]);
        Assert.Equal(4 * Messages, first.Length);
        for (int publisher = 0; publisher < 4; publisher++)
        {
            Assert.Equal(Enumerable.Range(0, Messages).Select(i => $"{publisher}:{i}"), first.Where(text => text[0] == '0' + publisher));
        }

        foreach (RespConnection subscriber in subscribers.Skip(1)) Assert.Equal(first, Received(subscriber));
        foreach (RespConnection subscriber in subscribers) subscriber.Dispose();

        static string[] Received(RespConnection subscriber) => [.. Enumerable.Range(0, 4 * Messages).Select(_ => subscriber.ReadAny().Items[^1].Text)];
    }

    // A client over RESP2 would take a message behind the confirmation for the reply to its next command.
    [Fact]
    public async Task Nothing_is_delivered_after_the_end_of_a_subscription_or_before_its_beginning()
    {
        await using RedKiteServer server = await Start();
        using var stop = new CancellationTokenSource();
        Task[] publishers = [.. Enumerable.Range(0, 3).Select(_ => Task.Run(() =>
        {
            using RespConnection connection = RespConnection.Connect(server.Port);
            while (!stop.IsCancellationRequested) connection.Run("PUBLISH events x");
        }))];
        Parallel.For(0, 4, _ =>
        {
            using RespConnection client = RespConnection.Connect(server.Port);
            for (int i = 0; i < 300; i++)
            {
                client.SendCommand("SUBSCRIBE events");
                Assert.Equal("subscribe", client.ReadAny().Items[0].Text);
                client.SendCommand("UNSUBSCRIBE");
                string kind;
                while ((kind = client.ReadAny().Items[0].Text) == "message")
                {
                }

                Assert.Equal("unsubscribe", kind);
                Assert.Equal("PONG", client.Run("PING").Text);
            }
        });
        await stop.CancelAsync();
        await Task.WhenAll(publishers);
    }

    [Fact]
    public Task A_slow_subscriber_is_closed_at_its_limit_and_delays_no_other() => TestScale.IsLong ? QuietMachine.TryAsync(CloseSlowSubscriber) : CloseSlowSubscriber();

    private static async Task CloseSlowSubscriber()
    {
        await using RedKiteServer server = await Start("client-output-buffer-limit", "pubsub 4194304 0 0");
        using RespConnection slow = RespConnection.Connect(server.Port);
        using RespConnection quick = RespConnection.Connect(server.Port);
        slow.Run("SUBSCRIBE events");
        quick.Run("SUBSCRIBE events");
        using RespConnection publisher = RespConnection.Connect(server.Port);
        string text = new('x', 64 * 1024);
        publisher.Run("PUBLISH events first").IsInteger(2); // warms up the code
        quick.ReadAny();
        long receivers = 2;
        int published = 0;
        TimeSpan longest = TimeSpan.Zero;
        while (receivers == 2 && published < 2000)
        {
            long start = Stopwatch.GetTimestamp();
            receivers = publisher.Run($"PUBLISH events {published++}:{text}").Number;
            Assert.StartsWith($"{published - 1}:", quick.ReadAny().Items[2].Text, StringComparison.Ordinal);
            TimeSpan elapsed = Stopwatch.GetElapsedTime(start);
            if (elapsed > longest) longest = elapsed;
        }

        Assert.Equal(1, receivers);
        if (TestScale.IsLong) Assert.InRange(longest, TimeSpan.Zero, QuickMax);
        string info = publisher.Run("INFO stats").Text;
        Assert.Contains("client_output_buffer_limit_disconnections:1", info, StringComparison.Ordinal);
        Assert.Contains("pubsub_channels:1", info, StringComparison.Ordinal);
        Assert.True(slow.ReadUntilQuiet(100, expectClose: true).Closed);
    }

    // Memory of messages returns once they are delivered and the subscribers are gone.
    [Fact]
    public async Task Messages_leave_no_memory_behind()
    {
        await using RedKiteServer server = await Start();
        using RespConnection publisher = RespConnection.Connect(server.Port);
        for (int round = 0; round < 20; round++)
        {
            using RespConnection a = RespConnection.Connect(server.Port);
            using RespConnection b = RespConnection.Connect(server.Port);
            a.Run("SUBSCRIBE events");
            b.Run("HELLO 3");
            b.SendCommand("PSUBSCRIBE *");
            b.ReadAny();
            for (int i = 1; i < 200; i++) publisher.SendCommand($"PUBLISH events {new string('x', i * 20)}");
            for (int i = 1; i < 200; i++) publisher.Read();
            for (int i = 1; i < 200; i++)
            {
                Assert.Equal(i * 20, a.ReadAny().Items[^1].Text.Length);
                Assert.Equal(i * 20, b.ReadAny().Items[^1].Text.Length);
            }
        }

        long used = long.MaxValue;
        for (int i = 0; i < 100 && used > 0; i++)
        {
            Thread.Sleep(100);
            used = server.Engine.Buffers.UsedBytes;
        }

        Assert.Equal(0, used);
    }

    [Fact]
    public async Task The_number_of_subscriptions_is_limited()
    {
        await using RedKiteServer server = await Start("max-subscriptions-per-client", "3");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.SendCommand("SUBSCRIBE a b");
        client.Read();
        client.Read();
        Assert.Equal("ERR too many subscriptions, max-subscriptions-per-client is 3", client.Run("PSUBSCRIBE c d").Text);
        Assert.Equal(3, client.Run("PSUBSCRIBE c").Items[2].Number);
        Assert.Equal(3, client.Run("SUBSCRIBE a").Items[2].Number);
        Assert.True(client.Run("SSUBSCRIBE x").IsError);
        Assert.Equal("2", client.Run("UNSUBSCRIBE a").Items[2].Number.ToString(CultureInfo.InvariantCulture));
        Assert.Equal(1, client.Run("SSUBSCRIBE x").Items[2].Number);
    }

    // Messages that are never read would accumulate.
    [Fact]
    public async Task Callers_in_the_process_publish_but_do_not_subscribe()
    {
        await using RedKiteServer server = await Start();
        using RespConnection subscriber = RespConnection.Connect(server.Port);
        subscriber.Run("SUBSCRIBE events");
        using RedKiteSession client = server.CreateSession();
        Assert.Equal("ERR SUBSCRIBE needs a connection", client.Execute("SUBSCRIBE", "events").Text);
        Assert.Equal(1, client.Execute("PUBLISH", "events", "x").Integer);
        Assert.Equal("x", subscriber.ReadAny().Items[2].Text);
    }

    private static Task<RedKiteServer> Start(params string[] settings)
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Settings["loops"] = "4";
        for (int i = 0; i < settings.Length; i += 2) options.Settings[settings[i]] = settings[i + 1];
        return RedKiteServer.StartAsync(options);
    }
}
