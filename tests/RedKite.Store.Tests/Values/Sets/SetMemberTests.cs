using System.Runtime.InteropServices;
using RedKite.Store.Values.Sets;

namespace RedKite.Store.Tests.Structures;

public sealed unsafe class SetMemberTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(8)]
    [InlineData(14)]
    [InlineData(15)]
    [InlineData(16)]
    [InlineData(20)]
    [InlineData(31)]
    [InlineData(32)]
    [InlineData(254)]
    public void Blocks_are_equal_only_if_every_byte_is(int length)
    {
        byte* a = BlockOf(length);
        byte* b = BlockOf(length);
        Assert.True(SetMember.AreEqual(a, b));
        for (int i = 0; i < length; i++)
        {
            b[1 + i] ^= 1;
            Assert.False(SetMember.AreEqual(a, b));
            b[1 + i] ^= 1;
        }

        byte* shorter = BlockOf(length - 1);
        Assert.False(SetMember.AreEqual(a, shorter));
        Assert.False(SetMember.AreEqual(shorter, a));
        NativeMemory.Free(a);
        NativeMemory.Free(b);
        NativeMemory.Free(shorter);
    }

    // Exactly the member's size, so that reading beyond the member is reading beyond the allocation.
    private static byte* BlockOf(int length)
    {
        var block = (byte*)NativeMemory.Alloc((nuint)length + 1);
        *block = (byte)length;
        for (int i = 0; i < length; i++) block[1 + i] = (byte)(i * 7);
        return block;
    }
}
