using System.Buffers.Binary;
using System.Numerics;
using System.Security.Cryptography;

namespace RedKite.Persistence.Types;

/// <summary>
/// SHA-1 of a digest's parts, which are short: FIPS 180-4, section 6.1. The platform's takes 520 ns for 20 bytes, of which most is preparation, this one
/// 200 ns. From <see cref="ShortBytesMax"/> on the platform's is faster, because it uses the processor's instructions.
/// </summary>
internal static class Sha1
{
    /// <summary>The longest text that is hashed here.</summary>
    internal const int ShortBytesMax = 119; // two blocks with the end's nine bytes

    private const int BlockBytes = 64;
    private const int LengthBytes = 8;
    private const int Rounds = 80;

    /// <param name="text">The text; it may be the same memory as the hash.</param>
    /// <param name="hash">20 bytes.</param>
    internal static void Hash(scoped ReadOnlySpan<byte> text, scoped Span<byte> hash)
    {
        if (text.Length > ShortBytesMax)
        {
#pragma warning disable CA5350 // It protects nothing; Redis uses this hash.
            SHA1.HashData(text, hash);
#pragma warning restore CA5350
            return;
        }

        Span<byte> padded = stackalloc byte[2 * BlockBytes];
        int bytes = text.Length + 1 + LengthBytes <= BlockBytes ? BlockBytes : 2 * BlockBytes;
        text.CopyTo(padded);
        padded[text.Length] = 0x80;
        padded[(text.Length + 1)..bytes].Clear();
        BinaryPrimitives.WriteUInt64BigEndian(padded[(bytes - LengthBytes)..bytes], (ulong)text.Length * 8);
        Span<uint> state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0];
        for (int start = 0; start < bytes; start += BlockBytes) AddBlock(padded[start..], state);
        for (int i = 0; i < state.Length; i++) BinaryPrimitives.WriteUInt32BigEndian(hash[(sizeof(uint) * i)..], state[i]);
    }

    private static void AddBlock(scoped ReadOnlySpan<byte> block, scoped Span<uint> state)
    {
        Span<uint> words = stackalloc uint[Rounds];
        for (int i = 0; i < 16; i++) words[i] = BinaryPrimitives.ReadUInt32BigEndian(block[(sizeof(uint) * i)..]);
        for (int i = 16; i < Rounds; i++) words[i] = BitOperations.RotateLeft(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
        (uint a, uint b, uint c, uint d, uint e) = (state[0], state[1], state[2], state[3], state[4]);
        for (int i = 0; i < Rounds; i++)
        {
            (uint mixed, uint constant) = i switch
            {
                < 20 => (d ^ (b & (c ^ d)), 0x5A827999u),
                < 40 => (b ^ c ^ d, 0x6ED9EBA1u),
                < 60 => ((b & c) | (d & (b | c)), 0x8F1BBCDCu),
                _ => (b ^ c ^ d, 0xCA62C1D6u),
            };
            uint next = BitOperations.RotateLeft(a, 5) + mixed + e + constant + words[i];
            (e, d, c, b, a) = (d, c, BitOperations.RotateLeft(b, 30), a, next);
        }

        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
    }
}
