using System.Diagnostics;
using RedKite.Scripting;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Sessions;

/// <summary>
/// The script or function that is running, if one is, and the counters of all. The thread that runs it writes; any thread reads and
/// may request its end.
/// </summary>
internal sealed class RunningScript : IDisposable
{
    /// <summary>The maximum size of a function's arguments that FUNCTION STATS shows.</summary>
    private const int RequestBytesMax = 1024 * 1024;

    /// <summary>A run of this time is remembered with its client.</summary>
    private const long LongNs = 50 * NsPerMs;
    private const int LongRunKeptMs = 60_000;

    private const int WatchMs = 50;
    private const int NsPerMs = 1_000_000;

    private readonly AttentionWord _attention;
    private readonly ScriptMutex _mutex;
    private readonly Lock _changing = new();
    private readonly Timer _watch; // interrupts the script where no other thread's request does
    private int _isWatched;
    private long _seen; // runs at the last watch
    private IScriptMemory? _memory;
    private Run? _run;
    private long _executed;
    private long _killed;
    private long _longestNs;
    private volatile bool _endsForStop;
    private byte[] _request = new byte[256]; // of the function in progress, its arguments one after the other; with the lock
    private int[] _argumentEnds = new int[16];
    private int _argumentCount;

    internal RunningScript(AttentionWord attention, ScriptMutex mutex)
    {
        _attention = attention;
        _mutex = mutex;
        _watch = new Timer(_ => Watch());
    }

    /// <summary>The script in progress; null: none.</summary>
    internal Run? Current => Volatile.Read(ref _run);

    /// <summary>The longest run of the last minute in which one was long; null: none was.</summary>
    internal LongScriptRun? LongRun { get; private set; }

    /// <summary>Scripts and functions that were run.</summary>
    internal long Executed => Volatile.Read(ref _executed);

    /// <summary>Those that SCRIPT KILL or FUNCTION KILL ended.</summary>
    internal long Killed => Volatile.Read(ref _killed);

    /// <summary>The reply to other clients while a script runs longer than busy-reply-threshold; null: no script does.</summary>
    internal string? BusyReply => Current is { IsBusy: true } run ? BusyText(run) : null;

    internal static string BusyText(Run run) =>
        $"BUSY Redis is busy running a script. You can only call {(run.IsFunction ? "FUNCTION KILL" : "SCRIPT KILL")} or SHUTDOWN NOSAVE.";

    /// <summary>Called when a script has become busy, on the thread that runs it.</summary>
    internal event Action<Run>? BusyBegins;

    /// <summary>Called when a busy script has ended, on the thread that ran it.</summary>
    internal event Action? BusyEnded;

    /// <summary>Whether the server stops: the script ends, even if it has written.</summary>
    internal bool EndsForStop => _endsForStop;

    /// <summary>The memory and number of scripts and functions.</summary>
    internal ScriptFigures Figures() => _memory?.Figures() ?? default;

    /// <summary>Names what keeps the scripts, once.</summary>
    internal void Use(IScriptMemory memory) => _memory = memory;

    /// <summary>The use of each cached script and function.</summary>
    internal ScriptUses Uses { get; } = new();

    /// <summary>The longest run of a script since the last call, the running one included.</summary>
    internal long TakeLongestNs() => Math.Max(Interlocked.Exchange(ref _longestNs, 0), Current?.ElapsedNs ?? 0);

    /// <summary>Keeps a copy of the function's request, as far as its arguments fit, for <see cref="RequestOf"/>. Without an allocation in the steady state.</summary>
    internal void KeepRequest(scoped in CommandContext cmd)
    {
        lock (_changing)
        {
            int end = 0;
            _argumentCount = 0;
            for (int i = 0; i < cmd.Count && end + cmd[i].Length <= RequestBytesMax; i++)
            {
                if (_request.Length < end + cmd[i].Length) Array.Resize(ref _request, Math.Min(RequestBytesMax, Math.Max(2 * _request.Length, end + cmd[i].Length)));
                if (_argumentEnds.Length == i) Array.Resize(ref _argumentEnds, 2 * i);
                cmd[i].CopyTo(_request.AsSpan(end));
                _argumentEnds[i] = end += cmd[i].Length;
                _argumentCount++;
            }
        }
    }

    /// <summary>A copy of the request of a run in progress; empty if it has ended.</summary>
    internal byte[][] RequestOf(Run run)
    {
        lock (_changing)
        {
            if (Current != run) return [];
            var arguments = new byte[_argumentCount][];
            for (int i = 0; i < arguments.Length; i++) arguments[i] = _request[(i == 0 ? 0 : _argumentEnds[i - 1]).._argumentEnds[i]];
            return arguments;
        }
    }

    /// <summary>Begins a run.</summary>
    /// <param name="name">The SHA-1 of a script, or a function's name.</param>
    /// <param name="isFunction">Whether it is a function, or a library that is loaded.</param>
    /// <param name="lua">The interpreter that runs it.</param>
    /// <param name="busyMs">The time after which it is busy; 0: never.</param>
    internal Run Begin(string name, bool isFunction, LuaInterpreter lua, long busyMs)
    {
        var run = new Run(name, isFunction, Stopwatch.GetTimestamp()) { Lua = lua, BusyNs = busyMs > long.MaxValue / NsPerMs ? 0 : busyMs * NsPerMs };
        _executed++;
        Interlocked.Exchange(ref _run, run); // a full fence: either this thread sees that the watch has ended, or the watch sees the run
        if (_isWatched == 0) BeginWatch(run);
        return run;
    }

    public void Dispose() => _watch.Dispose();

