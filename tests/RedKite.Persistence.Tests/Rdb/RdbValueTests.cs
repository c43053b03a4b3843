using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>Values of every type round-trip through writer and reader; values written by older versions are read.</summary>
public sealed class RdbValueTests
{
    public static TheoryData<string> Types => [.. Enum.GetNames<DataType>()];

    [Theory]
    [MemberData(nameof(Types))]
    public void Random_values_round_trip(string typeName)
    {
        DataType type = Enum.Parse<DataType>(typeName);
        using var world = new ValueWorld();
        var random = new Random(1);
        HashSet<RdbType> written = [];
        for (int round = 0; round < 150; round++)
        {
            world.Make("source", type, random);
            (RdbType form, byte[] value) = world.Write("source");
            written.Add(form);
            Assert.Equal(RdbOutcome.Loaded, world.Read("copy", form, value));
            Assert.Equal(world.Describe("source"), world.Describe("copy"));

            // A hash may be a table because of a long value that it no longer has.
            if (type != DataType.Hash) Assert.Equal(form, world.Write("copy").Type);
            world.Remove("source");
            world.Remove("copy");
        }

        int forms = type switch { DataType.String or DataType.List or DataType.Stream or DataType.VectorSet or DataType.Array => 1, DataType.SortedSet => 2, DataType.Set => 3, _ => 4 };
        Assert.Equal(forms, written.Count);
        world.AssertEmpty();
    }

    [Theory]
    [MemberData(nameof(Types))]
    public void Values_in_steps_and_strings_in_pieces_are_the_same_bytes(string typeName)
    {
        DataType type = Enum.Parse<DataType>(typeName);
        const int PieceBytes = 40;
        const int StepBytesMax = PieceBytes + 600; // beside a string: at most 16 pending entries of a stream
        using var world = new ValueWorld();
        using var scratch = new RdbScratch();
        using var collector = RdbOutput.NewCollector(PieceBytes);
        var random = new Random(3);
        for (int round = 0; round < 60; round++)
        {
            world.Make("source", type, random);
            bool compresses = random.Next(2) == 0;
            Assert.True(RdbValueWriter.TryOpenRemovingExpired(world.Database, world.Find("source"), ExpiryClock.RemovingAt(ValueWorld.NowMs), out RdbValueWriter writer));
            using var whole = new RdbOutput { Compresses = compresses };
            writer.Write(whole, scratch);
            using var target = new RdbOutput { Compresses = compresses };
            RdbValueSteps steps = writer.Steps(scratch);
            bool more = true;
            RdbOpenString open = default;
            while (more || open.Rest.Length > 0)
            {
                int before = collector.Written.Length;
                collector.Resume(open);
                if (!collector.ContinueString()) more = steps.Step(collector);
                open = collector.Suspend();
                Assert.InRange(collector.Written.Length - before, 0, StepBytesMax);
                if (random.Next(3) == 0) continue; // several steps in a slice
                collector.MoveTo(target, collector.Written.Length);
                collector.Clear();
            }

            collector.MoveTo(target, collector.Written.Length);
            collector.Clear();
            Assert.Equal(whole.Written.ToArray(), target.Written.ToArray());
            world.Remove("source");
        }

        world.AssertEmpty();
    }

    [Fact]
    public void What_follows_a_long_string_waits_for_its_last_piece()
    {
        using var world = new ValueWorld();
        byte[] text = ValueWorld.Bytes(new string('x', 100) + "end");
        text.CopyTo(world.Database.WriteString("source"u8, world.Store.Hash("source"u8), default, text.Length, ValueEncoding.Raw, Database.NoExpiry, 0).Value);
        using var collector = RdbOutput.NewCollector(10);
        collector.String(world.Find("source").Value);
        Assert.Equal(10, collector.Written.Length);
        collector.String("next"u8);
        var target = new RdbOutput { Compresses = false };
        collector.MoveTo(target, collector.Written.Length);
        Assert.Equal([0x40, 103, .. text, 4, .. "next"u8], target.Written.ToArray());
        target.Dispose();
        world.Remove("source");
        world.AssertEmpty();
    }

