using System.Globalization;
using System.Text;
using RedKite.Server.Changes;
using RedKite.Server.Durability;
using RedKite.Server.Tests.Changes;
using RedKite.Server.Tests.Durability;
using RedKite.Server.Tests.Following;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution;

/// <summary>A server that keeps keys by their slots has the same data as another one, and its effects carry their slots.</summary>
public class SlotTests
{
    [Fact]
    public async Task Effects_name_their_slots_and_a_server_without_slots_loads_the_data()
    {
        var clock = new ManualClock();
        await using RedKiteServer with = await StartAsync(usesSlots: true, clock);
        var effects = new EffectSlots();
        with.Engine.Changes.SubscribeToEffects(effects);
        using (RedKiteSession session = with.CreateSession())
        {
            new RandomWrites(20261128, words => session.Execute(words)).Run(1500);
            session.Execute("SELECT", "0");
            session.Execute("MSET", "{t}a", "1", "{t}b", "2", "{t}c", "3");
            session.Execute("SET", "{t}e", "1", "EX", "100");
        }

        Assert.Empty(effects.Mistakes);
        using (var snapshot = new SteppedSnapshot(with, clock))
        {
            snapshot.RunToEnd();
            await snapshot.AssertHoldsDataOfSnapshotPointAsync();
        }

        Assert.True(effects.Seen > 500, $"{effects.Seen} effects");
        int slot = KeySlot.Of("t"u8);
        Assert.Equal(4, SlotWalk.Count(with.Engine.Keyspace, with.Engine.Keyspace.Databases[0], new SlotRange(slot, slot)));
        Assert.Equal(0, SlotWalk.Count(with.Engine.Keyspace, with.Engine.Keyspace.Databases[0], new SlotRange(slot + 1, slot + 1)));
        Database data = with.Engine.Keyspace.Databases[0];
        for (int each = 0; each < KeySlot.Count; each++)
        {
            if (data.CountOfSlot(each) > 0 || each % 500 == 0) Assert.Equal(SlotWalk.Count(with.Engine.Keyspace, data, new SlotRange(each, each)), data.CountOfSlot(each));
        }

        Assert.Equal(data.Count, Enumerable.Range(0, KeySlot.Count).Sum(data.CountOfSlot));
        Assert.Equal(with.Execute("DBSIZE").Integer, SlotWalk.Count(with.Engine.Keyspace, with.Engine.Keyspace.Databases[0], new SlotRange(0, KeySlot.Count - 1)));
    }

    [Fact]
    public async Task Requests_that_are_logged_together_are_of_one_slot()
    {
        await using RedKiteServer server = await StartAsync(usesSlots: true);
        var runs = new EffectSlots { TakesRequests = true };
        server.Engine.Changes.SubscribeToEffects(runs);
        using RespConnection connection = RespConnection.Connect(server.Port);
        var pipeline = new StringBuilder();
        string[] tags = ["a", "a", "a", SameStripe("a"), "a", "b", "b"]; // neighbours of one stripe are one run only if the slot is the same
        for (int i = 0; i < tags.Length; i++) pipeline.Append(CultureInfo.InvariantCulture, $"*3\r\n$3\r\nSET\r\n${tags[i].Length + 3}\r\n{{{tags[i]}}}{i}\r\n$1\r\n1\r\n");
        connection.Send(pipeline.ToString());
        for (int i = 0; i < tags.Length; i++) connection.Read().IsOk();
        Assert.Empty(runs.Mistakes);
        Assert.Equal(7, runs.Seen);
        Assert.True(runs.Runs >= 4, $"{runs.Runs} runs"); // a a a, the other slot, a, b b: or more, if they arrived in pieces
    }

