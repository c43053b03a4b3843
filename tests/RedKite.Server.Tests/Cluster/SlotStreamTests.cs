using System.Text;
using RedKite.Server.SlotMoves;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Cluster;

/// <summary>The effects on some slots: no others, units as a whole, and no more than may wait.</summary>
public sealed class SlotStreamTests
{
    private const int BytesMax = 1000;

    [Fact]
    public async Task Effects_on_the_slots_are_kept_in_order_and_units_stay_whole()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { UsesSlots = true }, TestContext.Current.CancellationToken);
        int slot = KeySlot.Of("a"u8);
        var stream = new SlotStream(SlotSet.Of([new SlotRange(slot, slot)]), BytesMax);
        server.Engine.Changes.SubscribeToEffects(stream);
        using RedKiteSession session = server.CreateSession();
        session.Execute("SET", "a", "1");
        session.Execute("SET", "b", "1");
        Unit(["SET", "a", "2"], ["SET", "b", "2"], ["APPEND", "a", "3"]);
        Unit(["SET", "b", "4"], ["SET", "a", "5"]);
        session.Execute("FLUSHALL");
        Assert.Equal("SELECT 0|SET a 1|MULTI|SET a 2|APPEND a 3|EXEC|SET a 5|", Taken(stream));
        session.Execute("SELECT", "3");
        session.Execute("SET", "a", "6");
        Unit(["SET", "a", "7"], ["SELECT", "0"], ["SET", "a", "8"], ["SET", "a", "9"]);
        Assert.Equal("SELECT 3|SET a 6|MULTI|SET a 7|SELECT 0|SET a 8|SET a 9|EXEC|", Taken(stream));
        Assert.Equal(0, stream.WaitingBytes);

        for (int i = 0; i < 100; i++) session.Execute("SET", "a", new string('x', 100));
        Assert.True(stream.IsOver);
        Assert.InRange(stream.WaitingBytes, 1, BytesMax);
        server.Engine.Changes.UnsubscribeFromEffects(stream);

        void Unit(params string[][] commands)
        {
            session.Execute("MULTI");
            foreach (string[] command in commands) session.Execute(command);
            session.Execute("EXEC");
        }
    }

    private static string Taken(SlotStream stream)
    {
        var text = new StringBuilder();
        while (stream.Take(out byte[] chunk) is > 0 and int bytes)
        {
            text.Append(Encoding.Latin1.GetString(chunk, 0, bytes));
            SlotStream.Return(chunk);
        }

        var commands = new StringBuilder();
        string[] lines = text.ToString().Split("\r\n");
        for (int i = 0; i < lines.Length - 1;)
        {
            int count = int.Parse(lines[i][1..], System.Globalization.CultureInfo.InvariantCulture);
            commands.AppendJoin(' ', Enumerable.Range(0, count).Select(n => lines[i + 2 + (2 * n)])).Append('|');
            i += 1 + (2 * count);
        }

        return commands.ToString();
    }
}
