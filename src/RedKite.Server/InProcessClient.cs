using System.Buffers;
using System.Globalization;
using System.Text;
using RedKite.Server.Execution;
using RedKite.Server.Loops;
using RedKite.Server.Model;

namespace RedKite.Server;

/// <summary>
/// A client in the server's own process: it executes commands on the calling thread, without a socket, with a selected
/// database of its own. From any thread, one call at a time (further callers wait). Once the server has stopped, calls
/// throw <see cref="ObjectDisposedException"/>.
/// </summary>
public sealed class InProcessClient
{
    // A test's clock and the server's end are looked at so often.
    private const int SleepMsMax = 100;

    private readonly RedKiteServer _server;
    private readonly CommandExecutor _executor;
    private readonly Lock _calling = new();
    private readonly ArrayBufferWriter<byte> _request = new(256);
    private Session _session;
    private volatile bool _ended;

    internal InProcessClient(RedKiteServer server)
    {
        _server = server;
        _executor = server.NewExecutor();
        _session = NewSession();
    }

    /// <summary>Executes one command, its arguments as UTF-8.</summary>
    public RedKiteReply Execute(params ReadOnlySpan<string> arguments)
    {
        lock (_calling)
        {
            ObjectDisposedException.ThrowIf(_ended, _server);
            BeginRequest(arguments.Length);
            foreach (string argument in arguments)
            {
                int bytes = Encoding.UTF8.GetByteCount(argument);
                Append($"${bytes}\r\n");
                Encoding.UTF8.GetBytes(argument, _request.GetSpan(bytes));
                _request.Advance(bytes);
                _request.Write("\r\n"u8);
            }

            return Run();
        }
    }

    /// <summary>Executes one command, its arguments as bytes.</summary>
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
    /// Executes the whole requests of a buffer, in the protocol's form, and writes their replies as bytes. Nothing is
    /// allocated. The request is read in place and may be changed (inline requests are unquoted).
    /// </summary>
    /// <returns>How many bytes of the request were executed.</returns>
    public int Execute(Span<byte> request, IBufferWriter<byte> replies)
    {
        lock (_calling)
        {
            ObjectDisposedException.ThrowIf(_ended, _server);
            int consumed = 0;
            bool waited;
            do
            {
                _executor.ReadTime();
                consumed += _executor.Run(_session, request[consumed..]);
                waited = Wait();
                replies.Write(_executor.Reply.Written);
                _executor.Reply.Clear();
            }
            while (waited);

            return consumed;
        }
    }

    /// <summary>Ends the wait of a call that is under way, as if its time were over. From any thread.</summary>
    /// <returns>Whether a call waited.</returns>
    public bool EndWait()
    {
        if (_session.Waiter is not { } waiter || !_server.Waiting.TryEnd(waiter)) return false;
        waiter.Wake();
        return true;
    }

    /// <summary>The server ends: waits for a call that is under way; later ones throw.</summary>
    internal void End()
    {
        _ended = true;
        lock (_calling)
        {
        }
    }

    /// <summary>Forgets the selected database and everything else that commands set for this client.</summary>
    internal void Reset() => _session = NewSession();

    private Session NewSession() => _server.Clients.Add(null, _server.Clock.NowMs, authenticated: true);

    // Sleeps while the command that was executed last waits for a key, and adds its reply; false when it does not wait.
    private bool Wait()
    {
        if (_session.Waiter is not { } waiter) return false;
        while (!waiter.Sleep((int)Math.Clamp(waiter.DeadlineMs - _executor.NowMs, 1, SleepMsMax)))
        {
            _executor.ReadTime();
            if ((_ended || waiter.DeadlineMs <= _executor.NowMs) && _server.Waiting.TryEnd(waiter)) break;
        }

        _session.Waiter = null;
        waiter.Dispose();
        ObjectDisposedException.ThrowIf(_ended, _server);
        if (!waiter.DropsReply) _executor.Reply.Raw(waiter.Reply ?? WaitingSessions.NothingCame(_session.Resp3));
        return true;
    }

    private void BeginRequest(int count)
    {
        if (count == 0) throw new ArgumentException("A command has at least its name.");
        _request.ResetWrittenCount();
        Append($"*{count}\r\n");
    }

    private void Append(FormattableString text) => Encoding.ASCII.GetBytes(text.ToString(CultureInfo.InvariantCulture), _request);

    private RedKiteReply Run()
    {
        _executor.ReadTime();
        byte[] request = _request.WrittenSpan.ToArray();
        _executor.Run(_session, request);
        Wait();
        RedKiteReply reply = RedKiteReply.Parse(_executor.Reply.Written);
        _executor.Reply.Clear();
        return reply;
    }
}
