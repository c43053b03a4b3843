using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.TestSupport;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>Files of all versions, made by hand, and what cannot be read: the error names the file, the place, the key and the reason.</summary>
public sealed class RdbFileTests
{
    [Fact]
    public void Version_1_is_read()
    {
        using var bytes = new RdbBytes("REDIS0001");
        bytes.Raw(254, 0).Key(0, "text").Text("value").Key(0, "number").Raw(0xC1, 0x39, 0x30);
        bytes.Raw(253, 0, 0, 0, 0x7F).Key(1, "list").Length(2).Text("a").Text("b");
        bytes.Raw(254, 9).Key(2, "set").Length(1).Text("member").Key(3, "zset").Length(3).Text("a").Raw(3, (byte)'1', (byte)'.', (byte)'5').Text("b").Raw(254).Text("c").Raw(255);
        bytes.Key(4, "hash").Length(1).Text("field").Text("value");
        using FileWorld world = Load(bytes.End());
        Assert.Equal(["String: value", "String: 12345", "List: a, b"], world.Describe(0));
        Assert.Equal(["Set: member", "SortedSet: c=-Infinity, a=1.5, b=Infinity", "Hash: field=value"], world.Describe(9));
        Assert.Equal(0x7F000000L * 1000, world.ExpiryOf(0, "list"));
    }

    // Redis 2.6 and 2.8: packed values, times in milliseconds, the checksum. 3.x and 4.0: fields, sizes, lists of ziplists, binary scores. 5 and 6: streams, idle times.
    [Fact]
    public void Versions_2_to_9_are_read()
    {
        using var old = new RdbBytes("REDIS0006");
        old.Raw(254, 0).Key(9, "zipmap").Text(OldPackings.ZipMap(0, "f", "v")).Key(10, "ziplist").Text(OldPackings.ZipList("1", "two"));
        old.Key(11, "intset").Text([2, 0, 0, 0, 1, 0, 0, 0, 7, 0]).Key(12, "zset").Text(OldPackings.ZipList("m", "2.5")).Raw(252).Int64(4_000_000_000_000).Key(13, "hash").Text(OldPackings.ZipList("f", "v"));
        using FileWorld first = Load(old.End());
        Assert.Equal(["Hash: f=v", "List: 1, two", "Set: 7", "SortedSet: m=2.5", "Hash: f=v"], first.Describe(0));
        Assert.Equal(4_000_000_000_000, first.ExpiryOf(0, "hash"));

        using var newer = new RdbBytes("REDIS0009");
        newer.Raw(250).Text("redis-ver").Text("6.2.0").Raw(250).Text("redis-bits").Raw(0xC0, 64).Raw(254, 1).Raw(251).Length(4).Length(0);
        newer.Key(14, "list").Length(2).Text(OldPackings.ZipList("a")).Text(OldPackings.ZipList("b", "c")).Raw(248).Length(100).Key(5, "zset").Length(1).Text("m").Int64(BitConverter.DoubleToInt64Bits(0.1));
        newer.Raw(249, 200).Key(15, "stream").Length(0).Length(0).Length(0).Length(0).Length(0).Raw(244).Length(1).Length(2).Length(3).Key(0, "last").Text("x");
        using FileWorld second = Load(newer.End());
        Assert.Equal(["List: a, b, c", "SortedSet: m=0.1", "Stream: length 0", "String: x"], second.Describe(1));
        Assert.Equal("6.2.0", second.Fields["redis-ver"]);
        Assert.Equal("64", second.Fields["redis-bits"]);
        Assert.Equal([(100L, -1), (-1, 200)], second.Usages);
    }

