using System.Diagnostics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>The time of the commands that execute now, which does not change while one executes, and what has expired by it.</summary>
internal sealed class CommandTime
{
    private readonly AccessRecorder _accesses;
    private long _timestamp; // of NowMs
    private long _stoppedAt;
    private long _stoppedMicroseconds;
    private bool _keepsExpired;
    private ExpiryPolicy _callersExpiry;

    internal CommandTime(ServerClock clock, AccessRecorder accesses)
    {
        _accesses = accesses;
        Clock = clock;
        Read();
    }

    /// <summary>The server's clock, which moves on while a command executes.</summary>
    internal ServerClock Clock { get; }

    /// <summary>The timestamp at the start of the loop's iteration.</summary>
    internal long IterationStart { get; set; }

    /// <summary>Whether the time may be that of a command shortly before: see <see cref="Read"/>.</summary>
    internal bool MayBeStale { get; set; }

    /// <summary>The time of the commands, in Unix milliseconds.</summary>
    internal long NowMs { get; private set; }

    /// <summary>This time by the steady clock: for what waits, and for the times of sessions.</summary>
    internal long SteadyMs => Clock.SteadyMsAt(_timestamp);

    /// <summary>This time in microseconds: the same value on each read, even if the clock is adjusted meanwhile.</summary>
    internal long Microseconds
    {
        get
        {
            if (_stoppedAt != _timestamp) (_stoppedAt, _stoppedMicroseconds) = (_timestamp, Clock.MicrosecondsAt(_timestamp));
            return _stoppedMicroseconds;
        }
    }

    /// <summary>When keys and fields count as expired, and what becomes of those that the command finds.</summary>
    internal ExpiryClock Expiry { get; private set; }

    /// <summary>The policy of the executor's caller, from which each command's follows (<see cref="BeginExpiry"/>).</summary>
    internal ExpiryPolicy CallersExpiry
    {
        get => _callersExpiry;
        set
        {
            _callersExpiry = value;
            Expiry = new ExpiryClock(NowMs, value);
        }
    }

    /// <summary>Whether the request was accepted before, by a primary or for the log. No setting and no bound of this server refuses it: its data would differ.</summary>
    internal bool WasAccepted => _callersExpiry == ExpiryPolicy.Keep;

    /// <summary>Sets whether what has expired is hidden, also from commands for which <see cref="BeginExpiry"/> is not called: they only read.</summary>
    internal bool HidesExpired
    {
        set => Expiry = new ExpiryClock(NowMs, value ? ExpiryPolicy.Hide : _callersExpiry);
    }

    /// <summary>Reads the clock.</summary>
    internal void Read() => Set(Stopwatch.GetTimestamp());

    internal void Set(long timestamp)
    {
        MayBeStale = false;
        _timestamp = timestamp;
        NowMs = Clock.MsAt(timestamp);
        Expiry = new ExpiryClock(NowMs, Expiry.Policy);
        _accesses.SetTime(NowMs);
    }

    /// <summary>Whether commands that do not write leave what has expired from now on, as the node may not remove it.</summary>
    internal void KeepExpired(bool keeps) => _keepsExpired = keeps;

    /// <summary>
    /// Chooses a command's policy, until <see cref="EndExpiry"/>. Expired keys are hidden only from one that does not write: on a
    /// replica, or while a pause freezes the data.
    /// </summary>
    /// <returns>The policy of the surrounding command.</returns>
    internal ExpiryPolicy BeginExpiry(Command command, bool isFrozen)
    {
        ExpiryPolicy outer = Expiry.Policy;
        bool hides = _callersExpiry == ExpiryPolicy.Hide || (_callersExpiry == ExpiryPolicy.Remove && (isFrozen | _keepsExpired));
        if (hides || outer != _callersExpiry) Expiry = new ExpiryClock(NowMs, !hides ? _callersExpiry : command.Is(CommandFlags.Write) ? ExpiryPolicy.Remove : ExpiryPolicy.Hide);
        return outer;
    }

    internal void EndExpiry(ExpiryPolicy outer)
    {
        if (Expiry.Policy != outer) Expiry = new ExpiryClock(NowMs, outer);
    }
}
