using System.Collections.Concurrent;
using System.Globalization;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Migration;

/// <summary>A key moves again and again while clients add to it, and while clients that move it are killed: nothing that was acknowledged is lost.</summary>
public class MigrateStressTests
{
    private const int Writers = 2;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Nothing_that_was_added_is_lost(bool kills)
    {
        int rounds = TestScale.Of(gate: 40, full: 2000);
        await using LiveServer source = await LiveServer.StartAsync();
        await using LiveServer target = await LiveServer.StartAsync();
        using RespConnection arrived = RespConnection.Connect(target.Server.Port);
        var added = new ConcurrentBag<string>();
        using var end = new CancellationTokenSource();
        Task[] writers = [.. Enumerable.Range(0, Writers).Select(writer => Task.Factory.StartNew(() => Add(source, writer, added, end.Token), TaskCreationOptions.LongRunning))];
        int moved = 0;
        for (int round = 0; round < rounds; round++)
        {
            using RespConnection mover = RespConnection.Connect(source.Server.Port);
            long id = mover.Run("CLIENT ID").Number;
            mover.SendCommand($"MIGRATE 127.0.0.1 {target.Server.Port} k 0 60000");
            if (kills && round % 3 == 0) source.Run($"CLIENT KILL ID {id}");
            else if (mover.Read().Text == "OK") moved++;
            arrived.Run(string.Create(CultureInfo.InvariantCulture, $"RENAME k k:{round}")); // of a killed client, it may arrive later
        }

        await end.CancelAsync();
        await Task.WhenAll(writers);
        NetworkTests.WaitFor(() => source.Server.Parts.Migrations.Running == 0, "the end of all transfers");
        Assert.InRange(moved, rounds / 4, rounds);
        var found = new HashSet<string>(source.Run("SMEMBERS k").Items.Select(static item => item.Text!));
        foreach (RespValue key in arrived.Run("KEYS *").Items) found.UnionWith(arrived.Run("SMEMBERS " + key.Text).Items.Select(static item => item.Text!));
        Assert.InRange(added.Count, 1, int.MaxValue);
        Assert.Empty(added.Except(found));
        Assert.DoesNotContain(source.Server.Engine.Keyspace.Stripes, static stripe => stripe.HasWatches);
        Assert.False(source.Server.Engine.WriteGate.Waits);
        Assert.Null(source.Server.Failure);
    }

    private static void Add(LiveServer source, int writer, ConcurrentBag<string> added, CancellationToken end)
    {
        using RespConnection client = RespConnection.Connect(source.Server.Port);
        for (int i = 0; !end.IsCancellationRequested; i++)
        {
            string member = string.Create(CultureInfo.InvariantCulture, $"{writer}:{i}");
            if (client.Run("SADD k " + member).Number == 1) added.Add(member);
        }
    }
}