    [Fact]
    public void Versions_of_Valkey_are_read_by_their_magic()
    {
        using var bytes = new RdbBytes("VALKEY080");
        bytes.Raw(254, 0).Raw(243).Text("a migration").Length(1).Length(5).Length(9);
        bytes.Key(22, "hash").Length(2).Text("a").Text("1").Int64(-1).Text("b").Text("2").Int64(4_000_000_000_000);
        using FileWorld world = Load(bytes.End());
        Assert.Equal(["Hash: a=1, b=2 until 4000000000000"], world.Describe(0));
        AssertRefused(new RdbBytes("VALKEY081").Raw(254, 0).Key(23, "paths").Text(""), "a hash of paths of Valkey");
        AssertRefused(new RdbBytes("VALKEY081").Raw(242), "a command within the data");
        AssertRefused(new RdbBytes("VALKEY082"), "version 82 of Valkey's format; RedKite reads 80 to 81");
        AssertRefused(new RdbBytes("VALKEY011"), "version 11 of Valkey's format");
    }

    [Fact]
    public void Versions_after_Redis_8_0_are_read_as_far_as_their_types_exist()
    {
        byte[] packed = [13, 0, 0, 0, 3, 0, 5, 1, 0x81, (byte)'x', 2, 7, 1, 0xFF];
        packed[0] = (byte)packed.Length;
        using var bytes = new RdbBytes("REDIS0015");
        bytes.Raw(254, 0).Raw(242).Length(5).Length(2).Text("age").Text("name");
        bytes.Key(32, "values").Length(5).Text("42").Text("Ann").Key(30, "packed").Text(packed).Key(31, "own").Length(1).Text("f").Text("v");
        bytes.Key(26, "stream").Length(0).Length(0).Length(0).Length(0).Length(0).Length(0).Length(0).Length(0).Length(0).Length(0);
        bytes.Length(100).Length(100).Length(1).Text("producer").Length(1).Text("id").Length(1).Length(2).Length(3).Length(4);
        using FileWorld world = Load(bytes.End());
        Assert.Equal(["Hash: age=42, name=Ann", "Hash: age=x, name=7", "Hash: f=v", "Stream: length 0"], world.Describe(0));
        AssertRefused(new RdbBytes("REDIS0014").Raw(254, 3).Key(28, "k").Length(0), "an array of Redis");
        AssertRefused(new RdbBytes("REDIS0015").Key(29, "k").Length(0), "a packed hash with the fields of a template");
        AssertRefused(new RdbBytes("REDIS0015").Key(33, "k").Length(0), "a rate limiter");
        AssertRefused(new RdbBytes("REDIS0015").Key(32, "k").Length(9), "value is damaged (type hash, database 0, key 'k')");
        AssertRefused(new RdbBytes("REDIS0017"), "version 17 of Redis's format; RedKite reads 1 to 16");
    }

    [Fact]
    public void Modules_are_refused_by_name_or_passed_over()
    {
        const ulong Id = 0x8FA5_9D6D_D64B_7C01;
        byte[] id = [.. Enumerable.Reverse(BitConverter.GetBytes(Id))];
        RdbBytes Data(RdbBytes bytes) => bytes.Length(2).Length(7).Length(3).Raw(1, 2, 3, 4).Length(4).Int64(9).Length(5).Text("text").Length(0);
        byte[] key = Data(new RdbBytes("REDIS0009").Raw(254, 2).Key(7, "k").Raw(0x81).Raw(id)).Key(0, "after").Text("x").End();
        byte[] aux = Data(new RdbBytes("REDIS0009").Raw(247, 0x81).Raw(id).Length(2).Length(1)).Key(0, "after").Text("x").End();
        string name = RdbModule.NameOf(Id);
        Assert.Equal(9, name.Length);
        Assert.Contains($"at byte 11: data of the module '{name}', which RedKite does not have (type module, database 2, key 'k')", Refusal(key), StringComparison.Ordinal);
        Assert.Contains($"data of the module '{name}'", Refusal(aux), StringComparison.Ordinal);
        foreach (byte[] file in (byte[][])[key, aux])
        {
            using FileWorld world = Load(file, new RdbReadOptions { SkipsModules = true });
            Assert.Equal(1, world.Keys);
        }

        using FileWorld noted = Load(Data(new RdbBytes("REDIS0013").Raw(243).Length(1).Raw(1, 2, 3, 4)).Key(0, "noted").Text("x").End(), new RdbReadOptions { SkipsModules = true });
        Assert.Equal(1, noted.Keys);
    }

