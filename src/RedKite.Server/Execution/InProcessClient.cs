using System.Buffers;
using System.Globalization;
using System.Text;
using RedKite.Server.Sessions;

namespace RedKite.Server.Execution;

/// <summary>
/// A client in the server's own process: it executes commands on the calling thread, without a socket, with a selected
/// database of its own. From any thread, one call at a time (further callers wait). Once the server has stopped, calls
/// throw <see cref="ObjectDisposedException"/>.
/// </summary>
public sealed class InProcessClient
{
    private readonly RedKiteServer _server;
    private readonly CommandExecutor _executor;
    private readonly Lock _calling = new();
    private readonly ArrayBufferWriter<byte> _request = new(256);
    private Session _session;
    private bool _ended;

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
            _executor.ReadTime();
            int consumed = _executor.Run(_session, request);
            replies.Write(_executor.Reply.Written);
            _executor.Reply.Clear();
            return consumed;
        }
    }

    /// <summary>The server ends: waits for a call that is under way; later ones throw.</summary>
    internal void End()
    {
        lock (_calling) _ended = true;
    }

    /// <summary>Forgets the selected database and everything else that commands set for this client.</summary>
    internal void Reset() => _session = NewSession();

    private Session NewSession() => _server.Clients.Add(null, _server.Clock.NowMs, authenticated: true);

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
        RedKiteReply reply = RedKiteReply.Parse(_executor.Reply.Written);
        _executor.Reply.Clear();
        return reply;
    }
}
