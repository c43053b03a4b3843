using System.Runtime.InteropServices;
using RedKite.Store.Memory;
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
    [InlineData(253)]
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

    [Theory]
    [InlineData(0)]
    [InlineData(20)]
    [InlineData(253)]
    [InlineData(254)]
    [InlineData(255)]
    [InlineData(70_000)]
    public void Forms_with_and_without_an_expiry_hold_the_same_member(int length)
    {
        using var source = new SlabSource();
        using var arena = new Arena(source, new ArenaGuard());
        byte[] member = [.. Enumerable.Range(0, length).Select(i => (byte)i)];
        byte* plain = SetMember.Create(arena, member);
        byte* expiring = SetMember.Create(arena, member, 1L << 40);
        byte* other = SetMember.Create(arena, [.. member, 1], 5);
        Assert.Equal((long.MaxValue, 1L << 40), (SetMember.Expiry(plain), SetMember.Expiry(expiring)));
        Assert.True(SetMember.Member(plain).SequenceEqual(member) && SetMember.Member(expiring).SequenceEqual(member));
        Assert.True(SetMember.AreEqual(plain, expiring) && SetMember.AreEqual(expiring, plain) && SetMember.AreEqual(expiring, expiring));
        Assert.False(SetMember.AreEqual(plain, other) || SetMember.AreEqual(other, plain) || SetMember.AreEqual(other, expiring));
        foreach (nint block in (nint[])[(nint)plain, (nint)expiring, (nint)other]) arena.Free((byte*)block, SetMember.Bytes((byte*)block));
        Assert.Equal(0, arena.UsedBytes);
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
