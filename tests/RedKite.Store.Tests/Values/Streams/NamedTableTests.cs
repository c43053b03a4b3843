using System.Globalization;
using System.Text;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Tests.Structures.Streams;

/// <summary>A table of names against a list, at the sizes at which its form changes.</summary>
public sealed unsafe class NamedTableTests
{
    private const int FixedBytes = 2 * sizeof(int);

    [Fact]
    public void Names_are_in_order_at_all_sizes()
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        NamedTable table = default;
        var model = new List<int>();
        var random = new Random(5);
        int[] all = [.. Enumerable.Range(0, (3 * NamedTable.ChunkItems) + 10)];
        random.Shuffle(all);
        foreach (int number in all) Insert(ref table, arena, model, number);
        AssertEqual(table, model, arena);

        // Over the edges of the forms several times.
        foreach (int size in (int[])[(2 * NamedTable.ChunkItems) + 1, 2 * NamedTable.ChunkItems, (2 * NamedTable.ChunkItems) + 5, NamedTable.ChunkItems + 1, NamedTable.ChunkItems, NamedTable.ChunkItems + 3, NamedTable.ChunkItems - 2, 3, 0, 2])
        {
            while (model.Count > size)
            {
                int index = random.Next(model.Count);
                NamedTable.FreeItem(arena, table[index]);
                table.RemoveAt(arena, index);
                model.RemoveAt(index);
            }

            while (model.Count < size) Insert(ref table, arena, model, random.Next(1 << 20));
            AssertEqual(table, model, arena);
        }

        while (table.Count > 0)
        {
            NamedTable.FreeItem(arena, table[0]);
            table.RemoveAt(arena, 0);
        }

        Assert.Equal(0, arena.UsedBytes);
    }

    // An insertion in front of a million names moved eight megabytes.
    [Fact]
    public void A_change_moves_the_pointers_of_one_chunk_and_one_of_each_other()
    {
        const int Chunks = 20;
        using var source = new SlabSource();
        using var arena = new Arena(source);
        NamedTable table = default;
        for (int i = 0; i < Chunks * NamedTable.ChunkItems; i++) Assert.Equal(0, table.Insert(arena, i, null));
        for (int i = 0; i < 3; i++)
        {
            Assert.InRange(table.Insert(arena, 0, null), 1, NamedTable.ChunkItems + Chunks);
            Assert.InRange(table.Insert(arena, 5 * NamedTable.ChunkItems, null), 1, NamedTable.ChunkItems + Chunks);
        }

        for (int i = 0; i < 12; i++) Assert.InRange(table.RemoveAt(arena, i), 1, NamedTable.ChunkItems + Chunks);
        while (table.Count > NamedTable.ChunkItems + 1) Assert.Equal(0, table.RemoveAt(arena, table.Count - 1));
        while (table.Count > 0) table.RemoveAt(arena, table.Count - 1);
        Assert.Equal(0, arena.UsedBytes);
    }

    private static void Insert(ref NamedTable table, Arena arena, List<int> model, int number)
    {
        bool isKnown = table.TryFind(Name(number), out int index);
        Assert.Equal(model.BinarySearch(number), isKnown ? index : ~index);
        if (isKnown) return;
        table.Insert(arena, index, NamedTable.AllocateItem(arena, FixedBytes, Name(number)));
        model.Insert(index, number);
    }

    private static void AssertEqual(in NamedTable table, List<int> model, Arena arena)
    {
        Assert.Equal(model.Count, table.Count);
        long bytes = table.Bytes;
        for (int i = 0; i < model.Count; i++)
        {
            Assert.True(NamedTable.NameOf(table[i]).SequenceEqual(Name(model[i])));
            bytes += BlockSize.RoundUp(NamedTable.ItemBytes(table[i]));
        }

        Assert.Equal(arena.UsedBytes, bytes);
    }

    private static byte[] Name(int number) => Encoding.Latin1.GetBytes(number.ToString("D8", CultureInfo.InvariantCulture));
}
