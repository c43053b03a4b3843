using FsCheck;
using FsCheck.Fluent;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Tests.Structures;

/// <summary>A table of members against a dictionary, on the guarded arena.</summary>
public sealed class MemberTableTests
{
    [Fact]
    public void Generated_operations_agree_with_a_dictionary()
    {
        Prop.ForAll(ArbMap.Default.ArbFor<(byte Kind, byte Members, ushort First)[]>(), steps =>
        {
            using var world = new MemberTableWorld();
            foreach ((byte kind, byte members, ushort first) in steps)
            {
                // A step works on a run of adjacent members, so that tables grow and shrink by more than a few.
                for (int member = first % 700; member < (first % 700) + (members % 64) + 1; member++)
                {
                    if (kind % 5 < 2) world.Write(member, first);
                    else if (kind % 5 == 4) world.AssertFind(member);
                    else world.Remove(member);
                }

                if (kind % 16 == 0) world.AssertAll();
            }

            world.AssertAll();
            world.Check();
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(150).WithStartSize(5).WithEndSize(120));
    }

    [Theory]
    [InlineData(60)]
    [InlineData(2_000)]
    [InlineData(9_000)]
    public void Growth_and_shrinking_over_many_levels_agree_with_a_dictionary(int members)
    {
        Randomness.Run(random =>
        {
            using var world = new MemberTableWorld();
            for (int step = 0; step < 60_000; step++)
            {
                bool growing = step / 15_000 % 2 == 0;
                int member = random.Next(members);
                if (random.Next(4) == 0) world.AssertFind(member);
                else if (random.Next(5) == 0 != growing) world.Write(member, step);
                else world.Remove(member);
                if (step % 7_500 == 0) world.AssertAll();
            }

            world.AssertAll();
            world.Check();
        });
    }

    [Fact]
    public void Table_is_small_with_few_members_and_shrinks_back()
    {
        // With one secret: by chance, buckets are full sooner with another.
        using var world = new MemberTableWorld(new KeyHasher("a secret of 24 bytes ..."u8));
        long empty = world.Table.TableBytes;
        Assert.Equal(128, empty);
        for (int member = 0; member < 6; member++) world.Write(member, 0);
        Assert.Equal(empty, world.Table.TableBytes);
        for (int member = 0; member < 30_000; member++)
        {
            world.Write(member, 0);
            if (member > 100) Assert.InRange((double)world.Table.TableBytes / (member + 1), 8, 19);
        }

        for (int member = 29_999; member >= 0; member--) world.Remove(member);
        Assert.Equal(empty, world.Table.TableBytes);
    }

    [Fact]
    public void Reported_bytes_equal_allocated_bytes()
    {
        Randomness.Run(random =>
        {
            using var world = new MemberTableWorld();
            for (int step = 0; step < 20_000; step++)
            {
                if (random.Next(3) != 0 == (step < 10_000)) world.Write(random.Next(5_000), step);
                else world.Remove(random.Next(5_000));
                if (step % 100 == 0) Assert.Equal(world.UsedBytes, world.Table.MemoryBytes(samples: 0));
            }
        });
    }

    [Fact]
    public void Scan_returns_every_member_that_stays_across_splits_and_joins()
    {
        Prop.ForAll(ArbMap.Default.ArbFor<(NonNegativeInt Staying, (byte Turns, byte Target)[] Phases)>(), sample =>
        {
            using var world = new MemberTableWorld();
            int staying = sample.Staying.Get % 300;
            for (int member = 0; member < staying; member++) world.Write(member, 0);
            int coming = 0;
            var seen = new HashSet<int>();
            ulong cursor = 0;
            int phase = 0, turns = 0;
            do
            {
                if (phase < sample.Phases.Length && ++turns >= sample.Phases[phase].Turns % 16)
                {
                    turns = 0;
                    int target = sample.Phases[phase++].Target * 8;
                    for (; coming < target; coming++) world.Write(staying + coming, 0);
                    for (; coming > target; coming--) world.Remove(staying + coming - 1);
                }

                for (MemberEnumerator members = world.Table.ScanBucket(ref cursor); members.MoveNext();) seen.Add(MemberTableWorld.MemberOf(members.Current));
            }
            while (cursor != 0);

            for (int member = 0; member < staying; member++) Assert.True(seen.Contains(member), $"Member {member} was present all the time but not returned.");
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(300).WithStartSize(3).WithEndSize(60));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(100)]
    [InlineData(5_000)]
    public void Without_changes_scan_and_enumeration_return_every_member_once(int members)
    {
        using var world = new MemberTableWorld();
        for (int member = 0; member < members; member++) world.Write(member, 0);
        var found = new List<int>();
        ulong cursor = 0;
        do
        {
            for (MemberEnumerator bucket = world.Table.ScanBucket(ref cursor); bucket.MoveNext();) found.Add(MemberTableWorld.MemberOf(bucket.Current));
        }
        while (cursor != 0);
        Assert.Equal(Enumerable.Range(0, members), found.Order());
        world.AssertAll();
    }

    [Fact]
    public void Forged_cursor_is_harmless_and_its_scan_ends()
    {
        Randomness.Run(random =>
        {
            using var world = new MemberTableWorld();
            for (int member = 0; member < 3_000; member++) world.Write(member, 0);
            for (int i = 0; i < 300; i++)
            {
                var cursor = (ulong)random.NextInt64(long.MinValue, long.MaxValue) >> random.Next(64);
                int turns = 0;
                while (cursor != 0)
                {
                    Assert.True(++turns < 10_000, "The scan does not terminate.");
                    for (MemberEnumerator members = world.Table.ScanBucket(ref cursor); members.MoveNext();) Assert.InRange(MemberTableWorld.MemberOf(members.Current), 0, 2_999);
                }
            }
        });
    }

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(150)]
    [InlineData(1_000)]
    public void Sampling_is_uniform(int members)
    {
        using var world = new MemberTableWorld();
        for (int member = 0; member < members; member++) world.Write(member, 0);
        var random = new Random(17);
        var counts = new int[members];
        const int Mean = 200;
        for (int i = 0; i < members * Mean; i++) counts[MemberTableWorld.MemberOf(world.Pick(random))]++;

        // Chi-square by degrees of freedom, within five standard deviations.
        double square = counts.Sum(count => Math.Pow(count - Mean, 2) / Mean);
        double degrees = Math.Max(1, members - 1);
        Assert.InRange(square, 0, degrees + (5 * Math.Sqrt(2 * degrees)));
    }

    [Fact]
    public void Sampling_an_empty_table_returns_nothing()
    {
        using var world = new MemberTableWorld();
        Assert.Equal(0, world.Pick(new Random(1)));
    }

    [Fact]
    public void Freeing_slices_have_about_the_requested_size()
    {
        using var world = new MemberTableWorld();
        for (int member = 0; member < 10_000; member++) world.Write(member, 0);
        int slices = 1;
        while (world.FreeSlice(100)) slices++;
        Assert.InRange(slices, 100, 140);
        Assert.Equal(0, world.UsedBytes);
    }

    [Fact]
    public void Only_expired_members_are_freed_in_slices()
    {
        Prop.ForAll(ArbMap.Default.ArbFor<(NonNegativeInt Work, (byte Kind, byte Members, ushort First)[] Steps)>(), sample =>
        {
            using var world = new MemberTableWorld();
            int nowMs = 0;
            foreach ((byte kind, byte members, ushort first) in sample.Steps)
            {
                for (int member = first % 700; member < (first % 700) + members; member++)
                {
                    if (kind % 4 < 2) world.Write(member, first, member % 3 == 0 ? null : nowMs + 1 + (first % 90));
                    else if (kind % 4 == 2) world.Remove(member);
                }

                if (kind % 4 == 3) world.FreeExpired(nowMs += kind / 4, 1 + (sample.Work.Get * 40));
                world.AssertAll();
            }

            world.FreeExpired(nowMs + 100, 1);
            world.Check();
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(150).WithStartSize(3).WithEndSize(60));
    }

    [Fact]
    public void Slice_of_expired_members_has_the_requested_length()
    {
        using var world = new MemberTableWorld();
        for (int member = 0; member < 10_000; member++) world.Write(member, 0, member % 2 == 0 ? 5 : 9);
        int workMax = 1_000;
        long freed = world.Table.FreeExpired(7, ref workMax, out long earliestMs);
        Assert.InRange(freed, 500, 1_500);
        Assert.InRange(earliestMs, 0, 7);
        workMax = int.MaxValue;
        Assert.Equal(5_000 - freed, world.Table.FreeExpired(7, ref workMax, out earliestMs));
        Assert.Equal(9, earliestMs);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(5)]
    [InlineData(90)]
    [InlineData(4_000)]
    public void Copy_has_the_same_members_and_is_independent(int members)
    {
        using var world = new MemberTableWorld();
        for (int member = 0; member < members; member++) world.Write(member, member);
        using MemberTableWorld copy = world.Copy();
        copy.AssertAll();
        for (int member = 0; member < members; member++)
        {
            if (member % 3 == 0) world.Remove(member);
            copy.Write(member + 1_000, member);
        }

        world.AssertAll();
        copy.AssertAll();
        copy.Check();
    }
}
