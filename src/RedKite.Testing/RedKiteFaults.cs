using RedKite.Server.Model;

namespace RedKite.Testing;

/// <summary>
/// What goes wrong between the server and the connections of the code under test. A fault that names no command concerns those that use keys or channels, so that a
/// client library's own commands (HELLO, CLIENT, PING, INFO, ...) still work. Each fault ends after its number of hits, by <see cref="IDisposable.Dispose"/>, or by
/// <see cref="Clear"/>; if several match a command, the one that was added last is used. Thread-safe.
/// </summary>
public sealed class RedKiteFaults
{
    private readonly Lock _changing = new();
    private readonly RedKiteTestClock _clock;
    private readonly Dictionary<long, (RedKiteFault Fault, long UntilTicks)> _delayed = []; // by the client's id
    private RedKiteFault[] _faults = [];
    private long _frozenUntilTicks;
    private int _refusals;
    private TestPort? _port;

    internal RedKiteFaults(RedKiteTestClock clock) => _clock = clock;

    /// <summary>The server has started: its port is changed, and its clients are held.</summary>
    internal void Begin(TestPort port) => _port = port;

    /// <summary>Refuses new connections, as if there were no server, until the result is disposed.</summary>
    public IDisposable RefuseConnections()
    {
        if (Interlocked.Increment(ref _refusals) == 1) _port!.Listen(false);
        return new RedKiteFault(FaultKind.Refusal, int.MaxValue, _ =>
        {
            if (Interlocked.Decrement(ref _refusals) == 0) _port!.Listen(true);
        });
    }

    /// <summary>Ends a connection, without a reply and without executing it, at the next command.</summary>
    public RedKiteFault Drop(string? command = null, string? client = null, int times = 1) => DropAfter(0, command, client, times);

    /// <summary>
    /// Ends a connection, without a reply, at the first command after a number of commands that are let through: 1 lets one pass and drops the second. The next one is
    /// <see cref="Drop"/>.
    /// </summary>
    public RedKiteFault DropAfter(int commands, string? command = null, string? client = null, int times = 1) =>
        Add(new RedKiteFault(FaultKind.Drop, times, Remove) { Command = command, Client = client, Skips = commands });

    /// <summary>Ends the connection after a part of a reply, at least one byte less than all of it. The command has been executed.</summary>
    public RedKiteFault CutReply(int bytes = 1, string? command = null, string? client = null, int times = 1) =>
        Add(new RedKiteFault(FaultKind.Cut, times, Remove) { Command = command, Client = client, Bytes = bytes });

    /// <summary>Executes commands later, by the server's clock; further commands of the same connection wait behind them.</summary>
    public RedKiteFault Delay(TimeSpan by, string? command = null, string? client = null, int times = int.MaxValue) =>
        Add(new RedKiteFault(FaultKind.Delay, times, Remove) { Command = command, Client = client, By = by });

    /// <summary>Replies an error instead of executing the next commands.</summary>
    /// <param name="error">Its class in capitals, a space, the text.</param>
    /// <param name="command">The command's name, in any case; null: any that uses keys or channels.</param>
    /// <param name="client">The name that the client has set (CLIENT SETNAME); null: any.</param>
    /// <param name="times">How often.</param>
    public RedKiteFault Fail(string error, string? command = null, string? client = null, int times = 1) =>
        Add(new RedKiteFault(FaultKind.Error, times, Remove) { Command = command, Client = client, Error = error });

    /// <summary>Replies LOADING, as a server that reads its data.</summary>
    public RedKiteFault Loading(int times = int.MaxValue) => Fail("LOADING Redis is loading the dataset in memory", times: times);

    /// <summary>Replies READONLY to commands that write, as a replica.</summary>
    public RedKiteFault ReadOnly(int times = int.MaxValue) => OfWrites("READONLY You can't write against a read only replica.", times);

    /// <summary>Replies OOM to commands that write, as a server whose memory is full.</summary>
    public RedKiteFault OutOfMemory(int times = int.MaxValue) => OfWrites("OOM command not allowed when used memory > 'maxmemory'.", times);

    /// <summary>Replies CLUSTERDOWN, as a node of a cluster with missing slots.</summary>
    public RedKiteFault ClusterDown(int times = int.MaxValue) => Fail("CLUSTERDOWN Hash slot not served", times: times);

    /// <summary>Lets every command of every connection wait for a time, by the server's clock.</summary>
    public void Freeze(TimeSpan time) => Volatile.Write(ref _frozenUntilTicks, _clock.GetTimestamp() + time.Ticks);

    /// <summary>Ends all faults but <see cref="RefuseConnections"/>.</summary>
    public void Clear()
    {
        lock (_changing)
        {
            _faults = [];
            _delayed.Clear();
        }

        Volatile.Write(ref _frozenUntilTicks, 0);
        _port?.RunDue();
    }

