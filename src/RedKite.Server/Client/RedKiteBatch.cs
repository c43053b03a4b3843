using System.Buffers;
using RedKite.Server.Client;

namespace RedKite;

/// <summary>The reply to a command of a batch or transaction, once that was executed.</summary>
public sealed class RedKiteQueued
{
    private RedKiteReply? _reply;

    internal RedKiteQueued()
    {
    }

    /// <summary>Whether the command was executed.</summary>
    public bool HasReply => _reply is not null;

    /// <summary>The reply; an error is a reply, not an exception.</summary>
    /// <exception cref="InvalidOperationException">The command was not executed: its batch was not, or a watched key had changed.</exception>
    public RedKiteReply Reply
    {
        get => _reply ?? throw new InvalidOperationException("The command was not executed.");
        internal set => _reply = value;
    }
}

/// <summary>Commands that are collected to be executed together. One thread at a time.</summary>
public abstract class RedKiteQueue
{
    private readonly ArrayBufferWriter<byte> _requests = new();
    private readonly List<RedKiteQueued> _queued = [];

    private protected RedKiteQueue(ClientParts parts, int database)
    {
        Parts = parts;
        Database = database;
    }

    /// <summary>How many commands were queued.</summary>
    public int Count => _queued.Count;

    private protected ClientParts Parts { get; }

    private protected int Database { get; }

    private protected IReadOnlyList<RedKiteQueued> Queued => _queued;

    /// <summary>Queues any command, given as strings that are sent as UTF-8.</summary>
    /// <exception cref="ArgumentException">There is no argument, or one is null.</exception>
    public RedKiteQueued Queue(params ReadOnlySpan<string> arguments)
    {
        foreach (string argument in arguments)
        {
            if (argument is null) throw new ArgumentException("An argument of the command is null.", nameof(arguments));
        }

        RedKiteQueued queued = Begin(arguments.Length);
        foreach (string argument in arguments) RequestText.AddArgument(_requests, argument);
        return queued;
    }

    /// <summary>Queues any command, given as bytes.</summary>
    /// <exception cref="ArgumentException">There is no argument.</exception>
    public RedKiteQueued Queue(params ReadOnlySpan<ReadOnlyMemory<byte>> arguments)
    {
        RedKiteQueued queued = Begin(arguments.Length);
        foreach (ReadOnlyMemory<byte> argument in arguments) RequestText.AddArgument(_requests, argument.Span);
        return queued;
    }

    /// <summary>Queues a GET.</summary>
    public RedKiteQueued Get(RedKiteArgument key) => Queue("GET"u8, key);

    /// <summary>Queues a SET.</summary>
    public RedKiteQueued Set(RedKiteArgument key, RedKiteArgument value) => Queue("SET"u8, key, value);

    /// <summary>Queues a DEL.</summary>
    public RedKiteQueued Delete(RedKiteArgument key) => Queue("DEL"u8, key);

    /// <summary>Queues an INCRBY.</summary>
    public RedKiteQueued Increment(RedKiteArgument key, long by = 1) => Queue("INCRBY"u8, key, by.ToString(System.Globalization.CultureInfo.InvariantCulture));

    /// <summary>Queues a PEXPIRE.</summary>
    public RedKiteQueued Expire(RedKiteArgument key, TimeSpan after) =>
        Queue("PEXPIRE"u8, key, ((long)Math.Ceiling(after.TotalMilliseconds)).ToString(System.Globalization.CultureInfo.InvariantCulture));

    /// <summary>Queues an HSET of one field.</summary>
    public RedKiteQueued HashSet(RedKiteArgument key, RedKiteArgument field, RedKiteArgument value)
    {
        RedKiteQueued queued = Queue("HSET"u8, 4, key, field);
        RequestText.AddArgument(_requests, value);
        return queued;
    }

    private protected ReadOnlySpan<byte> Requests => _requests.WrittenSpan;

    private protected void Clear()
    {
        _requests.ResetWrittenCount();
        _queued.Clear();
    }

    private RedKiteQueued Queue(ReadOnlySpan<byte> name, RedKiteArgument key) => Queue(name, 2, key, default, hasSecond: false);

    private RedKiteQueued Queue(ReadOnlySpan<byte> name, RedKiteArgument key, RedKiteArgument argument) => Queue(name, 3, key, argument);

