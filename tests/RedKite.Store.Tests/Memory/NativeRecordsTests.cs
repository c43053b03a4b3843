using RedKite.Store.Memory;

namespace RedKite.Store.Tests.Memory;

/// <summary>Records come back as they were added, and take little more than their bytes.</summary>
public sealed class NativeRecordsTests
{
    [Theory]
    [InlineData(0, 0)]
    [InlineData(1, 1000)]
    [InlineData(100, 1000)]
    [InlineData(30_000, 40)] // several do not fill a chunk
    [InlineData(200_000, 10)]
    [InlineData(1_000_000, 3)] // each has a chunk of its own
    public void Records_come_back_in_their_order(int bytes, int count)
    {
        using var records = new NativeRecords();
        for (int i = 0; i < count; i++) records.Add(bytes).Fill((byte)i);
        int next = 0;
        foreach (Span<byte> record in records)
        {
            Assert.Equal(bytes, record.Length);
            Assert.Equal(-1, record.IndexOfAnyExcept((byte)next++));
        }

        Assert.Equal(count, next);
        Assert.Equal(count, records.Count);
    }

    [Fact]
    public void Records_of_all_sizes_stay_as_they_are()
    {
        var random = new Random(20261122);
        var lengths = new List<int>();
        using var records = new NativeRecords();
        for (int i = 0; i < 300; i++)
        {
            lengths.Add(random.Next(1 << random.Next(1, 19)));
            records.Add(lengths[^1]).Fill((byte)i);
        }

        int next = 0;
        foreach (Span<byte> record in records)
        {
            Assert.Equal(lengths[next], record.Length);
            Assert.Equal(-1, record.IndexOfAnyExcept((byte)next++));
        }
    }

    // A large record begins a chunk of its own; what was left of the one before is not kept.
    [Fact]
    public void Reserved_memory_is_near_what_is_used()
    {
        using var records = new NativeRecords();
        long used = 0;
        for (int i = 0; i < 200; i++)
        {
            int bytes = i % 2 == 0 ? 100 : 70_000;
            records.Add(bytes);
            used += bytes;
        }

        Assert.InRange(records.MemoryBytes, used, (used * 9 / 8) + (256 * 1024));
        records.Dispose();
        Assert.Equal(0, records.MemoryBytes);
    }

    [Fact]
    public void Refused_memory_adds_nothing()
    {
        using var records = new NativeRecords();
        records.Add(400).Fill(1);
        SystemMemory.Refuses = true;
        try
        {
            Assert.Throws<InsufficientMemoryException>(() => records.Add(400).Length);
        }
        finally
        {
            SystemMemory.Refuses = false;
        }

        records.Add(400).Fill(2);
        var first = new List<byte>();
        foreach (Span<byte> record in records) first.Add(record[0]);
        Assert.Equal([1, 2], first);
        Assert.Equal(2, records.Count);
    }
}
