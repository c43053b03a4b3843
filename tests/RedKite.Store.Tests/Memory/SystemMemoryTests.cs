using RedKite.Store.Memory;

namespace RedKite.Store.Tests.Memory;

public unsafe class SystemMemoryTests
{
    private const int Bytes = 2 << 20;

    [Fact]
    public void Mapped_memory_is_zeroed_and_stays_so_when_populated()
    {
        byte* mapped = SystemMemory.Map(2 * Bytes);
        SystemMemory.Populate(mapped, Bytes);
        Assert.Equal(OperatingSystem.IsLinux(), SystemMemory.PopulateHugePage(mapped + Bytes, Bytes) > 0);
        Assert.False(new Span<byte>(mapped, 2 * Bytes).ContainsAnyExcept((byte)0));
        SystemMemory.Unmap(mapped, 2 * Bytes);
    }

    [Fact]
    public void Pages_replaced_by_a_huge_page_keep_their_contents()
    {
        byte* mapped = SystemMemory.Map(3 * Bytes);
        new Random(1).NextBytes(new Span<byte>(mapped, 3 * Bytes));
        bool made = SystemMemory.TryMakeHugePage(mapped + Bytes, Bytes);
        if (OperatingSystem.IsLinux() && Environment.OSVersion.Version >= new Version(6, 1)) Assert.True(made);
        var expected = new byte[3 * Bytes];
        new Random(1).NextBytes(expected);
        Assert.True(new Span<byte>(mapped, 3 * Bytes).SequenceEqual(expected));
        SystemMemory.Unmap(mapped, 3 * Bytes);
    }
}