    private RedKiteQueued Queue(ReadOnlySpan<byte> name, int count, RedKiteArgument key, RedKiteArgument argument, bool hasSecond = true)
    {
        RedKiteQueued queued = Begin(count);
        RequestText.AddArgument(_requests, name);
        RequestText.AddArgument(_requests, key);
        if (hasSecond) RequestText.AddArgument(_requests, argument);
        return queued;
    }

    private RedKiteQueued Begin(int count)
    {
        if (count == 0) throw new ArgumentException("A command has at least its name.");
        RequestText.Begin(_requests, count);
        var queued = new RedKiteQueued();
        _queued.Add(queued);
        return queued;
    }
}

/// <summary>
/// Commands that are executed one after the other in one call: their keys are prefetched together, and the commands of other clients may come in between. One
/// thread at a time; it can be used again after <see cref="Execute"/>.
/// </summary>
public sealed class RedKiteBatch : RedKiteQueue
{
    internal RedKiteBatch(ClientParts parts, int database)
        : base(parts, database)
    {
    }

    /// <summary>Executes what was queued. A blocking command keeps the calling thread.</summary>
    /// <exception cref="InvalidOperationException">A command among them changes a connection's state (SELECT, MULTI, ...): it has had no effect on others.</exception>
    public void Execute()
    {
        if (Count == 0) return;
        Caller caller = Parts.Callers.Take(Database);
        try
        {
            List<RedKiteReply> replies = caller.RunAll(caller.Session, Requests);
            for (int i = 0; i < Math.Min(replies.Count, Count); i++) Queued[i].Reply = replies[i];
            Clear();
            if (caller.ForgetState(Database)) throw new InvalidOperationException("A batch must not change a connection's state, by SELECT, MULTI, WATCH or the like: use a transaction or a session.");
        }
        finally
        {
            caller.End();
        }
    }
}

/// <summary>
/// Commands that are executed without any other in between, and all of them or none. If watched keys have changed since <see cref="Watch"/>, none is. One thread at a
/// time; it can be used again after <see cref="Execute"/>. Dispose it if it watches keys and is not executed.
/// </summary>
public sealed class RedKiteTransaction : RedKiteQueue, IDisposable
{
    private readonly Server.Model.Session _session;

    internal RedKiteTransaction(ClientParts parts, int database)
        : base(parts, database)
    {
        _session = parts.Engine.Clients.AddCaller(parts.Engine.Clock.SteadyMs, parts.Engine.Users.InProcess);
        _session.DatabaseIndex = database;
    }

    /// <summary>From now on, changes of these keys make <see cref="Execute"/> return false. Read them afterwards. WATCH.</summary>
    public void Watch(params ReadOnlySpan<string> keys)
    {
        if (keys.IsEmpty) return;
        Caller caller = Parts.Callers.Take(Database);
        try
        {
            ClientCall.Begin(caller, "WATCH"u8).Add(keys);
            caller.ExecuteFor(_session);
            RedKiteReply.Parse(caller.Reply).OrThrow();
        }
        finally
        {
            caller.End();
        }
    }

    /// <summary>Executes what was queued, and watches nothing more. MULTI, EXEC.</summary>
    /// <returns>False: a watched key has changed, and nothing was executed.</returns>
    /// <exception cref="RedKiteException">A command was refused when it was queued, for an unknown name or a wrong number of arguments: nothing was executed.</exception>
    public bool Execute()
    {
        Caller caller = Parts.Callers.Take(Database);
        try
        {
            List<RedKiteReply> replies = caller.RunAll(_session, [.. "MULTI\r\n"u8, .. Requests, .. "EXEC\r\n"u8]);
            RedKiteReply executed = replies[^1];
            IReadOnlyList<RedKiteQueued> queued = [.. Queued];
            Clear();
            if (executed.IsError) throw (replies.Find(static reply => reply.IsError) ?? executed).ToException();
            if (executed.IsNull) return false;
            for (int i = 0; i < executed.Items.Count; i++) queued[i].Reply = executed.Items[i];
            return true;
        }
        finally
        {
            caller.End();
        }
    }

    /// <summary>Watches nothing more.</summary>
    public void Dispose() => Parts.Engine.Watched.Closed(_session);
}