    private void BeginWatch(Run run)
    {
        if (Interlocked.Exchange(ref _isWatched, 1) == 0) WatchIn(run.DueMs(WatchMs));
    }

    private void WatchIn(int ms)
    {
        try
        {
            _watch.Change(ms, Timeout.Infinite);
        }
        catch (ObjectDisposedException)
        {
            // The server has stopped.
        }
    }

    // The watch sleeps while no script runs. A busy script is interrupted each time: then its clock moves on.
    private void Watch()
    {
        Run? run = Current;
        if (run is null && _executed == _seen)
        {
            Interlocked.Exchange(ref _isWatched, 0);
            if (Current is { } begun) BeginWatch(begun);
            return;
        }

        _seen = _executed;
        if (run is not null && (_endsForStop || run.IsKilled || run.IsBusy || run.DueMs(WatchMs) == 0)) run.Lua.Interrupt();
        WatchIn(Math.Max(run?.DueMs(WatchMs) ?? WatchMs, 1));
    }

    /// <summary>Notes that a run has ended.</summary>
    /// <returns>How long it took, in nanoseconds.</returns>
    internal long End(Run run)
    {
        Volatile.Write(ref _run, null);
        if (run.IsBusy)
        {
            _attention.Set(ServerAttention.ScriptBusy, on: false);
            _mutex.NoteBusyEnded();
            BusyEnded?.Invoke();
        }

        if (run.IsKilled) _killed++;
        long ns = run.ElapsedNs;
        if (ns > Volatile.Read(ref _longestNs)) Volatile.Write(ref _longestNs, ns);
        if (ns >= LongNs && (LongRun is not { } before || ns >= before.Ns || Environment.TickCount64 - before.EndedTickMs > LongRunKeptMs)) LongRun = new(run.Name, run.IsFunction, run.ClientId, ns, Environment.TickCount64);
        return ns;
    }

    /// <summary>Marks the script as busy, because it runs longer than busy-reply-threshold: other clients get an error from now on.</summary>
    internal void NoteBusy(Run run)
    {
        if (run.IsBusy) return;
        _attention.Set(ServerAttention.ScriptBusy, on: true);
        run.IsBusy = true; // then no command is executed any more
        _mutex.NoteBusy();
        BusyBegins?.Invoke(run);
    }

    /// <summary>The server stops.</summary>
    internal void EndForStop()
    {
        _endsForStop = true;
        Current?.Lua.Interrupt();
    }

    /// <summary>Requests the end of the script in progress.</summary>
    /// <returns>Null, or the error: nothing runs, or it has written, or it is of the other kind.</returns>
    internal string? Kill(bool isFunction)
    {
        lock (_changing)
        {
            if (Current is not { } run) return "NOTBUSY No scripts in execution right now.";
            if (run.HasWritten) return "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.";
            if (run.IsFunction != isFunction) return BusyText(run);
            run.IsKilled = true;
            run.Lua.Interrupt();
            return null;
        }
    }

    /// <summary>Before the first write of a script: from then on it cannot be killed.</summary>
    /// <returns>False if it was killed just before.</returns>
    internal bool TryWrite(Run run)
    {
        if (run.HasWritten) return true;
        lock (_changing)
        {
            if (run.IsKilled) return false;
            run.HasWritten = true;
            return true;
        }
    }

    /// <summary>One execution.</summary>
    internal sealed class Run(string name, bool isFunction, long started)
    {
        private bool _isBusy;
        private bool _isKilled;

        /// <summary>The SHA-1 of a script, or a function's name.</summary>
        internal string Name => name;

        /// <summary>The client that runs it; 0: it is a library that is loaded.</summary>
        internal long ClientId { get; set; }

        internal bool IsFunction => isFunction;

        internal bool HasWritten { get; set; }

        internal bool IsBusy
        {
            get => Volatile.Read(ref _isBusy);
            set => Volatile.Write(ref _isBusy, value);
        }

        internal bool IsKilled
        {
            get => Volatile.Read(ref _isKilled);
            set => Volatile.Write(ref _isKilled, value);
        }

        /// <summary>The interpreter that runs it.</summary>
        internal required LuaInterpreter Lua { get; init; }

        /// <summary>The time after which it is busy; 0: never.</summary>
        internal long BusyNs { get; init; }

        /// <summary>The time after which it ends; 0: never. Libraries have one while they are loaded.</summary>
        internal long EndsAfterNs { get; set; }

        /// <summary>Whether its time is over.</summary>
        internal bool IsOverdue => EndsAfterNs > 0 && ElapsedNs > EndsAfterNs;

        /// <summary>The milliseconds until it is to be interrupted, up to a maximum; 0: now.</summary>
        internal int DueMs(int maxMs)
        {
            if (IsBusy && EndsAfterNs == 0) return maxMs;
            long ns = EndsAfterNs > 0 ? EndsAfterNs : BusyNs;
            if (EndsAfterNs > 0 && BusyNs > 0 && !IsBusy) ns = Math.Min(ns, BusyNs);
            return ns == 0 ? maxMs : (int)Math.Clamp(((ns - ElapsedNs) / NsPerMs) + 1, 0, maxMs);
        }

        internal long ElapsedNs => ServerClock.TicksToNs(Stopwatch.GetTimestamp() - started);
    }
}

/// <summary>A run of a script or function that took long.</summary>
/// <param name="Name">The SHA-1 of a script, or a function's name.</param>
/// <param name="EndedTickMs">When it ended, by <see cref="Environment.TickCount64"/>.</param>
internal sealed record LongScriptRun(string Name, bool IsFunction, long ClientId, long Ns, long EndedTickMs);
