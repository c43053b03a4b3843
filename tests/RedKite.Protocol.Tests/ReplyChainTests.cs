using System.Buffers;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Protocol.Tests;

/// <summary>Replies that are larger than the writer's buffer: they move to chunks, and nothing about them is different.</summary>
public sealed class ReplyChainTests : IDisposable
{
    private readonly CountingPool _pool = new();

    public void Dispose() => _pool.Dispose();

    [Fact]
    public void Large_replies_of_any_kind_are_complete_and_in_order()
    {
        for (int seed = 0; seed < 20; seed++)
        {
            var random = new Random(seed);
            var reply = new ReplyWriter(_pool);
            using var expected = new MemoryStream();
            while (expected.Length < 5 << 20) WriteSome(random, reply, expected);
            Assert.True(reply.IsChained);
            Assert.Equal(expected.Length, reply.Length);
            Assert.True(reply.Written.SequenceEqual(expected.ToArray()));
            Assert.True(Pieces(reply).AsSpan().SequenceEqual(expected.ToArray()));
            reply.Clear();
            Assert.Equal((0, 0L), (_pool.Rented, reply.Length));
        }
    }

    [Fact]
    public void A_reply_can_be_truncated_to_any_length_and_continued()
    {
        for (int seed = 0; seed < TestScale.Of(gate: 20, full: 200); seed++)
        {
            var random = new Random(seed);
            var reply = new ReplyWriter(_pool);
            byte[] bytes = new byte[3 << 20];
            random.NextBytes(bytes);
            for (int at = 0; at < bytes.Length;)
            {
                int length = Math.Min(random.Next(200_000), bytes.Length - at);
                reply.Raw(bytes.AsSpan(at, length));
                at += length;
            }

            int cut = random.Next(bytes.Length);
            reply.Truncate(cut);
            Assert.Equal(cut, reply.Length);
            reply.Raw(bytes.AsSpan(cut));
            Assert.True(Pieces(reply).AsSpan().SequenceEqual(bytes));
            reply.Clear();
            Assert.Equal(0, _pool.Rented);
        }
    }

    [Fact]
    public void Heads_move_to_the_front_wherever_their_elements_begin()
    {
        for (int seed = 0; seed < TestScale.Of(gate: 30, full: 300); seed++)
        {
            // Nested arrays of unknown length, as XREAD has them: each head is written last and moved in front of its elements.
            var random = new Random(seed);
            var reply = new ReplyWriter(_pool);
            var expected = new List<byte>();
            byte[] filler = new byte[random.Next(2 << 20)];
            reply.Raw(filler);
            expected.AddRange(filler);
            WriteArray(random, reply, expected, depth: 3);
            reply.Integer(seed);
            expected.AddRange(Encoding.ASCII.GetBytes($":{seed}\r\n"));
            byte[] whole = [.. expected];
            Assert.True(Pieces(reply).AsSpan().SequenceEqual(whole), $"seed {seed}");

            // And what has been divided is cut back and released as well.
            int cut = random.Next(whole.Length);
            reply.Truncate(cut);
            Assert.True(Pieces(reply).AsSpan().SequenceEqual(whole.AsSpan(0, cut)));
            reply.Clear();
            Assert.Equal(0, _pool.Rented);
        }
    }

    [Fact]
    public void Parts_are_read_from_any_position()
    {
        var reply = new ReplyWriter(_pool);
        byte[] bytes = new byte[3_000_000];
        new Random(1).NextBytes(bytes);
        for (int at = 0; at < bytes.Length; at += 30_000) reply.Raw(bytes.AsSpan(at, 30_000));
        foreach (int position in new[] { 0, 1, 262_143, 262_144, 1_500_000, 2_999_999, 3_000_000 })
        {
            Assert.True(reply.WrittenFrom(position).SequenceEqual(bytes.AsSpan(position)));
        }

        reply.Clear();
    }

    [Fact]
    public void A_large_reply_is_an_event_and_so_is_an_error()
    {
        var reply = new ReplyWriter(_pool);
        reply.Ok();
        Assert.Equal(ReplyEvents.None, reply.TakeEvents());
        reply.Error("ERR no"u8);
        Assert.Equal(ReplyEvents.Error, reply.TakeEvents());
        reply.Bulk(new byte[2 << 20]);
        Assert.Equal(ReplyEvents.Large, reply.TakeEvents());
        Assert.Equal(ReplyEvents.None, reply.TakeEvents());
        reply.Clear();
    }

    [Fact]
    public void A_reply_for_which_there_is_no_memory_is_dropped_whole()
    {
        var reply = new ReplyWriter(_pool);
        _pool.RentsLeft = 10;
        reply.Ok();
        for (int i = 0; i < 100; i++) reply.Bulk(new byte[100_000]);
        Assert.True(reply.Overflowed);
        Assert.Equal(0, _pool.Rented);
        Assert.True((reply.TakeEvents() & ReplyEvents.Large) != 0);
        reply.Clear();
        reply.Ok();
        Assert.Equal("+OK\r\n"u8, reply.Written);
    }

    [Fact]
    public void A_limit_includes_chained_bytes()
    {
        var reply = new ReplyWriter(_pool) { BytesMax = 3_000_000 };
        for (int i = 0; i < 29; i++) reply.Bulk(new byte[100_000]);
        Assert.False(reply.Overflowed);
        Assert.False(reply.TryBeginRepeating(20_000));
        Assert.True(reply.Overflowed);
        Assert.Equal(0, _pool.Rented);
        reply.Clear();
        for (int i = 0; i < 45; i++) reply.Bulk(new byte[100_000]);
        Assert.True(reply.Overflowed);
        Assert.Equal(0, _pool.Rented);
        reply.Clear();
    }

