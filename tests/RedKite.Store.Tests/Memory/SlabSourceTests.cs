using System.Collections.Concurrent;
using RedKite.Store.Memory;
using RedKite.TestSupport;

namespace RedKite.Store.Tests.Memory;

public unsafe class SlabSourceTests
{
    private const int KeptMax = 64;

    [Fact]
    public void Slabs_are_aligned_zeroed_and_disjoint()
    {
        using var source = new SlabSource();
        var slabs = new HashSet<nint>();
        for (int i = 0; i < 300; i++)
        {
            byte* slab = source.Take();
            Assert.Equal(0, (nint)slab & (SlabSource.SlabBytes - 1));
            Assert.True(slabs.Add((nint)slab));
            Assert.False(Slab(slab).ContainsAnyExcept((byte)0));
            Slab(slab).Fill(0xFF);
        }

        Assert.Equal(300L * SlabSource.SlabBytes, source.HeldBytes);
    }

    [Fact]
    public void Slabs_of_both_sizes_are_aligned_and_disjoint()
    {
        using var source = new SlabSource();
        var random = new Random(1);
        var taken = new SortedDictionary<nint, int>();
        for (int i = 0; i < 400; i++)
        {
            bool large = random.Next(3) == 0;
            int bytes = large ? SlabSource.LargeSlabBytes : SlabSource.SlabBytes;
            byte* slab = large ? source.TakeLarge() : source.Take();
            Assert.Equal(0, (nint)slab & (bytes - 1));
            taken.Add((nint)slab, bytes);
        }

        Assert.Equal(taken.Values.Sum(bytes => (long)bytes), source.HeldBytes);
        nint end = 0;
        foreach ((nint slab, int bytes) in taken)
        {
            Assert.True(slab >= end, "Two slabs overlap.");
            end = slab + bytes;
        }
    }

    [Fact]
    public void Large_slabs_are_reused_and_release_their_pages()
    {
        using var source = new SlabSource();
        nint[] slabs = [.. Enumerable.Range(0, 24).Select(_ => (nint)source.TakeLarge())];
        foreach (nint slab in slabs) source.ReturnLarge((byte*)slab);
        Assert.Equal(24L * SlabSource.LargeSlabBytes, source.HeldBytes);
        Assert.Equal(slabs[^1], (nint)source.TakeLarge());
        source.ReturnLarge((byte*)slabs[^1]);
        ReleaseRound(source);
        Assert.Equal(16L * SlabSource.LargeSlabBytes, source.HeldBytes); // 4 MiB are kept
        ReleaseRound(source);
        Assert.Equal(12L * SlabSource.LargeSlabBytes, source.HeldBytes); // and are released by the MiB
        source.ReleaseKept();
        Assert.Equal(0, source.HeldBytes);
    }

    [Fact]
    public void Table_and_entry_slabs_are_in_separate_regions()
    {
        using var source = new SlabSource();
        var tables = new HashSet<nint>();
        var entries = new HashSet<nint>();
        for (int i = 0; i < 1_000; i++)
        {
            if (i % 4 == 0) tables.Add((nint)source.TakeForTables() / SlabSource.RegionBytes);
            entries.Add((nint)source.Take() / SlabSource.RegionBytes);
        }

        Assert.Equal(1_250L * SlabSource.SlabBytes, source.HeldBytes);
        Assert.Equal(8, tables.Count);
        Assert.Equal(32, entries.Count);
        Assert.Empty(tables.Intersect(entries));
    }

    [Fact]
    public void Regions_keep_their_contents_when_they_become_huge()
    {
        using var source = new SlabSource();
        var random = new Random(1);
        var slabs = new List<(nint Slab, byte Fill)>();
        Assert.False(source.MakeOneHuge());
        for (int i = 0; i < 40 * 32; i++)
        {
            var fill = (byte)random.Next(1, 256);
            slabs.Add(((nint)source.Take(), fill));
            Slab((byte*)slabs[^1].Slab).Fill(fill);
        }

        int made = 0;
        while (source.MakeOneHuge()) made++;
        if (SystemMemory.TryMakeHugePage((byte*)slabs[0].Slab, SlabSource.RegionBytes)) Assert.InRange(made, 15, 40); // at least the first ones
        foreach ((nint slab, byte fill) in slabs) Assert.False(Slab((byte*)slab).ContainsAnyExcept(fill));
    }

    // How much depends on the machine: the processor may translate while it waits for the page itself.
    [Fact]
    [Alone]
    public void Cost_of_translations_is_measured_on_ordinary_pages()
    {
        using var source = new SlabSource();
        Assert.Equal(0, source.MeasureTranslationNs());
        for (int i = 0; i < 40 * 32; i++) Slab((byte*)(nint)source.Take()).Fill(1);
        Assert.Equal(0, source.MakingHugeCpuNs);
        Assert.InRange(source.MeasureTranslationNs(), 0, 50_000);
        if (OperatingSystem.IsLinux()) Assert.InRange(source.MakingHugeCpuNs, 1, 2_000_000_000);
    }