    [Theory]
    [MemberData(nameof(Types))]
    public void Truncated_values_are_refused_and_leak_nothing(string typeName)
    {
        DataType type = Enum.Parse<DataType>(typeName);
        using var world = new ValueWorld();
        var random = new Random(2);
        for (int round = 0; round < 12; round++)
        {
            world.Make("source", type, random);
            (RdbType form, byte[] value) = world.Write("source");
            for (int i = 0; i < 40; i++)
            {
                int cut = i < 20 ? Math.Min(i, value.Length - 1) : random.Next(value.Length);
                Assert.Equal(RdbOutcome.Corrupt, world.Read("copy", form, value[..cut]));
                Assert.False(world.Find("copy").Exists);
            }

            world.Remove("source");
        }

        world.AssertEmpty();
    }

    [Fact]
    public void Value_of_any_size_is_written_in_pieces()
    {
        using var world = new ValueWorld();
        using var scratch = new RdbScratch();
        List<byte> sunk = [];
        int largest = 0;
        using var output = new RdbOutput(piece =>
        {
            largest = Math.Max(largest, piece.Length);
            sunk.AddRange(piece);
        });
        HashValue hash = HashValue.Create(world.Database, "source"u8, world.Store.Hash("source"u8), 0, ExpiryClock.RemovingAt(ValueWorld.NowMs));
        for (int i = 0; i < 50_000; i++) hash.Set(ValueWorld.Bytes($"field:{i}"), ValueWorld.Bytes($"{i * 7L}"), ValueWorld.Limits.Hash);
        Assert.True(RdbValueWriter.TryOpenRemovingExpired(world.Database, world.Find("source"), ExpiryClock.RemovingAt(ValueWorld.NowMs), out RdbValueWriter writer));
        writer.Write(output, scratch);
        output.Flush();
        Assert.InRange(largest, 64 * 1024, 65 * 1024);
        Assert.Equal(world.Write("source").Value, sunk);
    }

    [Fact]
    public void Expired_fields_are_dropped_and_an_empty_hash_is_no_value()
    {
        foreach (int count in (int[])[3, 40])
        {
            using var world = new ValueWorld();
            HashValue hash = HashValue.Create(world.Database, "source"u8, world.Store.Hash("source"u8), 0, ExpiryClock.RemovingAt(ValueWorld.NowMs));
            for (int i = 0; i < count; i++)
            {
                hash.Set(ValueWorld.Bytes($"{i}"), "v"u8, ValueWorld.Limits.Hash);
                hash.WriteExpiry(ValueWorld.Bytes($"{i}"), ValueWorld.NowMs + 10 + i);
            }

            (RdbType form, byte[] value) = world.Write("source");
            Assert.Equal(count == 3 ? RdbType.HashListPackWithExpiries : RdbType.HashWithExpiries, form);
            Assert.Equal(RdbOutcome.Loaded, world.Read("copy", form, value, ValueWorld.NowMs + 10));
            Assert.Equal(count - 1, HashValue.Open(world.Database, world.Find("copy"), ExpiryClock.RemovingAt(ValueWorld.NowMs)).Count);
            world.Remove("copy");
            Assert.Equal(RdbOutcome.NothingLeft, world.Read("copy", form, value, ValueWorld.NowMs + 10 + count));
            Assert.False(world.Find("copy").Exists);
            world.Remove("source");
            world.AssertEmpty();
        }
    }

