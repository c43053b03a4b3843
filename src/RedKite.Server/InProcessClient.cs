using System.Buffers;
using System.Globalization;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Durability;
using RedKite.Server.Execution;
using RedKite.Server.Execution.Copying;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite;

/// <summary>
/// A client in the server's own process: it executes commands on the calling thread, without a socket, with a selected
/// database of its own. From any thread, one call at a time (further callers wait). After the server has stopped, calls throw
/// <see cref="ObjectDisposedException"/>; so do those after <see cref="Dispose"/>, which leaves nothing of the client behind.
/// </summary>
public sealed class InProcessClient : IDisposable
{
    // How often a waiting call checks a test's clock and whether the server has stopped.
    private const int SleepMsMax = 100;

    // A reply that is returned as an object is parsed in one piece.
    private const long ReplyBytesMax = 1024 * 1024 * 1024;

    private readonly RedKiteServer _server;
    private readonly Engine _engine;
    private readonly CommandExecutor _executor;
    private readonly CopyRunner _copies;
    private readonly Lock _calling = new();
    private readonly ArrayBufferWriter<byte> _request = new(256);
    private Session _session;
    private readonly bool _onlyLooks;
    private volatile bool _ended;

    /// <param name="server">The server.</param>
    /// <param name="loads">Whether its commands are part of loading the data.</param>
    /// <param name="onlyLooks">Whether the client's commands leave access times alone and are not counted as calls, hits or key uses.</param>
    internal InProcessClient(RedKiteServer server, bool onlyLooks = false, bool loads = false)
    {
        _server = server;
        _engine = server.Engine;
        _onlyLooks = onlyLooks;
        _executor = new CommandExecutor(_engine, loads);
        if (onlyLooks || loads) _engine.Metrics.Forget(_executor.Metrics);
        _copies = new CopyRunner(_engine, _executor);
        _session = NewSession();
    }

    /// <summary>What becomes of keys and fields that the client's commands find expired. Set while no call is in progress.</summary>
    internal ExpiryPolicy Expiry
    {
        get => _executor.Time.CallersExpiry;
        set => _executor.Time.CallersExpiry = value;
    }

    /// <summary>Whether a call in progress waits until it may write. From any thread.</summary>
    internal bool IsHeld => _session.IsPaused;

    /// <summary>Whether commands have set something for this client that a later command would need: its database, a transaction, a subscription, ...</summary>
    internal bool HasState => _session.HasOwnState(_engine.Users.InProcess);

    /// <summary>Executes one command, given as strings that are sent as UTF-8.</summary>
    /// <exception cref="ArgumentException">There is no argument, or one is null.</exception>
    public RedKiteReply Execute(params ReadOnlySpan<string> arguments)
    {
        lock (_calling)
        {
            ObjectDisposedException.ThrowIf(_ended, _server);
            BeginRequest(arguments.Length);
            for (int i = 0; i < arguments.Length; i++)
            {
                string argument = arguments[i] ?? throw new ArgumentException($"Argument {i} of the command is null.", nameof(arguments));
                int bytes = Encoding.UTF8.GetByteCount(argument);
                Append($"${bytes}\r\n");
                Encoding.UTF8.GetBytes(argument, _request.GetSpan(bytes));
                _request.Advance(bytes);
                _request.Write("\r\n"u8);
            }

            return Run();
        }
    }

    /// <summary>Executes one command, given as bytes.</summary>
    public RedKiteReply Execute(params ReadOnlySpan<ReadOnlyMemory<byte>> arguments)
    {
        lock (_calling)
        {
            ObjectDisposedException.ThrowIf(_ended, _server);
            BeginRequest(arguments.Length);
            foreach (ReadOnlyMemory<byte> argument in arguments)
            {
                Append($"${argument.Length}\r\n");
                _request.Write(argument.Span);
                _request.Write("\r\n"u8);
            }

            return Run();
        }
    }

    /// <summary>
    /// Executes the whole requests of a buffer, in the protocol's form, and writes their replies as bytes, large ones in
    /// pieces. Nothing is allocated. Messages that were delivered to the client follow the replies. The request is read in place
    /// and may be changed (inline requests are unquoted).
    /// </summary>
    /// <returns>How many bytes of the request were executed.</returns>
    public int Execute(Span<byte> request, IBufferWriter<byte> replies)
    {
        lock (_calling)
        {
            ObjectDisposedException.ThrowIf(_ended, _server);
            int consumed = 0;
            bool goesOn;
            do
            {
                consumed += Run(request[consumed..], _engine.MemoryBytesMax, out goesOn);
                WriteReplies(replies);
            }
            while (goesOn);

            while (_session.TryTakeDelivery(out Payload delivery))
            {
                replies.Write(delivery.Bytes);
                delivery.Buffer.Release();
            }

            return consumed;
        }
    }

    /// <summary>Ends the wait of a call in progress, as if its deadline had passed. From any thread.</summary>
    /// <returns>Whether a call waited.</returns>
    public bool EndWait()
    {
        if (_session.Blocked is not { MayBeUnblocked: true } blocked || !blocked.TryEnd()) return false;
        blocked.Wake();
        return true;
    }

