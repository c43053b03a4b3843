using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using RedKite.Store.Values.Streams;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values;

/// <summary>Removing large values in each way, on guarded memory: immediate freeing is counted in blocks.</summary>
public sealed class ReleasedValuesTests
{
    // Eight, or an indivisible group: a bucket's chain, or the 64 nodes in a leaf of a stream's tree.
    private const int BlocksPerStepMax = 80;

    private static readonly string[] Values = ["hash", "set", "sorted set", "list", "stream"];

    public static TheoryData<string, string> ValuesAndRemovals
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
    [MemberData(nameof(ValuesAndRemovals))]
    public void Large_value_is_freed_in_small_steps(string value, string way)
    {
        using var world = new World();
        world.Write(value);
        int blocks = world.Blocks;
        world.Remove(way);

        // A command itself frees at most one slice, and CLEAR frees nothing itself.
        int atOnce = blocks - world.Blocks;
        Assert.InRange(atOnce, 0, way == "clear" ? 0 : FreeingSlice.StepsMax * BlocksPerStepMax);
        Assert.True(world.Stripe.HasDropped);

        int steps = 0;
        for (bool more = true; more; steps++)
        {
            int before = world.Blocks;
            more = world.Stripe.FreeDroppedStep();
            Assert.InRange(before - world.Blocks, 0, BlocksPerStepMax);
        }

        Assert.InRange(steps, (blocks - atOnce) / BlocksPerStepMax, blocks);
        Assert.Equal(way is "overwrite" or "rename" ? 1 : 0, world.Blocks);
        world.Store.CheckGuards();
    }

    [Theory]
    [InlineData("hash")]
    [InlineData("set")]
    [InlineData("sorted set")]
    [InlineData("list")]
    [InlineData("stream")]
    public void Number_of_steps_per_slice_is_limited(string value)
    {
        using var world = new World();
        world.Write(value);
        world.Remove("clear");
        bool more = true;
        for (int slices = 0; more; slices++)
        {
            int before = world.Blocks;
            more = world.Stripe.FreeDroppedSlice();
            Assert.InRange(before - world.Blocks, 0, FreeingSlice.StepsMax * BlocksPerStepMax);
            Assert.InRange(slices, 0, 100_000);
        }

        Assert.Equal(0, world.Blocks);
    }

    [Fact]
    public void Small_structure_is_freed_with_its_entry()
    {
        using var world = new World();
        world.Write("hash", elements: 5);
        world.Remove("remove");
        Assert.Equal(0, world.Blocks);
        Assert.False(world.Stripe.HasDropped);
    }

    [Theory]
    [InlineData("group")]
    [InlineData("consumer")]
    public void Many_pending_entries_are_freed_in_small_steps(string what)
    {
        using var world = new World();
        world.Write("stream");
        int blocks = world.Blocks;
        Assert.Equal(what == "group" ? 1 : World.Pending, world.RemoveFromStream(what));
        int atOnce = blocks - world.Blocks;
        Assert.InRange(atOnce, 0, FreeingSlice.StepsMax * BlocksPerStepMax);
        world.FreeInSteps();
        world.Remove("remove");
        world.FreeInSteps();
        Assert.Equal(0, world.Blocks);
        world.Store.CheckGuards();
    }

    [Fact]
    public void Deleted_consumer_takes_only_its_own_pending_entries()
    {
        using var world = new World();
        world.Write("stream");
        world.AddPending("other", 1_000_000, 10);
        Assert.Equal(World.Pending, world.RemoveFromStream("consumer"));
        Assert.Equal(10, world.RemoveFromStream("other"));
        Assert.Equal(0, world.RemoveFromStream("other"));
    }

    [Theory]
    [InlineData("stream by length")]
    [InlineData("stream by id")]
    [InlineData("list from the front")]
    [InlineData("list from the end")]
    public void Trimming_frees_few_blocks_at_once(string what)
    {
        using var world = new World();
        world.Write(what[..what.IndexOf(' ', StringComparison.Ordinal)]);
        int blocks = world.Blocks;
        Assert.Equal(World.Elements - 100, world.Cut(what, leaving: 100));
        Assert.InRange(blocks - world.Blocks, 16, blocks / 8); // the nodes' slots in pages and leaves are freed at once
        world.FreeInSteps();
        Assert.InRange(world.Blocks, 1, 400);
        world.Store.CheckGuards();
    }

    [Fact]
    public void Large_string_is_released_in_pieces()
    {
        const int Bytes = 64 << 20;
        using var world = new World(guarded: false);
        world.WriteString(Bytes);
        world.Remove("overwrite");
        Assert.InRange(world.Stripe.Arena.UsedBytes, 1, 100); // no longer accounted to the value
        Assert.InRange(world.Stripe.Arena.LargeBytes, Bytes, long.MaxValue);
        int steps = 1;
        while (world.Stripe.FreeDroppedStep()) steps++;
        Assert.InRange(steps, Bytes / (300 << 10), Bytes / (200 << 10));
        Assert.Equal(0, world.Stripe.Arena.LargeBytes);
    }

