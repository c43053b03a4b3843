using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Structures;
using RedKite.Store.Values;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values;

/// <summary>Large values that go, in each way, on guarded memory: what is freed at once is counted in blocks.</summary>
public sealed class ReleasedValuesTests
{
    // Eight, and what cannot be cut: a bucket's chain, or the nodes in a leaf of a stream's tree, which are 64.
    private const int BlocksPerStepMost = 80;

    private static readonly string[] Values = ["hash", "set", "sorted set", "list", "stream"];

    public static TheoryData<string, string> ValuesAndWays
    {
        get
        {
            var all = new TheoryData<string, string>();
            foreach (string value in Values)
            {
                foreach (string way in new[] { "remove", "overwrite", "rename", "clear", "expire" }) all.Add(value, way);
            }

            return all;
        }
    }

    [Theory]
    [MemberData(nameof(ValuesAndWays))]
    public void A_large_value_goes_in_small_steps(string value, string way)
    {
        using var world = new World();
        world.Write(value);
        int blocks = world.Blocks;
        world.LetGo(way);

        // A command itself frees a slice at most, and nothing of what goes with many others.
        int atOnce = blocks - world.Blocks;
        Assert.InRange(atOnce, 0, way == "clear" ? 0 : FreeingSlice.StepsMax * BlocksPerStepMost);
        Assert.True(world.Stripe.HasDropped);

        int steps = 0;
        for (bool more = true; more; steps++)
        {
            int before = world.Blocks;
            more = world.Stripe.FreeDroppedStep();
            Assert.InRange(before - world.Blocks, 0, BlocksPerStepMost);
        }

        Assert.InRange(steps, (blocks - atOnce) / BlocksPerStepMost, blocks);
        Assert.Equal(way is "overwrite" or "rename" ? 1 : 0, world.Blocks);
        world.Store.CheckGuards();
    }

    [Theory]
    [InlineData("hash")]
    [InlineData("set")]
    [InlineData("sorted set")]
    [InlineData("list")]
    [InlineData("stream")]
    public void A_slice_has_so_many_steps_at_most(string value)
    {
        using var world = new World();
        world.Write(value);
        world.LetGo("clear");
        bool more = true;
        for (int slices = 0; more; slices++)
        {
            int before = world.Blocks;
            more = world.Stripe.FreeDroppedSlice();
            Assert.InRange(before - world.Blocks, 0, FreeingSlice.StepsMax * BlocksPerStepMost);
            Assert.InRange(slices, 0, 100_000);
        }

        Assert.Equal(0, world.Blocks);
    }

    [Fact]
    public void A_small_structure_goes_with_its_entry()
    {
        using var world = new World();
        world.Write("hash", elements: 5);
        world.LetGo("remove");
        Assert.Equal(0, world.Blocks);
        Assert.False(world.Stripe.HasDropped);
    }

    private sealed class World : IDisposable
    {
        private static readonly byte[] Key = "large"u8.ToArray();

        private readonly ulong _hash;

        internal World()
        {
            Store = new KeyStore(1, 1, guarded: true);
            _hash = Store.Hash(Key);
        }

        internal KeyStore Store { get; }

        internal Stripe Stripe => Store.Stripes[0];

        internal int Blocks => Stripe.Guard!.LiveBlocks;

        private Database Database => Store.Databases[0];

        private Entry Entry => Database.Find(Key, _hash, 0);

        internal void Write(string value, int elements = 20_000)
        {
            for (int i = 0; i < elements; i++)
            {
                byte[] element = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"element:{i * 48_271L % 899_999_963}"));
                switch (value)
                {
                    case "hash": AddField(element); break;
                    case "set": AddMember(element); break;
                    case "sorted set": AddScored(element, i * 7 % elements); break;
                    case "list": Push(element); break;
                    default: Append(i + 1, element); break;
                }
            }

            if (value == "stream") AddPending(elements / 10);
        }

        internal void LetGo(string way)
        {
            byte[] other = "other"u8.ToArray();
            switch (way)
            {
                case "remove": Database.Remove(Entry); break;
                case "overwrite": Database.WriteString(Key, _hash, Entry, 5, ValueEncoding.Raw, Database.NoExpiry, 0).Value.Clear(); break;
                case "clear": Database.Clear(); break;
                case "rename":
                    Database.WriteString(other, Store.Hash(other), default, 5, ValueEncoding.Raw, Database.NoExpiry, 0).Value.Clear();
                    Database.Rename(Database.Find(other, Store.Hash(other), 0), Key, _hash, Entry);
                    break;
                default:
                    Database.WriteExpiry(Entry, 1_000);
                    Assert.True(new BackgroundSweep(Store, 0, 1).Run(2_000, deadline: 0, expire: true));
                    break;
            }
        }

        public void Dispose() => Store.Dispose(); // throws for a leak

        private void AddField(byte[] field)
        {
            HashValue hash = Entry.Exists ? HashValue.Open(Database, Entry, 0) : HashValue.Create(Database, Key, _hash, 0, 0);
            hash.Set(field, "value"u8, new HashLimits(4, 8));
        }

        private void AddMember(byte[] member)
        {
            var limits = new SetLimits(IntegersMax: 4, PackedMax: 4, PackedBytesMax: 8);
            SetValue set = Entry.Exists ? SetValue.Open(Database, Entry, limits) : SetValue.Create(Database, Key, _hash, 0, member, 1, limits);
            set.Add(member);
        }

        private void AddScored(byte[] member, double score)
        {
            SortedSetValue set = Entry.Exists ? new SortedSetValue(Database, Entry) : SortedSetValue.Create(Database, Key, _hash, Entry, packed: false, 0);
            set.Set(member, score, SortedSetRule.Always, new SortedSetLimits(4, 8), out _);
        }

        private void Push(byte[] element)
        {
            var limits = new ListLimits(16, 0);
            ListValue list = Entry.Exists ? new ListValue(Database, Entry, limits) : ListValue.Create(Database, Key, _hash, limits, 0);
            list.PrepareFor(element.Length, 1);
            list.PushLast(element);
        }

        private void Append(int id, byte[] text)
        {
            StreamValue stream = Entry.Exists
                ? StreamValue.Of(Database, Entry)
                : StreamValue.Create(Database, Database.WriteValue(Key, _hash, default, DataType.Stream, ValueEncoding.Stream, ValueRoot.Bytes, Database.NoExpiry, 0));
            StreamAppender added = stream.Append(new StreamId((ulong)id, 0), 1, text.Length + 1, 4096, 10);
            added.Name("f"u8);
            added.Pair("f"u8, text);
            added.End();
        }

        private void AddPending(int entries)
        {
            StreamValue stream = StreamValue.Of(Database, Entry);
            Assert.True(stream.TryCreateGroup("group"u8, default, 0));
            StreamGroup group = stream.FindGroup("group"u8);
            StreamConsumer consumer = group.FindOrCreateConsumer("consumer"u8, 0, out _);
            for (int i = 1; i <= entries; i++) group.AddPending(new StreamId((ulong)i, 0), consumer, 0, 1);
        }
    }
}