    /// <summary>Whether a command must wait now.</summary>
    internal bool Holds(scoped in CommandContext cmd)
    {
        long now = _clock.GetTimestamp();
        if (now < Volatile.Read(ref _frozenUntilTicks)) return true;
        if (_faults.Length == 0 && _delayed.Count == 0) return false;
        Session session = cmd.Session;
        lock (_changing)
        {
            if (_delayed.TryGetValue(session.Id, out (RedKiteFault Fault, long UntilTicks) waiting))
            {
                if (now < waiting.UntilTicks && _faults.Contains(waiting.Fault)) return true;
                _delayed.Remove(session.Id);
                waiting.Fault.EndIfUsedUp();
                return false;
            }
        }

        if (Find(FaultKind.Delay, cmd.Command, session.Name) is not { } fault || !fault.TryHit(endsIfUsedUp: false)) return false;
        lock (_changing) _delayed[session.Id] = (fault, now + fault.By.Ticks);
        return true;
    }

    /// <summary>Applies the faults to a command that is about to execute.</summary>
    /// <returns>False if it must not execute any more; what was replied, if anything, is the reply.</returns>
    internal bool Before(ref CommandCall call)
    {
        if (_faults.Length == 0) return true;
        Command command = call.Context.Command;
        if (Find(FaultKind.Error, command, call.ClientName) is { } failing && failing.TryHit())
        {
            call.ReplyError(failing.Error);
            return false;
        }

        if (Find(FaultKind.Drop, command, call.ClientName) is not { } dropping || !dropping.TryHit()) return true;
        call.ReplyNothing();
        call.CloseAfterReply();
        return false;
    }

    /// <summary>Applies the faults to a command that was executed.</summary>
    internal void After(ref CommandCall call)
    {
        if (_faults.Length == 0 || Find(FaultKind.Cut, call.Context.Command, call.ClientName) is not { } cutting || !cutting.TryHit()) return;
        byte[] reply = call.Reply.ToArray();
        call.ReplyRaw(reply.AsSpan(0, Math.Clamp(cutting.Bytes, 0, Math.Max(0, reply.Length - 1))));
        call.CloseAfterReply();
    }

    private RedKiteFault OfWrites(string error, int times) => Add(new RedKiteFault(FaultKind.Error, times, Remove) { Error = error, OnlyWrites = true });

    private RedKiteFault? Find(FaultKind kind, Command command, string client)
    {
        RedKiteFault[] faults = _faults;
        for (int i = faults.Length - 1; i >= 0; i--)
        {
            if (faults[i].Kind == kind && faults[i].Matches(command, client)) return faults[i];
        }

        return null;
    }

    private RedKiteFault Add(RedKiteFault fault)
    {
        lock (_changing) _faults = [.. _faults, fault];
        return fault;
    }

    private void Remove(RedKiteFault fault)
    {
        lock (_changing) _faults = [.. _faults.Where(other => other != fault)];
        if (fault.Kind == FaultKind.Delay) _port?.RunDue();
    }
}

/// <summary>A fault of <see cref="RedKiteFaults"/>; disposing ends it.</summary>
public sealed class RedKiteFault : IDisposable
{
    private readonly Action<RedKiteFault> _ended;
    private readonly int _times;
    private int _hits;
    private int _skipped;
    private int _isEnded;

    internal RedKiteFault(FaultKind kind, int times, Action<RedKiteFault> ended)
    {
        Kind = kind;
        _times = times;
        _ended = ended;
    }

    /// <summary>How many commands it has hit so far.</summary>
    public int Hits => Math.Min(Volatile.Read(ref _hits), _times);

    internal FaultKind Kind { get; }

    internal string? Command { get; init; }

    internal string? Client { get; init; }

    internal string Error { get; init; } = "";

    internal bool OnlyWrites { get; init; }

    internal int Skips { get; init; }

    internal int Bytes { get; init; }

    internal TimeSpan By { get; init; }

    /// <summary>Ends the fault.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _isEnded, 1) == 0) _ended(this);
    }

    internal bool Matches(Command command, string client)
    {
        if (Client is not null && Client != client) return false;
        if (OnlyWrites && !command.Is(CommandFlags.Write)) return false;
        if (Command is not null) return string.Equals(Command, command.FullName, StringComparison.OrdinalIgnoreCase) || string.Equals(Command, command.Parent?.Name, StringComparison.OrdinalIgnoreCase);
        return command.Keys.Length > 0 || command.Channels is not null;
    }

    /// <summary>Counts a command that it matches; false: it is let through.</summary>
    internal bool TryHit(bool endsIfUsedUp = true)
    {
        if (Skips > 0 && Interlocked.Increment(ref _skipped) <= Skips) return false;
        int hit = Interlocked.Increment(ref _hits);
        if (hit >= _times && endsIfUsedUp) Dispose();
        return hit <= _times;
    }

    internal void EndIfUsedUp()
    {
        if (Volatile.Read(ref _hits) >= _times && Interlocked.Exchange(ref _isEnded, 1) == 0) ThreadPool.QueueUserWorkItem(_ => _ended(this));
    }
}

internal enum FaultKind
{
    Refusal,
    Drop,
    Cut,
    Delay,
    Error,
}
