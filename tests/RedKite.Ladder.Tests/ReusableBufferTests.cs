using System.Buffers;
using System.Globalization;
using System.IO.Pipelines;
using System.Text;
using RedKite.Ladder.Stages;
using RedKite.TestSupport;

namespace RedKite.Ladder.Tests;

public class ReusableBufferTests
{
    [Fact]
    public void Buffers_with_equal_bytes_are_equal()
    {
        var one = new ReusableBuffer(Bytes("kite"));
        var same = new ReusableBuffer(Pieces("ki", "te"));
        Assert.True(one.Equals(same) && one.Equals((object)same));
        Assert.Equal(one.GetHashCode(), same.GetHashCode());
        Assert.False(one.Equals(new ReusableBuffer(Bytes("kit"))));

        same.Assign(Bytes("a longer one than before"));
        Assert.False(one.Equals(same));
        Assert.Equal("a longer one than before", Encoding.ASCII.GetString(same.Bytes));
        Assert.Equal(same, new ReusableBuffer(same));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    [Long]
    public async Task Values_stay_intact_while_arrays_are_recycled(bool setLooksFirst)
    {
        // Every value repeats one digit: another digit in it would mean that an array was returned too early.
        var store = new ReusableBufferStore(setLooksFirst);
        using var end = new CancellationTokenSource(TimeSpan.FromSeconds(1));
        Task[] clients = [.. Enumerable.Range(0, 4).Select(seed => Task.Run(() => Work(seed)))];
        while (!end.IsCancellationRequested)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }

        await Task.WhenAll(clients);

        void Work(int seed)
        {
            var random = new Random(seed);
            var replies = new MemoryStream();
            PipeWriter output = PipeWriter.Create(replies);
            while (!end.IsCancellationRequested)
            {
                ReadOnlySequence<byte> key = Bytes(random.Next(16).ToString(CultureInfo.InvariantCulture));
                store.Set(key, Bytes(new string((char)('0' + random.Next(10)), 200)));
                replies.SetLength(0);
                store.WriteValue(key, output);
                output.FlushAsync().AsTask().Wait();
                string reply = Encoding.ASCII.GetString(replies.ToArray());
                Assert.Equal($"$200\r\n{new string(reply[6], 200)}\r\n", reply);
            }
        }
    }

    private static ReadOnlySequence<byte> Bytes(string text) => new(Encoding.ASCII.GetBytes(text));

    private static ReadOnlySequence<byte> Pieces(string first, string second)
    {
        var head = new Piece(Encoding.ASCII.GetBytes(first), 0);
        Piece tail = head.Append(Encoding.ASCII.GetBytes(second));
        return new ReadOnlySequence<byte>(head, 0, tail, second.Length);
    }

    private sealed class Piece : ReadOnlySequenceSegment<byte>
    {
        internal Piece(byte[] bytes, long before) => (Memory, RunningIndex) = (bytes, before);

        internal Piece Append(byte[] bytes)
        {
            var next = new Piece(bytes, RunningIndex + Memory.Length);
            Next = next;
            return next;
        }
    }
}