    [Fact]
    public void What_cannot_be_read_is_refused_with_its_place()
    {
        AssertRefused(new RdbBytes("REDIS0010").Raw(246), "a function in the form of a release candidate");
        AssertRefused(new RdbBytes("REDIS0010").Raw(254).Length(16), "database 16, but there are only 16");
        AssertRefused(new RdbBytes("REDIS0010").Key(8, "k"), "unknown type 8");
        AssertRefused(new RdbBytes("REDIS0010").Key(0, "k").Raw(0xC4), "at byte 9: the value is damaged (type string, database 0, key 'k')");
        AssertRefused(new RdbBytes("REDIS0010").Key(2, "k").Length(2).Text("a").Text("a"), "at byte 9: the value is damaged (type set, database 0, key 'k')");
        AssertRefused(new RdbBytes("REDIS0014").Key(28, "k"), "at byte 9: an array of Redis");
        AssertRefused(new RdbBytes("REDIS0014").Key(0, "first").Text("x").Key(29, "k"), "at byte 18: a packed hash with the fields of a template");
        AssertRefused(new RdbBytes("REDIS0014").Key(33, "k"), "at byte 9: a rate limiter (GCRA) of Redis");
        AssertRefused(new RdbBytes("VALKEY080").Key(23, "k"), "at byte 9: a hash of paths of Valkey");
        AssertRefused(new RdbBytes("VALKEY081").Key(0, "first").Text("x").Key(24, "stream"), "at byte 18: unknown type 24"); // from 9.2 on
        AssertRefused(new RdbBytes("VALKEY082").Key(0, "k").Text("x"), "at byte 0: version 82 of Valkey's format; RedKite reads 80 to 81");
        Assert.Contains("not an RDB file", Refusal("SOMETHING ELSE"u8.ToArray()), StringComparison.Ordinal);
        Assert.Contains("its version is no number", Refusal("REDIS00x1----"u8.ToArray()), StringComparison.Ordinal);
        byte[] wrong = new RdbBytes("REDIS0010").Key(0, "k").Text("x").End();
        wrong[^1] ^= 1;
        Assert.Contains($"at byte {wrong.Length - 8}: the checksum is", Refusal(wrong), StringComparison.Ordinal);
        using FileWorld world = Load(wrong, new RdbReadOptions { ChecksSum = false });
        Assert.Equal(1, world.Keys);
    }

    // Some versions wrote such keys. Like Redis, a file with them is read without them.
    [Fact]
    public void Keys_without_elements_are_passed_over()
    {
        using var bytes = new RdbBytes("REDIS0012");
        byte[] pack = [7, 0, 0, 0, 0, 0, 0xFF];
        bytes.Key(1, "a").Length(0).Key(2, "b").Length(0).Key(4, "c").Length(0).Key(5, "d").Length(0).Key(10, "e").Text(OldPackings.ZipList()).Key(13, "f").Text(OldPackings.ZipList());
        bytes.Key(16, "g").Text(pack).Key(17, "h").Text(pack).Key(20, "i").Text(pack).Key(18, "j").Length(1).Length(2).Text(pack).Key(14, "k").Length(0).Key(11, "l").Text([2, 0, 0, 0, 0, 0, 0, 0]).Key(24, "m").Int64(5).Length(0);
        using FileWorld world = Load(bytes.Key(0, "last").Text("x").End());
        Assert.Equal(13, world.EmptyKeys);
        Assert.Equal(["String: x"], world.Describe(0));
    }

    [Fact]
    public void Every_truncation_is_an_error()
    {
        byte[] whole = Sample(new Random(3), out _);
        for (int length = 0; length < whole.Length; length++) Refusal(whole[..length]);
    }

    // With its checksum, no damage goes unnoticed.
    [Fact]
    public void Every_flipped_bit_is_an_error()
    {
        byte[] whole = Sample(new Random(4), out _);
        for (int at = 9; at < whole.Length; at++)
        {
            byte[] damaged = [.. whole];
            damaged[at] ^= (byte)(1 << (at % 8));
            Refusal(damaged);
        }
    }

