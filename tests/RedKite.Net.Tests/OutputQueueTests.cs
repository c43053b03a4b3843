using RedKite.Net.Interop;
using RedKite.TestSupport;

namespace RedKite.Net.Tests;

/// <summary>The output that waits for a connection, and its shared buffers: counted to the last reference.</summary>
public sealed class OutputQueueTests : IDisposable
{
    private readonly BufferPool _pool = new();

    public void Dispose() => _pool.Dispose();

    [Fact]
    public void Copies_and_shared_parts_leave_in_order_and_release_everything()
    {
        for (int seed = 0; seed < TestScale.Of(gate: 10, full: 100); seed++)
        {
            var random = new Random(seed);
            using SharedRun shared = new(_pool, random);
            using var queue = new OutputQueue(_pool);
            var expected = new Queue<byte>();
            for (int step = 0; step < 300; step++)
            {
                if (random.Next(3) > 0) Append(random, queue, shared, expected);
                else Take(random, queue, expected);
                Assert.Equal(expected.Count, queue.Length);
                Assert.True(queue.Capacity >= queue.Length);
            }

            while (expected.Count > 0) Take(random, queue, expected);
            Assert.Equal((0L, 0L, 0), (queue.Length, queue.Capacity, queue.Count));
            Assert.All(shared.Buffers, buffer => Assert.Equal(1, buffer.References));
        }

        Assert.Equal(0, _pool.UsedBytes);
    }

    [Fact]
    public void A_dropped_queue_releases_its_buffers()
    {
        var random = new Random(7);
        using (SharedRun shared = new(_pool, random))
        {
            using (var queue = new OutputQueue(_pool))
            {
                for (int i = 0; i < 200; i++) Append(random, queue, shared, new Queue<byte>());
                queue.Consume(queue.Length / 3);
            }

            Assert.All(shared.Buffers, buffer => Assert.Equal(1, buffer.References));
        }

        Assert.Equal(0, _pool.UsedBytes);
    }

    [Fact]
    public void Short_messages_are_put_together_and_long_shared_ones_are_not_copied()
    {
        using var queue = new OutputQueue(_pool);
        for (int i = 0; i < 1000; i++) queue.Append("+OK\r\n"u8);
        Assert.Equal(1, queue.Count);
        SharedBuffer message = _pool.Copy(new byte[1000]);
        long before = _pool.UsedBytes;
        for (int i = 0; i < 1000; i++) queue.Append(message, 0, 1000);
        Assert.Equal((1001, 1001), (queue.Count, message.References));
        Assert.Equal(before, _pool.UsedBytes);
        queue.Dispose();
        Assert.Equal(1, message.References);
        message.Release();
        Assert.Equal(0, _pool.UsedBytes);
    }

    [Fact]
    public void A_buffer_ends_with_its_last_reference_and_not_before()
    {
        SharedBuffer buffer = _pool.Copy("bytes"u8);
        Parallel.For(0, 4, _ =>
        {
            for (int i = 0; i < 50_000; i++) buffer.AddReference();
            for (int i = 0; i < 50_000; i++) buffer.Release();
        });
        Assert.Equal(1, buffer.References);
        Assert.True(buffer.GetSpan().StartsWith("bytes"u8));
        buffer.Release();
        Assert.Equal(0, _pool.UsedBytes);
        Assert.Throws<ObjectDisposedException>(buffer.AddReference);
    }

    [Fact]
    public void Chunks_are_reused_and_counted_while_in_use()
    {
        SharedBuffer[] chunks = [.. Enumerable.Range(0, 100).Select(_ => _pool.Take(BufferPool.ChunkBytes))];
        Assert.Equal(100L * BufferPool.ChunkBytes, _pool.UsedBytes);
        foreach (SharedBuffer chunk in chunks) chunk.GetSpan().Fill(1);
        foreach (SharedBuffer chunk in chunks) chunk.Release();
        Assert.Equal(0, _pool.UsedBytes);
        SharedBuffer again = _pool.Take(BufferPool.ChunkBytes);
        again.GetSpan().Fill(2);
        again.Release();
        _pool.Dispose();
    }

    private static void Append(Random random, OutputQueue queue, SharedRun shared, Queue<byte> expected)
    {
        if (random.Next(2) == 0)
        {
            byte[] bytes = new byte[random.Next(8) == 0 ? random.Next(400_000) : random.Next(400)];
            random.NextBytes(bytes);
            queue.Append(bytes);
            foreach (byte b in bytes) expected.Enqueue(b);
            return;
        }

        SharedBuffer buffer = shared.Buffers[random.Next(shared.Buffers.Length)];
        int start = random.Next(buffer.Capacity), length = random.Next(buffer.Capacity - start + 1);
        queue.Append(buffer, start, length);
        foreach (byte b in buffer.GetSpan().Slice(start, length)) expected.Enqueue(b);
    }

    // As a peer takes it: some of the first piece, all of it, or more.
    private static void Take(Random random, OutputQueue queue, Queue<byte> expected)
    {
        if (expected.Count == 0) return;
        var taken = new List<byte>();
        for (int i = 0; i < queue.Count; i++) taken.AddRange(queue[i].Bytes);
        int bytes = random.Next(1, Math.Min(taken.Count, 300_000) + 1);
        for (int i = 0; i < bytes; i++) Assert.Equal(expected.Dequeue(), taken[i]);
        queue.Consume(bytes);
    }

    private sealed class SharedRun : IDisposable
    {
        internal SharedRun(BufferPool pool, Random random)
        {
            Buffers = [.. Enumerable.Range(0, 5).Select(_ =>
            {
                byte[] bytes = new byte[random.Next(1, 3000)];
                random.NextBytes(bytes);
                return pool.Copy(bytes);
            })];
        }

        internal SharedBuffer[] Buffers { get; }

        public void Dispose()
        {
            foreach (SharedBuffer buffer in Buffers) buffer.Release();
        }
    }
}
