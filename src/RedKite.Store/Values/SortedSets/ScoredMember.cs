using System.Runtime.CompilerServices;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.SortedSets;

/// <summary>
/// The block of one member of a large sorted set. The member table owns it, and <see cref="ScoreTree{TSizes}"/> points to it.
/// <code>
/// 0  f64     score, never NaN
/// 8  varint  length of the member: seven bits a byte, the lowest first; the top bit says that more follow
///    then the member's bytes
/// </code>
/// </summary>
internal readonly unsafe struct ScoredMember : IMemberLayout
{
    private const int ScoreBytes = 8;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static double Score(byte* block) => *(double*)block;

    /// <summary>Changes the score of a block that no tree points to at the moment.</summary>
    internal static void SetScore(byte* block, double score) => *(double*)block = score;

    public static ReadOnlySpan<byte> Member(byte* block)
    {
        byte* at = block + ScoreBytes;
        uint length = *at++;
        if (length < 0x80) return new ReadOnlySpan<byte>(at, (int)length);
        length &= 0x7F;
        for (int shift = 7; ; shift += 7)
        {
            uint next = *at++;
            length |= (next & 0x7F) << shift;
            if (next < 0x80) return new ReadOnlySpan<byte>(at, (int)length);
        }
    }

    public static long Bytes(byte* block) => BytesFor(Member(block).Length);

    internal static long BytesFor(int memberLength) => ScoreBytes + LengthBytes(memberLength) + (long)memberLength;

    internal static void Initialize(byte* block, double score, ReadOnlySpan<byte> member)
    {
        *(double*)block = score;
        byte* at = block + ScoreBytes;
        var length = (uint)member.Length;
        for (; length >= 0x80; length >>= 7) *at++ = (byte)(length | 0x80);
        *at++ = (byte)length;
        member.CopyTo(new Span<byte>(at, member.Length));
    }

    private static int LengthBytes(int length)
    {
        int bytes = 1;
        for (; length >= 0x80; length >>= 7) bytes++;
        return bytes;
    }
}
