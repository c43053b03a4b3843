using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RedKite.Net.Interop;

/// <summary>
/// The Linux transport: one epoll set, level-triggered, and the calls made directly. io_uring was measured and gained
/// nothing over it; the runtime's own sockets cost four times the CPU for an unpipelined request.
/// </summary>
internal sealed unsafe class EpollTransport : Transport
{
    private const int EventsMax = 512;
    private const int SolSocket = 1;
    private const int KeepAlive = 9;
    private const int IpProtoTcp = 6;
    private const int TcpNoDelay = 1;
    private const int TcpKeepIdle = 4;
    private const int TcpKeepInterval = 5;
    private const int TcpKeepCount = 6;
    private const int AddressBytesMax = 128;
    private const int AcceptsPerWake = 64;
    private const int PiecesPerSend = 16; // 4 MiB of chunks, more than a socket takes
    private const int ClockMonotonic = 1;

    private readonly int _epoll;
    private readonly SafeFileHandle _wakeHandle; // counts its users: a late wake cannot hit another file's descriptor
    private readonly int _wake;
    private readonly int _timer;
    private readonly byte* _events;
    private readonly Dictionary<int, ListeningSocket> _listeners = [];
    private int _lastListener = -1; // the highest descriptor of them
    private bool _timerIsDue;
    private bool _acceptingRests;
    private Connection?[] _connections = new Connection?[256]; // by descriptor