    [Fact]
    public void What_another_writer_has_is_taken_without_a_copy_of_its_chunks()
    {
        for (int seed = 0; seed < 20; seed++)
        {
            var random = new Random(seed);
            var reply = new ReplyWriter(_pool);
            var other = new ReplyWriter(_pool);
            using var expected = new MemoryStream();
            reply.Array(3);
            expected.Write("*3\r\n"u8);
            long othersBytes = seed % 2 == 0 ? 5 << 20 : 1000;
            while (expected.Length < othersBytes) WriteSome(random, other, expected);
            int rented = _pool.Rented;
            reply.Take(other);
            Assert.InRange(_pool.Rented, rented, rented + 6); // for what was written before, and the MiB that the buffer of the other one may have
            Assert.Equal(0, other.Length);
            WriteSome(random, reply, expected);
            WriteSome(random, other, new MemoryStream());
            other.Clear();
            Assert.True(Pieces(reply).AsSpan().SequenceEqual(expected.ToArray()));
            reply.Clear();
            Assert.Equal(0, _pool.Rented);
        }
    }

    [Fact]
    public void What_another_writer_has_is_dropped_if_it_is_too_much()
    {
        var reply = new ReplyWriter(_pool) { BytesMax = 3_000_000 };
        var other = new ReplyWriter(_pool);
        reply.Bulk(new byte[100_000]);
        for (int i = 0; i < 29; i++) other.Bulk(new byte[100_000]);
        reply.Take(other);
        Assert.True(reply.Overflowed);
        Assert.Equal((0, 0L), (_pool.Rented, other.Length));
    }

    private static void WriteSome(Random random, ReplyWriter reply, MemoryStream expected)
    {
        byte[] value = new byte[random.Next(20) == 0 ? random.Next(800_000) : random.Next(300)];
        for (int i = 0; i < value.Length; i++) value[i] = (byte)('a' + random.Next(26));
        string text = Encoding.ASCII.GetString(value);
        switch (random.Next(6))
        {
            case 0:
                reply.Integer(value.Length);
                text = $":{value.Length}\r\n";
                break;
            case 1:
                reply.Raw(value);
                break;
            case 2:
                value.CopyTo(reply.BulkSpan(value.Length));
                text = $"${value.Length}\r\n{text}\r\n";
                break;
            case 3:
                reply.Bulk(text);
                text = $"${value.Length}\r\n{text}\r\n";
                break;
            case 4:
                reply.Error(value);
                text = $"-{text}\r\n";
                break;
            default:
                reply.Bulk(value);
                text = $"${value.Length}\r\n{text}\r\n";
                break;
        }

        expected.Write(Encoding.ASCII.GetBytes(text));
    }

    private static void WriteArray(Random random, ReplyWriter reply, List<byte> expected, int depth)
    {
        long start = reply.Length;
        int expectedStart = expected.Count;
        int count = random.Next(1, 6);
        for (int i = 0; i < count; i++)
        {
            if (depth > 0 && random.Next(2) == 0)
            {
                WriteArray(random, reply, expected, depth - 1);
                continue;
            }

            byte[] value = new byte[random.Next(4) == 0 ? random.Next(500_000) : random.Next(100)];
            random.NextBytes(value);
            reply.Bulk(value);
            expected.AddRange(Encoding.ASCII.GetBytes($"${value.Length}\r\n"));
            expected.AddRange(value);
            expected.AddRange("\r\n"u8);
        }

        long end = reply.Length;
        reply.Array(2);
        reply.BulkInteger(long.MaxValue);
        reply.Array(count);
        reply.MoveToFront(start, end);
        expected.InsertRange(expectedStart, Encoding.ASCII.GetBytes($"*2\r\n$19\r\n{long.MaxValue}\r\n*{count}\r\n"));
    }

    // As its owner sends it.
    private static byte[] Pieces(ReplyWriter reply)
    {
        using var pieces = new MemoryStream();
        foreach (ReplyChunk chunk in reply.Chunks) pieces.Write(chunk.Bytes);
        pieces.Write(reply.Tail);
        return pieces.ToArray();
    }

    // Gives arrays, counts those that are out, and has no more at some time.
    private sealed class CountingPool : MemoryPool<byte>
    {
        internal int Rented { get; private set; }

        internal int RentsLeft { get; set; } = int.MaxValue;

        public override int MaxBufferSize => int.MaxValue;

        public override IMemoryOwner<byte> Rent(int minBufferSize = -1)
        {
            if (RentsLeft-- == 0) throw new InsufficientMemoryException();
            Rented++;
            return new Block(this, minBufferSize);
        }

        protected override void Dispose(bool disposing)
        {
        }

        private sealed class Block(CountingPool pool, int bytes) : IMemoryOwner<byte>
        {
            private readonly byte[] _bytes = new byte[bytes];
            private bool _isDisposed;

            public Memory<byte> Memory => _isDisposed ? throw new ObjectDisposedException(nameof(Block)) : _bytes;

            public void Dispose()
            {
                Assert.False(_isDisposed, "a block was released twice");
                _isDisposed = true;
                pool.Rented--;
            }
        }
    }
}