    /// <summary>Ends the client: waits for a call in progress.</summary>
    public void Dispose()
    {
        End();
        _engine.Metrics.Remove(_executor.Metrics);
        _server.Remove(this);
        _engine.Watched.Closed(_session);
        ReleaseDeliveries();
    }

    /// <summary>Ends the client with the server: waits for a call in progress; later ones throw.</summary>
    internal void End()
    {
        _ended = true;
        lock (_calling)
        {
        }
    }

    /// <summary>Forgets the selected database and everything else that commands set for this client.</summary>
    internal void Reset()
    {
        ReleaseDeliveries();
        _engine.Watched.Closed(_session);
        _session = NewSession();
    }

    private Session NewSession()
    {
        Session session = _engine.Clients.Add(null, _engine.Clock.SteadyMs, _engine.Users.InProcess, authenticated: true);
        session.NoTouch = _onlyLooks;
        return session;
    }

    // Sleeps while the command that was executed last waits for a key, and adds its reply; false when it does not wait.
    private bool Wait()
    {
        if (_session.Blocked is not { } blocked) return false;
        if (blocked.Copy is not null) Copy(blocked);
        while (!blocked.Sleep((int)Math.Clamp(blocked.DeadlineMs - _executor.Time.SteadyMs, 1, SleepMsMax)))
        {
            _executor.Time.Read();
            if ((_ended || blocked.DeadlineMs <= _executor.Time.SteadyMs) && blocked.TryEnd()) break;
        }

        _session.Blocked = null;
        _engine.Blocked.Remove(blocked);
        blocked.Dispose();
        if (!_ended && !blocked.IsCallCounted) _executor.Account.CountWaited(blocked);
        if (!_ended && !blocked.DropsReply) WriteReplyOf(blocked);
        blocked.ReleaseReply();
        if (_ended) _executor.Reply.Clear();
        ObjectDisposedException.ThrowIf(_ended, _server);
        return true;
    }

    // Makes the copy that the command waits for, unless the server stops meanwhile.
    private void Copy(BlockedClient blocked)
    {
        while (_copies.RunSlice(blocked))
        {
            if (_ended && blocked.TryEnd()) blocked.Wake();
            Thread.Yield(); // to threads that wait for the stripes
            _executor.Time.Read();
        }
    }

    private void WriteReplyOf(BlockedClient blocked)
    {
        if (blocked.Reply is null) _executor.Reply.Raw(blocked.Block.ReplyAtDeadline(_session.Resp3));
        foreach (Payload part in blocked.Reply ?? []) _executor.Reply.Raw(part.Bytes);
    }

    private void BeginRequest(int count)
    {
        if (count == 0) throw new ArgumentException("A command has at least its name.");
        _request.ResetWrittenCount();
        Append($"*{count}\r\n");
    }

    private void Append(FormattableString text) => Encoding.ASCII.GetBytes(text.ToString(CultureInfo.InvariantCulture), _request);

    // Executes requests until one has blocked or the replies have become large: then the replies are taken, and more requests may remain.
    private int Run(Span<byte> request, long bytesMax, out bool goesOn)
    {
        ReplyWriter reply = _executor.Reply;
        AppendOnlyLog? log = _engine.Durability.Log.Log;
        long failures = log?.Failures ?? 0;
        reply.BytesMax = bytesMax;
        _executor.Time.Read();
        _session.NoteUser(); // there is no loop that could
        int consumed;
        try
        {
            consumed = _executor.Run(_session, request);
            while (_session.IsPaused) consumed += RunHeld(request[consumed..]);
        }
        finally
        {
            _executor.Environment.ScriptTurn.End();
        }

        goesOn = Wait() || reply.IsChained;
        if (log is not null && !log.WaitUntilSynced(failures))
        {
            reply.Clear();
            throw new IOException($"The command was executed, but the append-only file cannot be written: {log.Writer.Failure?.Message ?? "it failed meanwhile"}");
        }

        if (!reply.Overflowed) return consumed;
        reply.Clear();
        throw new InsufficientMemoryException($"The reply is larger than {bytesMax} bytes, which an in-process client can take.");
    }

    // Sleeps while the next command must not write, and tries again.
    private int RunHeld(Span<byte> request)
    {
        _executor.Environment.ScriptTurn.End();
        _engine.WriteGate.WaitToRetry();
        _session.IsPaused = false;
        if (_ended) _executor.Reply.Clear();
        ObjectDisposedException.ThrowIf(_ended, _server);
        _executor.Time.Read();
        return _executor.Run(_session, request);
    }

    private RedKiteReply Run()
    {
        Run(_request.WrittenSpan.ToArray(), Math.Min(_engine.MemoryBytesMax, ReplyBytesMax), out _);
        RedKiteReply reply = RedKiteReply.Parse(_executor.Reply);
        _executor.Reply.Clear();
        return reply;
    }

    private void WriteReplies(IBufferWriter<byte> replies)
    {
        foreach (ReplyChunk chunk in _executor.Reply.Chunks) replies.Write(chunk.Bytes);
        replies.Write(_executor.Reply.Tail);
        _executor.Reply.Clear();
    }

    private void ReleaseDeliveries()
    {
        while (_session.TryTakeDelivery(out Payload delivery)) delivery.Buffer.Release();
    }
}
