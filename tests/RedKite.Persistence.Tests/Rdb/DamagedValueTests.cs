using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>
/// Thousands of damaged values of each form: each is refused or is a value that can be read, written and read again, on an
/// arena that detects accesses outside of blocks, and leaks.
/// </summary>
public sealed class DamagedValueTests
{
    private const int DamagesOfEach = 250;
    private const int SampleBytesMax = 3_000;

    public static TheoryData<string> Types => [.. Enum.GetNames<DataType>()];

    [Theory]
    [MemberData(nameof(Types))]
    public void Damaged_values_are_refused_or_valid(string typeName)
    {
        DataType type = Enum.Parse<DataType>(typeName);
        using var world = new ValueWorld();
        var random = new Random(3);
        int loaded = 0;
        int refused = 0;
        foreach ((RdbType form, byte[] value) in Samples(world, type, random))
        {
            for (int i = 0; i < DamagesOfEach; i++)
            {
                byte[] damaged = Damage(value, random);
                world.IsStrict = i % 2 == 0;
                switch (world.Read("damaged", form, damaged))
                {
                    case RdbOutcome.Loaded:
                        loaded++;
                        AssertSound(world);
                        world.Remove("damaged");
                        break;
                    default:
                        refused++;
                        Assert.False(world.Find("damaged").Exists);
                        break;
                }
            }

            world.Store.CheckGuards();
        }

        Assert.True(loaded > 20 && refused > 100, $"{loaded} loaded, {refused} refused");
        world.AssertEmpty();
    }

    private static void AssertSound(ValueWorld world)
    {
        string description = world.Describe("damaged");
        (RdbType form, byte[] value) = world.Write("damaged");
        Assert.Equal(RdbOutcome.Loaded, world.Read("again", form, value));
        Assert.Equal(description, world.Describe("again"));
        world.Remove("again");
    }

    private static List<(RdbType Form, byte[] Value)> Samples(ValueWorld world, DataType type, Random random)
    {
        List<(RdbType, byte[])> samples = [];
        while (samples.Count < 12)
        {
            world.Make("source", type, random);
            (RdbType Form, byte[] Value) sample = world.Write("source");
            world.Remove("source");
            if (sample.Value.Length <= SampleBytesMax) samples.Add(sample);
        }

        byte[] pairs = OldPackings.ZipList("a", "1", "b", "2000", "17", "-70000", "long" + new string('x', 300), "5");
        byte[] elements = OldPackings.ZipList("a", "1", "bb", new string('y', 70), "-5", new string('z', 260), "end");
        switch (type)
        {
            case DataType.List:
                samples.Add(Sample(RdbType.ListZipList, elements));
                samples.Add(Sample(RdbType.ListOfZipLists, elements, count: 1));
                break;
            case DataType.SortedSet:
                samples.Add(Sample(RdbType.SortedSetZipList, pairs));
                break;
            case DataType.Hash:
                samples.Add(Sample(RdbType.HashZipList, pairs));
                samples.Add(Sample(RdbType.HashZipMap, OldPackings.ZipMap(2, "a", "1", "b", "two", "c", new string('v', 260))));
                break;
        }

        return samples;
    }

    // Uncompressed, so that the damage hits the packed form itself.
    private static (RdbType Form, byte[] Value) Sample(RdbType form, byte[] packed, int count = 0)
    {
        using var output = new RdbOutput { Compresses = false };
        if (count > 0) output.Length(count);
        output.String(packed);
        return (form, output.Written.ToArray());
    }

    private static byte[] Damage(byte[] sound, Random random)
    {
        List<byte> value = [.. sound];
        for (int damages = random.Next(1, 4); damages > 0 && value.Count > 0; damages--)
        {
            // Lengths and counts come first.
            int at = random.Next(3) == 0 ? random.Next(Math.Min(value.Count, 24)) : random.Next(value.Count);
            switch (random.Next(12))
            {
                case 0: value.RemoveRange(at, value.Count - at); break;
                case 1: value.Insert(at, (byte)random.Next(256)); break;
                case 2: value.RemoveAt(at); break;
                case 3: value[at] = 255; break;
                case 4: value[at] = 0; break;
                case 5: value[at] = (byte)random.Next(256); break;
                case 6: value.InsertRange(at, [0x80, 0x7F, 0xFF, 0xFF, 0xFF]); break;
                case 7: value.InsertRange(at, [0x81, (byte)random.Next(256), 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]); break;
                default: value[at] ^= (byte)(1 << random.Next(8)); break;
            }
        }

        return [.. value];
    }
}