    [Fact]
    public void Cleared_part_of_a_large_string_reads_as_zeros()
    {
        const int Bytes = 8 << 20;
        using var world = new World(guarded: false);
        Entry entry = world.WriteString(Bytes);
        entry.Value.Fill(1);
        entry.ClearValue(4_097, Bytes - 4_099);
        Assert.Equal(4_097, entry.Value.IndexOf((byte)0));
        Assert.Equal(Bytes - 4_097 - 4_099, entry.Value[4_097..].IndexOf((byte)1));
        Assert.Equal(Bytes - 4_100, entry.Value.LastIndexOf((byte)0));
    }

    private sealed class World : IDisposable
    {
        internal const int Elements = 20_000;
        internal const int Pending = Elements / 10;

        private static readonly byte[] Key = "large"u8.ToArray();
        private static readonly ListLimits Limits = new(16, 0);

        private readonly ulong _hash;

        internal World(bool guarded = true)
        {
            Store = new KeyStore(1, 1, guarded);
            _hash = Store.Hash(Key);
        }

        internal KeyStore Store { get; }

        internal Stripe Stripe => Store.Stripes[0];

        internal int Blocks => Stripe.Guard!.LiveBlocks;

        private Database Database => Store.Databases[0];

        private Entry Entry => Database.Find(Key, _hash, ExpiryClock.Never);

        internal void Write(string value, int elements = Elements)
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

            if (value == "stream") AddPending("consumer", 1, Pending);
        }

        internal Entry WriteString(int bytes) => Database.WriteString(Key, _hash, Entry, bytes, ValueEncoding.Raw, Database.NoExpiry, 0);

        internal void FreeInSteps()
        {
            for (bool more = true; more;)
            {
                int before = Blocks;
                more = Stripe.FreeDroppedStep();
                Assert.InRange(before - Blocks, 0, BlocksPerStepMax);
            }
        }

        internal long RemoveFromStream(string what)
        {
            StreamValue stream = StreamValue.Of(Database, Entry);
            return what == "group"
                ? stream.RemoveGroup("group"u8) ? 1 : 0
                : stream.FindGroup("group"u8).RemoveConsumer(Encoding.ASCII.GetBytes(what), out _);
        }

        internal long Cut(string what, int leaving)
        {
            switch (what)
            {
                case "stream by length": return StreamValue.Of(Database, Entry).Trim(new StreamTrimming { ByLength = true, LengthMax = leaving });
                case "stream by id": return StreamValue.Of(Database, Entry).Trim(new StreamTrimming { MinId = new StreamId((ulong)(Elements - leaving + 1), 0) });
                default:
                    var list = new ListValue(Database, Entry, Limits);
                    list.Remove(what.EndsWith("front", StringComparison.Ordinal) ? 0 : leaving, Elements - leaving);
                    return Elements - list.Count;
            }
        }

        internal void AddPending(string name, int first, int entries)
        {
            StreamValue stream = StreamValue.Of(Database, Entry);
            stream.TryCreateGroup("group"u8, default, 0);
            StreamGroup group = stream.FindGroup("group"u8);
            StreamConsumer consumer = group.FindOrCreateConsumer(Encoding.ASCII.GetBytes(name), 0, out _);
            for (int i = 0; i < entries; i++) group.AddPending(new StreamId((ulong)(first + i), 0), consumer, 0, 1);
        }

        internal void Remove(string way)
        {
            byte[] other = "other"u8.ToArray();
            switch (way)
            {
                case "remove": Database.Unlink(Entry, UnlinkReason.Deleted); break;
                case "overwrite": Database.WriteString(Key, _hash, Entry, 5, ValueEncoding.Raw, Database.NoExpiry, 0).Value.Clear(); break;
                case "clear": Database.Clear(); break;
                case "rename":
                    Database.WriteString(other, Store.Hash(other), default, 5, ValueEncoding.Raw, Database.NoExpiry, 0).Value.Clear();
                    Database.Rename(Database.Find(other, Store.Hash(other), ExpiryClock.Never), Key, _hash, Entry);
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
            HashValue hash = Entry.Exists ? HashValue.Open(Database, Entry, ExpiryClock.Never) : HashValue.Create(Database, Key, _hash, 0, ExpiryClock.Never);
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
            ListValue list = Entry.Exists ? new ListValue(Database, Entry, Limits) : ListValue.Create(Database, Key, _hash, Limits, 0);
            list.PrepareFor(element.Length, 1);
            list.PushLast(element);
        }

        private void Append(int id, byte[] text)
        {
            StreamValue stream = Entry.Exists
                ? StreamValue.Of(Database, Entry)
                : StreamValue.Create(Database, Database.WriteValue(Key, _hash, default, new ValueHeader(DataType.Stream, ValueEncoding.Stream, 0), ValueRoot.Bytes, Database.NoExpiry));
            StreamAppender added = stream.Append(new StreamId((ulong)id, 0), 1, text.Length + 1, 4096, 10);
            added.Name("f"u8);
            added.Pair("f"u8, text);
            added.End();
        }
    }
}
