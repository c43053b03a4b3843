using System.Net;
using System.Net.Sockets;
using System.Text;
using RedKite.Figures.Types;

namespace RedKite.Figures.Messages;

/// <summary>The connections of one row to one server: those that send, and those that get a message for each operation.</summary>
internal sealed class MessageLoad : IDisposable
{
    private readonly MessageRow _row;
    private readonly List<CommandPipe> _pipes = [];
    private readonly List<Socket> _subscribers = [];
    private readonly byte[] _received = new byte[64 * 1024];
    private readonly int _messageBytes = Encoding.ASCII.GetByteCount(
        $"*3\r\n$7\r\nmessage\r\n${MessageRows.Channel.Length}\r\n{MessageRows.Channel}\r\n${MessageRows.Message.Length}\r\n{MessageRows.Message}\r\n");

    private int _number;

    internal MessageLoad(MessageRow row, int port)
    {
        _row = row;
        try
        {
            for (int i = 0; i < row.Clients; i++)
            {
                var pipe = new CommandPipe(port);
                _pipes.Add(pipe);
                row.Open?.Invoke(pipe);
                pipe.Flush();
            }

            for (int i = 0; i < row.Subscribers; i++) Subscribe(port);
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    /// <summary>The operations that all connections send at a time.</summary>
    internal int Turn => _row.Clients * _row.Pipeline;

    /// <summary>Executes operations, a whole number of turns; every subscriber has its messages afterwards.</summary>
    internal void Run(int operations)
    {
        for (int done = 0; done < operations; done += Turn)
        {
            foreach (CommandPipe pipe in _pipes)
            {
                for (int i = 0; i < _row.Pipeline; i++) _row.Write(pipe, _number++);
                pipe.SendAll();
            }

            foreach (CommandPipe pipe in _pipes) pipe.Flush();
            foreach (Socket subscriber in _subscribers) Receive(subscriber, Turn * _messageBytes);
        }
    }

    public void Dispose()
    {
        foreach (CommandPipe pipe in _pipes) pipe.Dispose();
        foreach (Socket subscriber in _subscribers) subscriber.Dispose();
    }

    private void Subscribe(int port)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        _subscribers.Add(socket);
        socket.Connect(IPAddress.Loopback, port);
        socket.Send(Encoding.ASCII.GetBytes($"SUBSCRIBE {MessageRows.Channel}\r\n"));
        Receive(socket, Encoding.ASCII.GetByteCount($"*3\r\n$9\r\nsubscribe\r\n${MessageRows.Channel.Length}\r\n{MessageRows.Channel}\r\n:1\r\n"));
    }

    private void Receive(Socket socket, int bytes)
    {
        while (bytes > 0)
        {
            int read = socket.Receive(_received.AsSpan(0, Math.Min(bytes, _received.Length)));
            if (read == 0) throw new CannotMeasureException("the server closed a subscriber's connection");
            bytes -= read;
        }
    }
}