    internal EpollTransport()
    {
        _epoll = LinuxCalls.epoll_create1(LinuxCalls.CloseOnExec);
        _wake = LinuxCalls.eventfd(0, LinuxCalls.NonBlocking | LinuxCalls.CloseOnExec);
        _timer = LinuxCalls.timerfd_create(ClockMonotonic, LinuxCalls.NonBlocking | LinuxCalls.CloseOnExec);
        if (_epoll < 0 || _wake < 0 || _timer < 0) throw new SocketException(Marshal.GetLastSystemError());
        _wakeHandle = new SafeFileHandle(_wake, ownsHandle: true);
        _events = (byte*)NativeMemory.Alloc(EventsMax * 16);
        LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollAdd, _wake, LinuxCalls.EpollIn);
        LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollAdd, _timer, LinuxCalls.EpollIn);
    }

    internal override void Listen(ListeningSocket listener)
    {
        if (!listener.TryAddLoop()) return;
        listener.Socket.Blocking = false;
        var descriptor = (int)listener.Socket.Handle;
        _listeners[descriptor] = listener;
        _lastListener = Math.Max(_lastListener, descriptor);
        Watch(descriptor);
    }

    internal override void StopListening()
    {
        foreach ((int descriptor, ListeningSocket listener) in _listeners)
        {
            LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollDelete, descriptor, 0);
            listener.RemoveLoop();
        }

        _listeners.Clear();
    }

    internal override void StopListening(ListeningSocket listener)
    {
        foreach ((int descriptor, ListeningSocket known) in _listeners)
        {
            if (known != listener) continue;
            LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollDelete, descriptor, 0);
            _listeners.Remove(descriptor);
            listener.RemoveLoop();
            break;
        }
    }

    internal override void ResumeAccepting()
    {
        if (!_acceptingRests) return;
        _acceptingRests = false;
        foreach (int descriptor in _listeners.Keys)
        {
            LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollDelete, descriptor, 0);
            Watch(descriptor);
        }
    }

    // A timer of its own, not epoll_wait's timeout: that one is set and cancelled with every wait, which on a virtual
    // machine costs an exit to the hypervisor each time (measured: 50 of 160 ns for each operation at pipeline 64).
    internal override void SetTimer(long microseconds)
    {
        // A timer that fires at once costs more than the slice of work that it is set for.
        _timerIsDue = microseconds == 0;
        if (_timerIsDue) return;
        nint* value = stackalloc nint[4];
        value[0] = value[1] = 0;
        value[2] = (nint)(microseconds / 1_000_000);
        value[3] = (nint)(microseconds % 1_000_000 * 1000);
        _ = LinuxCalls.timerfd_settime(_timer, 0, value, null);
    }

    internal override void Wait(EventLoop loop)
    {
        int ready = LinuxCalls.EpollWait(_epoll, _events, EventsMax, _timerIsDue || SkipsWait || Gathers ? 0 : -1);
        loop.BeginCycle();
        if (_timerIsDue) loop.TimerFired();
        if (_listeners.Count > 0) AcceptFirst(ready, loop);
        for (int i = 0; i < ready; i++)
        {
            byte* entry = _events + (i * LinuxCalls.EventBytes);
            int events = *(int*)entry;
            var descriptor = *(int*)(entry + LinuxCalls.EventDataOffset);
            if ((uint)descriptor < (uint)_connections.Length && _connections[descriptor] is { } connection)
            {
                if ((events & LinuxCalls.EpollOut) != 0) connection.Flush();
                if ((events & (LinuxCalls.EpollIn | LinuxCalls.EpollError | LinuxCalls.EpollHangUp)) != 0)
                {
                    if (connection.IsReading) loop.Readable(connection);
                    else if ((events & (LinuxCalls.EpollError | LinuxCalls.EpollHangUp)) != 0) connection.Close();
                }
            }
            else if (descriptor == _wake || descriptor == _timer)
            {
                ulong value;
                _ = LinuxCalls.read(descriptor, (byte*)&value, sizeof(ulong));
                if (descriptor == _timer) loop.TimerFired();
            }
        }
    }

    internal override void Wake()
    {
        bool held = false;
        try
        {
            _wakeHandle.DangerousAddRef(ref held);
            ulong one = 1;
            _ = LinuxCalls.write(_wake, (byte*)&one, sizeof(ulong));
        }
        catch (ObjectDisposedException)
        {
            // A message to a loop that has ended.
        }
        finally
        {
            if (held) _wakeHandle.DangerousRelease();
        }
    }

    internal override void Register(Connection connection)
    {
        int descriptor = connection.Descriptor;
        if (descriptor >= _connections.Length) Array.Resize(ref _connections, Math.Max(descriptor + 1, _connections.Length * 2));
        _connections[descriptor] = connection;
        LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollAdd, descriptor, LinuxCalls.EpollIn);
    }

    internal override bool CanForget => true;

    // Level-triggered: what has arrived meanwhile is reported to the transport that the connection is registered with next.
    internal override void Forget(Connection connection)
    {
        _connections[connection.Descriptor] = null;
        LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollDelete, connection.Descriptor, 0);
    }

    internal override void SetNoDelay(Connection connection, bool on) => LinuxCalls.SetOption(connection.Descriptor, IpProtoTcp, TcpNoDelay, on ? 1 : 0);

    internal override void SetKeepAlive(Connection connection, int seconds)
    {
        if (connection.RemoteAddress.IsUnix) return;
        int descriptor = connection.Descriptor;
        LinuxCalls.SetOption(descriptor, SolSocket, KeepAlive, 1);
        LinuxCalls.SetOption(descriptor, IpProtoTcp, TcpKeepIdle, seconds);
        LinuxCalls.SetOption(descriptor, IpProtoTcp, TcpKeepInterval, Math.Max(1, seconds / 3));
        LinuxCalls.SetOption(descriptor, IpProtoTcp, TcpKeepCount, 3);
    }

    internal override int Receive(Connection connection, Span<byte> buffer)
    {
        fixed (byte* start = buffer)
        {
            nint received = LinuxCalls.Receive(connection.Descriptor, start, buffer.Length);
            return received >= 0 ? (int)received : Failure();
        }
    }

    internal override int Send(Connection connection, ReadOnlySpan<byte> bytes)
    {
        fixed (byte* start = bytes)
        {
            nint sent = LinuxCalls.Send(connection.Descriptor, start, bytes.Length);
            return sent >= 0 ? (int)sent : Failure();
        }
    }

    internal override int Send(Connection connection, OutputQueue queue)
    {
        if (queue.Count == 1) return Send(connection, queue.First);
        int count = Math.Min(queue.Count, PiecesPerSend);
        nint* pieces = stackalloc nint[2 * PiecesPerSend];
        for (int i = 0; i < count; i++)
        {
            ref OutputQueue.Segment segment = ref queue[i];
            pieces[2 * i] = (nint)(segment.Buffer.Address + segment.Start);
            pieces[(2 * i) + 1] = segment.Length;
        }

        nint sent = LinuxCalls.SendPieces(connection.Descriptor, pieces, count);
        return sent >= 0 ? (int)sent : Failure();
    }

    internal override void SetInterest(Connection connection, bool read, bool write)
    {
        int events = (read ? LinuxCalls.EpollIn : 0) | (write ? LinuxCalls.EpollOut : 0);
        LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollModify, connection.Descriptor, events);
    }

    internal override void ShutdownSend(Connection connection)
    {
        const int Write = 1;
        _ = LinuxCalls.shutdown(connection.Descriptor, Write);
    }

    internal override void Close(Connection connection)
    {
        // Closing takes the descriptor out of the epoll set.
        _connections[connection.Descriptor] = null;
        if (connection.TransportState is Socket socket) socket.Dispose(); // one that this side connected: the socket owns the descriptor
        else _ = LinuxCalls.close(connection.Descriptor);
    }

    public override void Dispose()
    {
        _wakeHandle.Dispose();
        _ = LinuxCalls.close(_timer);
        _ = LinuxCalls.close(_epoll);
        NativeMemory.Free(_events);
    }

    private static int Failure() =>
        Marshal.GetLastSystemError() is LinuxCalls.WouldBlock or LinuxCalls.Interrupted ? WouldBlock : Failed;

    private void Accept(int descriptor, ListeningSocket listener, EventLoop loop)
    {
        byte* address = stackalloc byte[AddressBytesMax];
        for (int i = 0; i < AcceptsPerWake; i++)
        {
            if (loop.Sockets.IsFull)
            {
                if (i == 0) RestFromAccepting(descriptor); // else this iteration may close some
                return;
            }

            int addressBytes = AddressBytesMax;
            int accepted = LinuxCalls.accept4(descriptor, address, &addressBytes, LinuxCalls.NonBlocking | LinuxCalls.CloseOnExec);
            if (accepted < 0)
            {
                if (Marshal.GetLastSystemError() is LinuxCalls.TooManyFiles or LinuxCalls.FileTableFull)
                {
                    loop.AcceptFailed();
                    RestFromAccepting(descriptor);
                }

                return;
            }

            PeerAddress remote = Address(address, addressBytes, listener);
            if (!remote.IsUnix) LinuxCalls.SetOption(accepted, IpProtoTcp, TcpNoDelay, 1);
            addressBytes = AddressBytesMax;
            PeerAddress local = LinuxCalls.getsockname(accepted, address, &addressBytes) == 0 ? Address(address, addressBytes, listener) : default;
            loop.Accepted(new Connection(accepted, socket: null, remote, local, listener.NewLayer?.Invoke()));
        }
    }

    // The connection stays in the listener's queue, so that each wait would end at once until a file is closed.
    private void RestFromAccepting(int descriptor)
    {
        _acceptingRests = true;
        LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollDelete, descriptor, 0);
    }

    // Exclusive: a connection wakes one of the loops that wait, and never only one that works.
    private void Watch(int descriptor) => LinuxCalls.EpollControl(_epoll, LinuxCalls.EpollAdd, descriptor, LinuxCalls.EpollIn | LinuxCalls.EpollExclusive);

    // Before anything else of the iteration: this loop alone was woken for them, and what else is ready may take long.
    private void AcceptFirst(int ready, EventLoop loop)
    {
        for (int i = 0; i < ready; i++)
        {
            var descriptor = *(int*)(_events + (i * LinuxCalls.EventBytes) + LinuxCalls.EventDataOffset);
            if (descriptor <= _lastListener && _listeners.TryGetValue(descriptor, out ListeningSocket? listener)) Accept(descriptor, listener, loop);
        }
    }

    private static PeerAddress Address(byte* address, int bytes, ListeningSocket listener)
    {
        const ushort InterNetwork = 2, InterNetworkV6 = 10;
        ushort family = *(ushort*)address;
        if (family == InterNetwork && bytes >= 8) return new PeerAddress(new IPAddress(new ReadOnlySpan<byte>(address + 4, 4)), (address[2] << 8) | address[3]);
        if (family == InterNetworkV6 && bytes >= 24) return new PeerAddress(new IPAddress(new ReadOnlySpan<byte>(address + 8, 16)), (address[2] << 8) | address[3]);
        return PeerAddress.Unix(listener.UnixPath ?? "");
    }
}
