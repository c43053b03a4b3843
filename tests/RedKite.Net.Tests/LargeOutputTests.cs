using System.Net.Sockets;
using RedKite.Net.Interop;

namespace RedKite.Net.Tests;

/// <summary>Much output to a peer that takes all of it at once: other connections of the loop go on meanwhile.</summary>
public sealed class LargeOutputTests
{
    private const int PieceBytes = 256 * 1024;
    private const int Pieces = 100;
    private const long SentPerCycleMax = 4 << 20;

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Each_iteration_sends_a_part(bool endsAfterwards)
    {
        SinkTransport? transport = null;
        SharedBuffer? piece = null;
        var handler = new EchoHandler
        {
            Receiving = connection =>
            {
                for (int i = 0; i < Pieces; i++) connection.Queue(piece!, 0, PieceBytes);
                if (endsAfterwards) connection.CloseAfterSend();
            },
        };
        using EchoServer server = new("epoll", handler, wrap: inner => transport = new SinkTransport(inner));
        piece = server.Pool.Take(PieceBytes);
        using Socket client = server.Connect();
        client.Send("x"u8);
        EchoServer.WaitFor(() => transport!.Bytes >= (long)Pieces * PieceBytes, "everything is sent");
        Assert.InRange(transport!.BytesOfCycleMax, SentPerCycleMax, SentPerCycleMax + PieceBytes);
        if (endsAfterwards) EchoServer.WaitFor(() => server.Handler.ClosedCount == 1, "the connection is closed behind it");
        piece.Release();
    }

    // What the peer would take does not count against it.
    [Fact]
    public void Output_beyond_a_limit_is_offered_at_once()
    {
        const long OutputBytesMax = 6 << 20;
        SinkTransport? transport = null;
        SharedBuffer? piece = null;
        var handler = new EchoHandler
        {
            OutputBytesMax = OutputBytesMax,
            Receiving = connection =>
            {
                for (int i = 0; i < Pieces; i++) connection.Queue(piece!, 0, PieceBytes);
            },
        };
        using EchoServer server = new("epoll", handler, wrap: inner => transport = new SinkTransport(inner));
        piece = server.Pool.Take(PieceBytes);
        using Socket client = server.Connect();
        client.Send("x"u8);
        EchoServer.WaitFor(() => transport!.Bytes >= (long)Pieces * PieceBytes || handler.ClosedCount > 0, "everything is sent");
        Assert.Equal(0, handler.ClosedCount);
        Assert.InRange(handler.OutputWaitsBytesMax, OutputBytesMax, OutputBytesMax + PieceBytes);
        piece.Release();
    }

    /// <summary>A peer that takes everything. The client does not get it.</summary>
    private sealed class SinkTransport(Transport inner) : OuterTransport(inner)
    {
        private long _bytes;
        private long _cycle;
        private long _bytesOfCycle;

        internal long Bytes => Volatile.Read(ref _bytes);

        internal long BytesOfCycleMax { get; private set; }

        internal override int Send(Connection connection, ReadOnlySpan<byte> bytes)
        {
            if (_cycle != connection.Loop.Cycles) (_cycle, _bytesOfCycle) = (connection.Loop.Cycles, 0);
            _bytesOfCycle += bytes.Length;
            BytesOfCycleMax = Math.Max(BytesOfCycleMax, _bytesOfCycle);
            Volatile.Write(ref _bytes, _bytes + bytes.Length);
            return bytes.Length;
        }

        internal override int Send(Connection connection, OutputQueue queue) => Send(connection, queue.First);
    }
}