    [Fact]
    public void Encodings_of_older_versions_are_read()
    {
        string[] elements = ["0", "12", "13", "-1", "-128", "128", "-32769", "8388607", "-8388609", "2147483648", "-9223372036854775808", "", "text", new string('t', 64), new string('u', 300), new string('w', 20_000), "last"];
        string list = $"List: {string.Join(", ", elements)}";
        AssertRead(RdbType.ListZipList, output => output.String(OldPackings.ZipList(elements)), list);
        AssertRead(RdbType.ListOfZipLists, output => Write(output, 3, OldPackings.ZipList(elements[..5]), OldPackings.ZipList(), OldPackings.ZipList(elements[5..])), list);
        AssertRead(RdbType.List, output => Write(output, elements.Length, [.. elements.Select(ValueWorld.Bytes)]), list);
        AssertRead(RdbType.HashZipList, output => output.String(OldPackings.ZipList("b", "1", "a", "two")), "Hash: a=two until 9223372036854775807, b=1 until 9223372036854775807");
        AssertRead(RdbType.HashZipMap, output => output.String(OldPackings.ZipMap(3, "a", "two", "b", "1")), "Hash: a=two until 9223372036854775807, b=1 until 9223372036854775807");
        AssertRead(RdbType.HashZipMap, output => output.String(OldPackings.ZipMap(0, "a", new string('v', 300))), $"Hash: a={new string('v', 300)} until 9223372036854775807");
        AssertRead(RdbType.SortedSetZipList, output => output.String(OldPackings.ZipList("a", "1", "b", "2.5", "c", "inf", "17", "-inf")), "SortedSet: 17=-Infinity, a=1, b=2.5, c=Infinity");
        AssertRead(RdbType.SortedSetWithTexts, WriteScoresAsTexts, "SortedSet: low=-Infinity, a=1.5, high=Infinity");
        AssertRead(RdbType.SetIntSet, output => output.String([2, 0, 0, 0, 2, 0, 0, 0, 255, 255, 7, 0]), "Set: -1, 7");
        AssertRead(RdbType.HashWithExpiriesDraft, WriteDraft, "Hash: a=1 until 9223372036854775807, b=2 until 2000000");
    }