    [Fact]
    public void Region_becomes_huge_once_a_quarter_is_carved()
    {
        using var source = new SlabSource();
        nint first = (nint)source.Take();
        for (int i = 1; i < 7; i++) source.Take();
        Assert.False(source.MakeOneHuge());
        source.Take();
        Assert.Equal(SystemMemory.TryMakeHugePage((byte*)first, SlabSource.RegionBytes), source.MakeOneHuge());
        Assert.False(source.MakeOneHuge()); // once
    }

    [Fact]
    public void Regions_with_many_released_pages_stay_ordinary()
    {
        using var source = new SlabSource();
        nint[] slabs = [.. Enumerable.Range(0, 40 * 32).Select(_ => (nint)source.Take())];
        foreach (nint slab in slabs.Take(400)) source.Return((byte*)slab);
        source.ReleaseKept();
        Assert.False(source.MakeOneHuge());
    }

    [Fact]
    public void Returned_slab_is_reused()
    {
        using var source = new SlabSource();
        byte* slab = source.Take();
        source.Return(slab);
        Assert.Equal(SlabSource.SlabBytes, source.HeldBytes); // kept for reuse
        Assert.Equal((nint)slab, (nint)source.Take());
        Assert.Equal(SlabSource.SlabBytes, source.HeldBytes);
    }

    [Fact]
    public void Surplus_slabs_release_their_pages_and_stay_readable()
    {
        const int Count = KeptMax + 100;
        using var source = new SlabSource();
        var slabs = new nint[Count];
        for (int i = 0; i < Count; i++)
        {
            slabs[i] = (nint)source.Take();
            Slab((byte*)slabs[i]).Fill(0xEE);
        }

        // Returning a slab makes no system call; each later call releases one.
        foreach (nint slab in slabs) source.Return((byte*)slab);
        for (int held = Count; held > KeptMax; held--)
        {
            Assert.Equal((long)held * SlabSource.SlabBytes, source.HeldBytes);
            Assert.True(source.GiveBack());
        }

        Assert.False(source.GiveBack());
        Assert.Equal((long)KeptMax * SlabSource.SlabBytes, source.HeldBytes);

        // A lookup's prefetch may read a released slab, which must not fault.
        int zeroed = 0;
        foreach (nint slab in slabs)
        {
            if (!Slab((byte*)slab).ContainsAnyExcept((byte)0)) zeroed++;
        }

        if (OperatingSystem.IsLinux()) Assert.Equal(Count - KeptMax, zeroed);
        var again = new HashSet<nint>();
        for (int i = 0; i < Count; i++) Assert.True(again.Add((nint)source.Take()));
        Assert.Equal(slabs.Order(), again.Order());
        Assert.Equal((long)Count * SlabSource.SlabBytes, source.HeldBytes);
    }

    [Fact]
    public void Unused_slabs_release_their_pages_in_time()
    {
        using var source = new SlabSource();
        nint[] slabs = [.. Enumerable.Range(0, 40).Select(_ => (nint)source.Take())];
        foreach (nint slab in slabs) source.Return((byte*)slab);
        ReleaseRound(source);
        Assert.Equal(40L * SlabSource.SlabBytes, source.HeldBytes); // recently in use

        source.Return(source.Take());
        ReleaseRound(source);
        Assert.Equal(24L * SlabSource.SlabBytes, source.HeldBytes); // sixteen per call
        ReleaseRound(source);
        ReleaseRound(source);
        Assert.Equal(0, source.HeldBytes);
    }

    [Fact]
    public void Threads_never_hold_the_same_slab()
    {
        using var source = new SlabSource();
        var failures = new ConcurrentQueue<string>();
        var threads = new Thread[4];
        using var ended = new CountdownEvent(threads.Length);
        for (int t = 0; t < threads.Length; t++)
        {
            byte mark = (byte)(t + 1);
            threads[t] = new Thread(() =>
            {
                TakeAndReturn(source, mark, failures);
                ended.Signal();
            });
            threads[t].Start();
        }

        while (!ended.IsSet) ReleaseRound(source);
        foreach (Thread thread in threads) thread.Join();
        Assert.Empty(failures);
        source.ReleaseKept();
        Assert.Equal(0, source.HeldBytes);
    }

    private static void ReleaseRound(SlabSource source)
    {
        source.BeginGivingBack();
        while (source.GiveBack())
        {
        }
    }

    private static void TakeAndReturn(SlabSource source, byte mark, ConcurrentQueue<string> failures)
    {
        var random = new Random(mark);
        var held = new List<nint>();
        for (int i = 0; i < 2_000; i++)
        {
            if (held.Count < 50 && random.Next(held.Count + 10) < 10)
            {
                byte* slab = source.Take();
                Slab(slab)[..64].Fill(mark);
                held.Add((nint)slab);
                continue;
            }

            var returned = (byte*)held[^1];
            if (Slab(returned)[..64].ContainsAnyExcept(mark)) failures.Enqueue("Another thread wrote to a slab in use.");
            held.RemoveAt(held.Count - 1);
            source.Return(returned);
        }

        foreach (nint slab in held) source.Return((byte*)slab);
    }

    private static Span<byte> Slab(byte* slab) => new(slab, SlabSource.SlabBytes);
}
