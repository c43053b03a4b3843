using System.Buffers;
using System.Runtime.InteropServices;

namespace RedKite.Protocol;

/// <summary>A part of a large reply. Several chunks may lie in one block of memory.</summary>
/// <param name="Owner">The block.</param>
/// <param name="Start">Where the chunk begins in its block.</param>
/// <param name="Length">Its bytes.</param>
/// <param name="SharesBlock">Whether an earlier chunk lies in the same block.</param>
internal readonly record struct ReplyChunk(IMemoryOwner<byte> Owner, int Start, int Length, bool SharesBlock = false)
{
    /// <summary>The chunk's bytes.</summary>
    public ReadOnlySpan<byte> Bytes => Owner.Memory.Span.Slice(Start, Length);
}

/// <summary>
/// The part of large replies that has left a writer's buffer: chunks in order. Inserting into the middle divides a chunk in
/// two that share their block, so nothing is ever moved. The chain owns its blocks; a caller that keeps one beyond
/// <see cref="Clear"/> needs its own claim.
/// </summary>
internal sealed class ReplyChain(MemoryPool<byte> pool)
{
    // Large enough for few system calls, small enough to be released while the rest of a reply is still being sent.
    private const int BlockBytes = 256 * 1024;

    private readonly List<ReplyChunk> _chunks = [];

    internal long Bytes { get; private set; }

    internal ReadOnlySpan<ReplyChunk> Chunks => CollectionsMarshal.AsSpan(_chunks);

    /// <summary>Appends a copy; false when there is no memory for it.</summary>
    internal bool TryAppend(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            if (_chunks.Count == 0 || RoomBehind(_chunks[^1]) == 0)
            {
                if (!TryRent(BlockBytes, out IMemoryOwner<byte>? block)) return false;
                _chunks.Add(new ReplyChunk(block, 0, 0));
            }

            ReplyChunk last = _chunks[^1];
            int length = Math.Min(bytes.Length, RoomBehind(last));
            bytes[..length].CopyTo(last.Owner.Memory.Span[(last.Start + last.Length)..]);
            _chunks[^1] = last with { Length = last.Length + length };
            Bytes += length;
            bytes = bytes[length..];
        }

        return true;
    }

    /// <summary>Takes all chunks of another chain.</summary>
    internal void Take(ReplyChain other)
    {
        _chunks.AddRange(other._chunks);
        Bytes += other.Bytes;
        other._chunks.Clear();
        other.Bytes = 0;
    }

    /// <summary>Inserts a copy at a position; false when there is no memory for it.</summary>
    internal bool TryInsert(long position, ReadOnlySpan<byte> bytes)
    {
        if (!TryRent(bytes.Length, out IMemoryOwner<byte>? block)) return false;
        bytes.CopyTo(block.Memory.Span);
        int index = IndexOf(ref position);
        if (position > 0)
        {
            ReplyChunk divided = _chunks[index];
            _chunks[index] = divided with { Length = (int)position };
            _chunks.Insert(++index, new ReplyChunk(divided.Owner, divided.Start + (int)position, divided.Length - (int)position, SharesBlock: true));
        }

        _chunks.Insert(index, new ReplyChunk(block, 0, bytes.Length));
        Bytes += bytes.Length;
        return true;
    }

    /// <summary>Truncates the chain to a length.</summary>
    internal void Truncate(long length)
    {
        long left = length;
        int index = IndexOf(ref left);
        if (left > 0)
        {
            _chunks[index] = _chunks[index] with { Length = (int)left };
            index++;
        }

        Release(index);
        Bytes = length;
    }

    internal void CopyFrom(long position, Span<byte> destination)
    {
        for (int index = IndexOf(ref position); destination.Length > 0; index++, position = 0)
        {
            ReadOnlySpan<byte> bytes = _chunks[index].Bytes[(int)position..];
            bytes = bytes[..Math.Min(bytes.Length, destination.Length)];
            bytes.CopyTo(destination);
            destination = destination[bytes.Length..];
        }
    }

    internal void Clear()
    {
        Release(0);
        Bytes = 0;
    }

    private static int RoomBehind(ReplyChunk chunk) => chunk.Owner.Memory.Length - chunk.Start - chunk.Length;

    // The chunk that holds a position, which becomes one inside of it.
    private int IndexOf(ref long position)
    {
        int index = 0;
        for (; index < _chunks.Count && position >= _chunks[index].Length; index++) position -= _chunks[index].Length;
        return index;
    }

    // Drops the chunks from an index on. A block is released with its first chunk.
    private void Release(int first)
    {
        for (int i = first; i < _chunks.Count; i++)
        {
            if (!_chunks[i].SharesBlock) _chunks[i].Owner.Dispose();
        }

        _chunks.RemoveRange(first, _chunks.Count - first);
    }

    private bool TryRent(int bytes, out IMemoryOwner<byte> block)
    {
        try
        {
            block = pool.Rent(bytes);
            return true;
        }
        catch (OutOfMemoryException)
        {
            block = null!;
            return false;
        }
    }
}
