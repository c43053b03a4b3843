using FsCheck;
using FsCheck.Fluent;
using RedKite.Store.Memory;

namespace RedKite.Store.Tests.Memory;

public class BlockSizeTests
{
    [Fact]
    public void Class_sizes_round_up_to_their_class()
    {
        for (int bytes = 0; bytes <= BlockSize.ClassBlockMax; bytes++)
        {
            int sizeClass = BlockSize.ClassOf(bytes);
            Assert.InRange(sizeClass, 1, BlockSize.ClassCount - 1);
            Assert.Equal(BlockSize.RoundUp(bytes), BlockSize.BytesOfClass(sizeClass));
        }
    }

    [Fact]
    public void Every_class_is_its_own_size_in_ascending_order()
    {
        for (int sizeClass = 1; sizeClass < BlockSize.ClassCount; sizeClass++)
        {
            int bytes = BlockSize.BytesOfClass(sizeClass);
            Assert.Equal(sizeClass, BlockSize.ClassOf(bytes));
            Assert.Equal(0, bytes % 8);
            if (sizeClass > 1) Assert.Equal(sizeClass, BlockSize.ClassOf(BlockSize.BytesOfClass(sizeClass - 1) + 1));
        }

        Assert.Equal(BlockSize.ClassBlockMax, BlockSize.BytesOfClass(BlockSize.ClassCount - 1));
    }

    [Fact]
    public void Run_sizes_round_up_to_whole_units()
    {
        for (int bytes = BlockSize.ClassBlockMax + 1; bytes <= BlockSize.RunBlockMax; bytes++)
        {
            long rounded = BlockSize.RoundUp(bytes);
            Assert.Equal(0, rounded % BlockSize.RunUnitBytes);
            Assert.InRange(rounded - bytes, 0, BlockSize.RunUnitBytes - 1);
        }
    }

    [Fact]
    public void Rounding_is_stable_and_wastes_a_sixteenth_in_slabs_an_eighth_beyond()
    {
        Prop.ForAll(ArbMap.Default.ArbFor<long>().MapFilter(value => (value & long.MaxValue) >> (int)(value & 31), value => value > 0 && value < 1L << 40), bytes =>
        {
            long rounded = BlockSize.RoundUp(bytes);
            Assert.True(rounded >= bytes);
            Assert.Equal(rounded, BlockSize.RoundUp(rounded));
            Assert.True(rounded <= BlockSize.RoundUp(bytes + 1));
            Assert.True(rounded - bytes < Math.Max(8, (bytes / (bytes <= BlockSize.RunBlockMax ? 16.0 : 8.0)) + 1), $"{bytes} bytes take {rounded}");
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(20_000));
    }
}