    // Without a checksum, damaged data is refused, or is data that can be written and read again. REDKITE_DAMAGE_ROUNDS and REDKITE_SEED
    // run more and other rounds.
    [Fact]
    public void Thousands_of_damaged_files_are_refused_or_valid()
    {
        var random = new Random(Number("REDKITE_SEED", 5));
        int rounds = Number("REDKITE_DAMAGE_ROUNDS", 1_500);
        int refused = 0;
        byte[] whole = [];
        for (int i = 0; i < rounds; i++)
        {
            if (i % 100 == 0) whole = Sample(random, out _);
            byte[] damaged = Damage(whole, random);
            try
            {
                using FileWorld world = Load(damaged, new RdbReadOptions { ChecksSum = false, Databases = FileWorld.Databases }, isWhole: false);
                var disk = new FaultyFiles();
                disk.CreateFolder("d");
                world.Save(disk, "d", "again");
                using var again = new FileWorld();
                again.Load(disk, "d/again");
                Assert.Equal(world.Keys, again.Keys);
            }
            catch (RdbFileException failure)
            {
                Assert.StartsWith("d/file: at byte ", failure.Message, StringComparison.Ordinal);
                refused++;
            }
        }

        Assert.True(refused > rounds / 3 && refused < rounds, $"{refused} of {rounds} were refused");
    }

    private static int Number(string variable, int otherwise) =>
        int.TryParse(Environment.GetEnvironmentVariable(variable), System.Globalization.CultureInfo.InvariantCulture, out int number) ? number : otherwise;

    private static byte[] Sample(Random random, out int keys)
    {
        using var values = new ValueWorld();
        using var writer = new RdbBytes("REDIS0012");
        writer.Raw(250).Text("redis-ver").Text("8.0.2").Raw(245).Text("#!lua name=l\n").Raw(254, 3);
        keys = 0;
        foreach (Store.Keyspace.DataType type in Enum.GetValues<Store.Keyspace.DataType>())
        {
            values.Make("k", type, random);
            (RdbType form, byte[] value) = values.Write("k");
            values.Remove("k");
            if (value.Length > 1_200) continue;
            if (random.Next(2) == 0) writer.Raw(252).Int64(4_000_000_000_000);
            writer.Key((int)form, $"key:{keys++}").Raw(value);
        }

        return writer.End();
    }

    private static byte[] Damage(byte[] whole, Random random)
    {
        List<byte> bytes = [.. whole];
        for (int i = random.Next(1, 3); i > 0; i--)
        {
            int at = random.Next(9, bytes.Count);
            switch (random.Next(6))
            {
                case 0: bytes.RemoveRange(at, Math.Min(random.Next(1, 20), bytes.Count - at)); break;
                case 1: bytes.InsertRange(at, Enumerable.Range(0, random.Next(1, 9)).Select(_ => (byte)random.Next(256))); break;
                case 2: bytes.InsertRange(at, [0x81, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]); break;
                default: bytes[at] ^= (byte)(1 << random.Next(8)); break;
            }

            if (bytes.Count < 30) break;
        }

        return [.. bytes];
    }

    private static void AssertRefused(RdbBytes bytes, string reason)
    {
        using (bytes) Assert.Contains(reason, Refusal(bytes.End()), StringComparison.Ordinal);
    }

    private static string Refusal(byte[] file)
    {
        string message = Assert.Throws<RdbFileException>(() => Load(file, new RdbReadOptions { Databases = FileWorld.Databases }).Dispose()).Message;
        Assert.StartsWith("d/file: at byte ", message, StringComparison.Ordinal);
        return message;
    }

    private static FileWorld Load(byte[] bytes, RdbReadOptions? options = null, bool isWhole = true)
    {
        var disk = new FaultyFiles();
        disk.CreateFolder("d");
        using (IOpenFile file = disk.Create("d/file")) file.Write(0, bytes);
        var world = new FileWorld();
        try
        {
            world.Load(disk, "d/file", options, isWhole);
            return world;
        }
        catch
        {
            world.Dispose();
            throw;
        }
    }
}
