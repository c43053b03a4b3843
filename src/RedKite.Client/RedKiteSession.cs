using System.Buffers;
using System.Diagnostics;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Client;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite;

/// <summary>
/// Raw commands in the server's own process, with what a connection has: a selected database, MULTI, WATCH, a user, RESP2 or RESP3. Most code wants
/// a <see cref="RedKiteClient"/>. From any thread, one call at a time (further callers wait). After the server has stopped, calls throw
/// <see cref="ObjectDisposedException"/>; so do those after <see cref="Dispose"/>, which leaves nothing of the session behind.
/// </summary>
public sealed class RedKiteSession : IDisposable
{
    private readonly Engine _engine;
    private readonly Caller _caller;
    private readonly Action<RedKiteSession> _removed;
    private readonly Lock _calling = new();
    private readonly ArrayBufferWriter<byte> _request = new(256);

    /// <param name="engine">The server.</param>
    /// <param name="removed">Called when it was disposed.</param>
    /// <param name="loads">Whether its commands are part of loading the data.</param>
    /// <param name="onlyLooks">Whether its commands leave access times alone and are not counted as calls, hits or key uses.</param>
    internal RedKiteSession(Engine engine, Action<RedKiteSession> removed, bool onlyLooks = false, bool loads = false)
    {
        _engine = engine;
        _removed = removed;
        _caller = new Caller(engine, onlyLooks: onlyLooks, origin: loads ? CommandOrigin.Log : CommandOrigin.Client);
    }

    /// <summary>What becomes of keys and fields that its commands find expired. Set while no call is in progress.</summary>
    internal ExpiryPolicy Expiry
    {
        get => _caller.Expiry;
        set => _caller.Expiry = value;
    }

    /// <summary>Whether a call in progress waits until it may write. From any thread.</summary>
    internal bool IsHeld => _caller.Session.IsPaused;

    internal UnitWork UnitWork => _caller.UnitWork;

    /// <summary>Where its replies are written, for limits that tests lower.</summary>
    internal ReplyWriter Reply => _caller.Reply;

    /// <summary>Executes one command, given as strings that are sent as UTF-8. A blocking command keeps the calling thread.</summary>
    /// <exception cref="ArgumentException">There is no argument, or one is null.</exception>
    public RedKiteReply Execute(params ReadOnlySpan<string> arguments)
    {
        LockedKeys.ThrowIfHeld();
        lock (_calling)
        {
            ThrowIfEnded();
            BeginRequest(arguments.Length);
            for (int i = 0; i < arguments.Length; i++)
            {
                string argument = arguments[i] ?? throw new ArgumentException($"Argument {i} of the command is null.", nameof(arguments));
                int bytes = Encoding.UTF8.GetByteCount(argument);
                RequestText.BeginArgument(_request, bytes);
                Encoding.UTF8.GetBytes(argument, _request.GetSpan(bytes));
                _request.Advance(bytes);
                _request.Write("\r\n"u8);
            }

            return _caller.MakesSpans ? RunWithSpan(Encoding.UTF8.GetBytes(arguments[0])) : Run();
        }
    }

    /// <summary>Executes one command, given as bytes. A blocking command keeps the calling thread.</summary>
    /// <exception cref="ArgumentException">There is no argument.</exception>
    public RedKiteReply Execute(params ReadOnlySpan<ReadOnlyMemory<byte>> arguments)
    {
        LockedKeys.ThrowIfHeld();
        lock (_calling)
        {
            ThrowIfEnded();
            BeginRequest(arguments.Length);
            foreach (ReadOnlyMemory<byte> argument in arguments) RequestText.AddArgument(_request, argument.Span);
            return _caller.MakesSpans ? RunWithSpan(arguments[0].Span) : Run();
        }
    }

    /// <summary>
    /// Executes the whole requests of a buffer, in the protocol's form, and writes their replies as bytes, large ones in
    /// pieces. Nothing is allocated, unless spans are listened to. Messages that were delivered to the session follow the replies. The request is read in place
    /// and may be changed (inline requests are unquoted).
    /// </summary>
    /// <returns>How many bytes of the request were executed.</returns>
    public int Execute(Span<byte> request, IBufferWriter<byte> replies)
    {
        LockedKeys.ThrowIfHeld();
        lock (_calling)
        {
            ThrowIfEnded();
            using Activity? span = _caller.MakesSpans ? CommandSpans.Begin(CommandSpans.Pipeline, _engine.Commands, request, _caller.Session.DatabaseIndex) : null;
            int consumed = 0;
            bool goesOn;
            do
            {
                consumed += _caller.Run(_caller.Session, request[consumed..], _engine.MemoryBytesMax, out goesOn);
                CommandSpans.NoteReply(span, _caller.Reply);
                WriteReplies(replies);
            }
            while (goesOn);

            while (_caller.Session.TryTakeDelivery(out Payload delivery))
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
        if (_caller.Session.Blocked is not { MayBeUnblocked: true } blocked || !blocked.TryEnd()) return false;
        blocked.Wake();
        return true;
    }

    /// <summary>Ends the session: waits for a call in progress.</summary>
    public void Dispose()
    {
        End();
        _caller.Remove();
        _removed(this);
    }

    /// <summary>Ends the session with the server: waits for a call in progress; later ones throw.</summary>
    internal void End()
    {
        _caller.BeginEnd();
        lock (_calling)
        {
        }
    }

    /// <summary>Forgets the selected database and everything else that commands set for this session.</summary>
    internal void Reset()
    {
        lock (_calling) _caller.Reset();
    }

    private void ThrowIfEnded()
    {
        if (_caller.HasEnded) throw CallerPool.ServerStopped();
    }

    private void BeginRequest(int count)
    {
        if (count == 0) throw new ArgumentException("A command has at least its name.");
        _request.ResetWrittenCount();
        RequestText.Begin(_request, count);
    }

    private RedKiteReply RunWithSpan(ReadOnlySpan<byte> name)
    {
        using Activity? span = CommandSpans.Begin(_engine.Commands.Find(name)?.FullName ?? CommandSpans.Unknown, _caller.Session.DatabaseIndex);
        try
        {
            RedKiteReply reply = Run();
            if (reply.IsError) CommandSpans.NoteError(span, reply.Text!);
            return reply;
        }
        catch (Exception failure)
        {
            CommandSpans.NoteFailure(span, failure);
            throw;
        }
    }

    private RedKiteReply Run()
    {
        _caller.Run(_caller.Session, _request.WrittenSpan.ToArray(), Math.Min(_engine.MemoryBytesMax, Caller.ReplyBytesMax), out _);
        RedKiteReply reply = RedKiteReply.Parse(_caller.Reply);
        _caller.Reply.Clear();
        return reply;
    }

    private void WriteReplies(IBufferWriter<byte> replies)
    {
        foreach (Protocol.ReplyChunk chunk in _caller.Reply.Chunks) replies.Write(chunk.Bytes);
        replies.Write(_caller.Reply.Tail);
        _caller.Reply.Clear();
    }
}