    [Fact]
    public async Task A_snapshot_of_some_slots_has_their_keys()
    {
        var clock = new ManualClock();
        await using RedKiteServer server = await StartAsync(usesSlots: true, clock);
        using RedKiteSession session = server.CreateSession();
        for (int i = 0; i < 500; i++) session.Execute("SET", $"key{i}", "value");
        var slots = new SlotRange(3000, 9000);
        Dictionary<string, string>[] expected = ValueMirror.DataOf(server.Engine.Keyspace, (_, key) => slots.Contains(KeySlot.Of(key)));
        Assert.InRange(expected[0].Count, 50, 400);
        using var snapshot = new SteppedSnapshot(server, clock, SnapshotRange.Of(slots));
        for (int i = 0; snapshot.Step(); i++) session.Execute("SET", $"key{i % 500}", "later");
        await using RedKiteServer loaded = await snapshot.LoadAsync();
        Assert.Equal(expected[0].OrderBy(static pair => pair.Key), ValueMirror.DataOf(loaded.Engine.Keyspace, static (_, _) => true)[0].OrderBy(static pair => pair.Key));
    }

    // A tag of another slot in the same stripe.
    private static string SameStripe(string tag)
    {
        int slot = KeySlot.Of(Encoding.ASCII.GetBytes(tag));
        for (int i = 0; ; i++)
        {
            string other = i.ToString(CultureInfo.InvariantCulture);
            int found = KeySlot.Of(Encoding.ASCII.GetBytes(other));
            if (found != slot && found % StripeSet.StripesMax == slot % StripeSet.StripesMax) return other;
        }
    }

    private static async Task<RedKiteServer> StartAsync(bool usesSlots, ManualClock? clock = null)
    {
        var options = new RedKiteOptions { Port = 0, UsesSlots = usesSlots, TimeProvider = clock ?? new ManualClock() };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("save", ""), ("diagnostics", "no"), ("enable-debug-command", "yes")]) options.Settings[name] = value;
        return await RedKiteServer.StartAsync(options);
    }

    // Compares the slot of each effect with that of its key.
    private sealed class EffectSlots : IEffectConsumer
    {
        public bool TakesRequests { get; init; }

        internal List<string> Mistakes { get; } = [];

        internal int Seen { get; private set; }

        internal int Runs { get; private set; }

        public void Published(scoped in EffectRecord record)
        {
            bool isOne = true;
            for (int i = 0; i < record.Count; i++)
            {
                EffectCommand command = record[i];
                var text = new MemoryStream();
                foreach (ReadOnlySpan<byte> part in command) text.Write(part);
                Check(command.Slot, Words(text.ToArray())[0]);
                isOne &= command.Slot == record[0].Slot;
            }

            if (record.Slot != (isOne ? record[0].Slot : KeySlot.None)) Mistakes.Add($"slot {record.Slot} of {record.Count} commands");
        }

        public void PublishedRequests(int database, int slot, ReadOnlySpan<byte> requests)
        {
            Runs++;
            foreach (string[] words in Words(requests)) Check(slot, words);
        }

        private void Check(int slot, string[] words)
        {
            Seen++;
            string? key = words[0].ToUpperInvariant() switch
            {
                "FUNCTION" or "SELECT" => null,
                "XGROUP" => words[2],
                "BITOP" => words[2],
                _ => words[1],
            };
            if (slot != (key is null ? KeySlot.None : KeySlot.Of(Encoding.Latin1.GetBytes(key)))) Mistakes.Add($"slot {slot}: {string.Join(' ', words)}");
        }

        private static List<string[]> Words(ReadOnlySpan<byte> requests)
        {
            string[] lines = Encoding.Latin1.GetString(requests).Split("\r\n");
            List<string[]> all = [];
            for (int at = 0; at < lines.Length - 1;)
            {
                int count = int.Parse(lines[at][1..], CultureInfo.InvariantCulture);
                all.Add([.. Enumerable.Range(0, count).Select(i => lines[at + 2 + (2 * i)])]);
                at += 1 + (2 * count);
            }

            return all;
        }
    }
}