    [Theory]
    [InlineData((int)RdbType.SetIntSet, "0c 02000000 02000000 0700 0700")]   // not ascending
    [InlineData((int)RdbType.SetIntSet, "0c 03000000 02000000 0700 0800")]   // invalid width
    [InlineData((int)RdbType.SetIntSet, "0c 02000000 03000000 0700 0800")]   // fewer than declared
    [InlineData((int)RdbType.SetIntSet, "08 02000000 00000000")]             // empty
    [InlineData((int)RdbType.List, "00")]                                    // empty
    [InlineData((int)RdbType.List, "81 7fffffffffffffff 0161")]              // more than possible
    [InlineData((int)RdbType.Set, "02 0161 0161")]                           // a duplicate
    [InlineData((int)RdbType.Hash, "02 0161 0162 0161 0162")]                // a duplicate
    [InlineData((int)RdbType.SortedSet, "02 0161 0000000000000000 0161 0000000000000000")]
    [InlineData((int)RdbType.SortedSet, "01 0161 000000000000f87f")]         // not a number
    [InlineData((int)RdbType.SortedSetWithTexts, "01 0161 fd")]              // the same
    [InlineData((int)RdbType.SortedSetWithTexts, "01 0161 03 312e78")]       // not a number
    [InlineData((int)RdbType.ListOfListPacks, "01 03 0161")]                 // unknown node type
    [InlineData((int)RdbType.ListOfListPacks, "01 02 0161")]                 // not a packed list
    [InlineData((int)RdbType.String, "c4")]                                  // unknown form
    [InlineData((int)RdbType.String, "c3 03 8140000000000000 00 616161")]    // would decompress to too many bytes
    [InlineData((int)RdbType.String, "c3 7f 05 61")]                         // longer than the input
    [InlineData((int)RdbType.String, "8040000001 61")]                       // longer than the maximum
    [InlineData((int)RdbType.HashListPackWithExpiriesDraft, "27270000000600816102813102f488ebc32cbb03000009816202813202f4e8dbc32cbb03000009ff")] // not in the order of the expiries
    [InlineData((int)RdbType.HashListPackWithExpiriesDraft, "37370000000900816302813302f4000000000000000009816202813202f4e8dbc32cbb03000009816102813102f488ebc32cbb03000009ff")] // a field without an expiry in front of others
    [InlineData((int)RdbType.HashListPackWithExpiries, "e8dbc32cbb03000027270000000600816102813102f488ebc32cbb03000009816202813202f4e8dbc32cbb03000009ff")] // not in the order of the expiries
    [InlineData((int)RdbType.HashListPackWithExpiries, "e8dbc32cbb03000037370000000900816302813302f4000000000000000009816202813202f4e8dbc32cbb03000009816102813102f488ebc32cbb03000009ff")] // a field without an expiry in front of others
    [InlineData(7, "00")]                                      // a module value
    [InlineData(26, "00")]                                     // a future type
    public void Invalid_values_are_refused(int type, string hex)
    {
        using var world = new ValueWorld();
        Assert.Equal(RdbOutcome.Corrupt, world.Read("copy", (RdbType)type, Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal))));
        world.AssertEmpty();
    }

    [Theory]
    [InlineData((int)RdbType.StreamOfListPacks)]
    [InlineData((int)RdbType.StreamOfListPacks2)]
    [InlineData((int)RdbType.StreamOfListPacks3)]
    public void Streams_of_every_version_are_read_without_deleted_entries(int version)
    {
        var type = (RdbType)version;
        bool counts = type != RdbType.StreamOfListPacks;
        bool tellsActivity = type == RdbType.StreamOfListPacks3;
        AssertRead(
            type,
            output => WriteStream(output, counts, tellsActivity),
            $"Stream: length 2 last 7-0 first 1-1 deleted {(counts ? "1-2 added 5" : "0-0 added 2")}, 1-1 a=1, 2-0 b=3 cc=, 2-0 b=3 cc=, 1-1 a=1, "
                + $"group g last 1-1 read {(counts ? "4" : "1")} lag {(counts ? "unknown" : "1")} pending 1, 1-1 c 300 2, consumer c seen 400 active {(tellsActivity ? "350" : "400")} pending 1, 1-1");
    }

    private static void WriteStream(RdbOutput output, bool counts, bool tellsActivity)
    {
        using var buffer = new NativeBuffer();
        var list = new PackedListWriter(buffer);
        foreach (string element in "2 1 1 a 0  2 0 0 1 4  3 0 1 2 4  0 1 -1 2 b 3 cc".Split(' ', StringSplitOptions.RemoveEmptyEntries)) list.Append(ValueWorld.Bytes(element));
        list.Append([]);
        list.Append(8);
        list.Finish();
        output.Length(1);
        output.Length(16);
        output.RawId(new StreamId(1, 1));
        output.String(buffer.Written);
        ulong[] numbers = counts ? [2, 7, 0, 1, 1, 1, 2, 5, 1] : [2, 7, 0, 1]; // length, ids, added, groups
        foreach (ulong number in numbers) output.Length(number);
        output.String("g"u8);
        output.Length(1);
        output.Length(1);
        if (counts) output.Length(4);
        output.Length(1);
        output.RawId(new StreamId(1, 1));
        output.Int64(300);
        output.Length(2);
        output.Length(1);
        output.String("c"u8);
        output.Int64(400);
        if (tellsActivity) output.Int64(350);
        output.Length(1);
        output.RawId(new StreamId(1, 1));
    }

    private static void AssertRead(RdbType type, Action<RdbOutput> write, string description)
    {
        using var world = new ValueWorld();
        using var output = new RdbOutput();
        write(output);
        Assert.Equal(RdbOutcome.Loaded, world.Read("copy", type, output.Written.ToArray()));
        Assert.Equal(description, world.Describe("copy"));
        world.Remove("copy");
        world.AssertEmpty();
    }

    private static void Write(RdbOutput output, int count, params byte[][] strings)
    {
        output.Length(count);
        foreach (byte[] text in strings) output.String(text);
    }

    private static void WriteScoresAsTexts(RdbOutput output)
    {
        output.Length(3);
        output.String("a"u8);
        output.Byte(3);
        output.Raw("1.5"u8);
        output.String("high"u8);
        output.Byte(254);
        output.String("low"u8);
        output.Byte(255);
    }

    private static void WriteDraft(RdbOutput output)
    {
        output.Length(2);
        foreach ((int expiry, string field, string value) in ((int, string, string)[])[(0, "a", "1"), (2_000_000, "b", "2")])
        {
            output.Length(expiry);
            output.String(ValueWorld.Bytes(field));
            output.String(ValueWorld.Bytes(value));
        }
    }
}
