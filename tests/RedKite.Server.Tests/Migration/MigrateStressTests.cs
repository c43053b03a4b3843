using System.Collections.Concurrent;
using System.Globalization;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Migration;

/// <summary>A key moves again and again while clients add to it, and while clients that move it are killed: nothing that was acknowledged is lost.</summary>
public class MigrateStressTests
{
    private const int Writers = 2;
    private const string Moved = "OK";
    private const string ChangesTooOften = "IOERR a key changes too often to be removed after it was sent, so it stays here";

    // The transfer of a killed client has taken the key, or has brought it to the target after the last one there was renamed.
    private static readonly string[] MovedByAnother = ["NOKEY", "ERR Target instance replied with error: BUSYKEY Target key name already exists."];

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
        for (int round = 0; round < rounds; round++)
        {
            // In every third round nothing is on its way, so the key is here when it is moved, however slow the machine is.
            bool isAlone = round % 3 == 2;
            if (isAlone)
            {
                NetworkTests.WaitFor(() => source.Server.Parts.Migrations.Running == 0 && source.Run("EXISTS k").Number == 1, "the end of all transfers, and a new key");
                arrived.Run(string.Create(CultureInfo.InvariantCulture, $"RENAME k k:late:{round}"));
            }

            using RespConnection mover = RespConnection.Connect(source.Server.Port);
            long id = mover.Run("CLIENT ID").Number;
            mover.SendCommand($"MIGRATE 127.0.0.1 {target.Server.Port} k 0 60000");
            if (kills && round % 3 == 0) source.Run($"CLIENT KILL ID {id}");
            else Assert.Contains(mover.Read().Text, isAlone ? [Moved, ChangesTooOften] : (string[])[Moved, ChangesTooOften, .. MovedByAnother]);
            arrived.Run(string.Create(CultureInfo.InvariantCulture, $"RENAME k k:{round}")); // of a killed client, it may arrive later
        }

        await end.CancelAsync();
        await Task.WhenAll(writers);
        NetworkTests.WaitFor(() => source.Server.Parts.Migrations.Running == 0, "the end of all transfers");
        arrived.Run("RENAME k k:late");
        source.Run("SADD k last").IsInteger(1);
        added.Add("last");
        source.Run($"MIGRATE 127.0.0.1 {target.Server.Port} k 0 60000").IsOk(); // nothing is left of the others
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
