using System.Diagnostics;
using RedKite.Protocol;
using RedKite.Server.Execution;
using RedKite.Server.Model;

namespace RedKite;

/// <summary>
/// A command on its way through the behaviors: the request, the client, and, after the rest of the chain, the time and the reply.
/// Valid during the call only.
/// </summary>
public ref struct CommandCall
{
    /// <summary>The handler's context, by value: the handler may change it.</summary>
    internal CommandContext Context;

    private readonly Invoker _path;
    private readonly ReadOnlySpan<ArgumentSlice> _arguments;
    private readonly ulong _firstKeyHash;
    private readonly long _start; // 0: not read
    private readonly bool _isShort;
    private readonly long _replyStart;
    private long _errorsCounted; // of the writer, up to what the handler replied
    private bool _wasExecuted;
    private bool _isSilent;

    internal CommandCall(Invoker path, CommandContext context, ReadOnlySpan<ArgumentSlice> arguments, ulong firstKeyHash, long start, bool isShort)
    {
        Context = context;
        _path = path;
        _arguments = arguments;
        _firstKeyHash = firstKeyHash;
        _start = start;
        _isShort = isShort;
        _replyStart = context.Reply.Length;
        _errorsCounted = context.Reply.Errors;
    }

    /// <summary>The command's name in lower case, whatever the client wrote: "get", "client|list".</summary>
    public readonly string Name => Context.Command.FullName;

    /// <summary>The number of arguments, including the name.</summary>
    public readonly int ArgumentCount => Context.Count;

    /// <summary>An argument as the client sent it; 0 is the command's name.</summary>
    public readonly ReadOnlySpan<byte> this[int index] => Context[index];

    /// <summary>The client's id, as CLIENT ID returns it.</summary>
    public readonly long ClientId => Context.Session.Id;

    /// <summary>The client's name (CLIENT SETNAME); empty: it has none.</summary>
    public readonly string ClientName => Context.Session.Name;

    /// <summary>The user that the client is logged in as.</summary>
    public readonly string User => Context.Session.User.Name;

    /// <summary>The client's selected database.</summary>
    public readonly int DatabaseIndex => Context.Session.DatabaseIndex;

    /// <summary>Whether the client is a caller in this process and has no connection.</summary>
    public readonly bool IsInProcess => Context.Session.Connection is null;

    /// <summary>Whether the client uses RESP3 (HELLO 3).</summary>
    public readonly bool UsesResp3 => Context.Reply.Resp3;

    /// <summary>The client's address, as CLIENT LIST shows it. Allocates.</summary>
    public readonly string Address => Context.Session.Address;

    /// <summary>State that behaviors attach to the client, kept as long as it stays connected.</summary>
    public readonly object? ClientTag
    {
        get => Context.Session.HostTag;
        set => Context.Session.HostTag = value;
    }

    /// <summary>
    /// The time since the command's turn began. The first time that a behavior reads it on a thread, the commands before this one in its
    /// pipeline may be included: the clock is read for each command only from then on.
    /// </summary>
    public readonly TimeSpan Elapsed => _start == 0 ? _path.BeginTimingBehaviors() : Stopwatch.GetElapsedTime(_start);

    /// <summary>Whether the command was executed, rather than answered by a behavior.</summary>
    public readonly bool WasExecuted => _wasExecuted;

    /// <summary>Whether the reply is an error.</summary>
    public readonly bool RepliedError => Context.Reply.StartsWithError(_replyStart);

    /// <summary>The reply so far, in the client's protocol; the next reply moves it. One of more than a MiB is copied.</summary>
    public readonly ReadOnlySpan<byte> Reply => Context.Reply.Length < _replyStart ? [] : Context.Reply.WrittenFrom(_replyStart);

    /// <summary>The first exception of the handler itself.</summary>
    internal Exception? Fault { readonly get; private set; }

    internal readonly bool HasReply => _wasExecuted || _isSilent || Context.Reply.Length != _replyStart || Context.Reply.Overflowed;

    /// <summary>Whether the reply is a behavior's error.</summary>
    internal readonly bool IsRejected => Context.Reply.Errors != _errorsCounted && RepliedError;

    /// <summary>Replies OK. Like each of these methods, it replaces any earlier reply.</summary>
    public readonly void ReplyOk() => Restarted().Ok();

    /// <summary>Replies an error: its class in capitals, a space, the text, such as "ERR no such tenant".</summary>
    public readonly void ReplyError(ReadOnlySpan<byte> text) => Restarted().Error(text);

    /// <inheritdoc cref="ReplyError(ReadOnlySpan{byte})"/>
    public readonly void ReplyError(string text) => Restarted().Error(text);

    /// <summary>Replies null.</summary>
    public readonly void ReplyNull() => Restarted().Null();

    /// <summary>Replies an integer.</summary>
    public readonly void ReplyInteger(long value) => Restarted().Integer(value);

    /// <summary>Replies a string of bytes.</summary>
    public readonly void ReplyBulk(ReadOnlySpan<byte> value) => Restarted().Bulk(value);

    /// <summary>Replies bytes that already are one whole reply in the client's protocol, such as a copy of <see cref="Reply"/>.</summary>
    public readonly void ReplyRaw(ReadOnlySpan<byte> reply) => Restarted().Raw(reply);

    /// <summary>Replies nothing at all, which no client expects: for a test.</summary>
    internal void ReplyNothing()
    {
        Restarted();
        _isSilent = true;
    }

    /// <summary>Ends the connection once the reply is sent. A caller in the process has none to end.</summary>
    public readonly void CloseAfterReply() => Context.Session.CloseAfterReply();

    /// <summary>The end of the chain: locks, executes, unlocks, counts.</summary>
    internal void Execute()
    {
        if (_wasExecuted) throw new InvalidOperationException("A behavior called the next one twice: a command executes once.");
        if (Context.Reply.Length != _replyStart) Restarted();
        _wasExecuted = true;
        try
        {
            if (_isShort) _path.RunShort(ref Context, _firstKeyHash);
            else _path.LockAndRun(ref Context, Context.Command, _arguments, _firstKeyHash, _start);
        }
        catch (Exception exception)
        {
            Fault = exception;
            throw;
        }

        _errorsCounted = Context.Reply.Errors;
    }

    private readonly ReplyWriter Restarted()
    {
        if (Context.Reply.Length > _replyStart) Context.Reply.Truncate(_replyStart);
        return Context.Reply;
    }
}
