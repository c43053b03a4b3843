using System.Diagnostics;
using RedKite.Net.Interop;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>
/// The part of an executor that its handlers use, one at a time: the time, the locks that are held, the lists of changes and
/// effects, the counters. A handler reaches it through its <see cref="CommandContext"/>.
/// </summary>
internal sealed class CommandEnvironment
{
    // Observers to which changes are reported by key and event.
    private const StripeObservers EventObservers = StripeObservers.BlockedClients | StripeObservers.Events | StripeObservers.WatchedKeys;

    private readonly ChangePublisher _publisher;
    private long _timestamp; // of NowMs
    private long _stoppedAt;
    private long _stoppedMicroseconds;
    private ExpiryPolicy _callersExpiry;

    internal CommandEnvironment(Keyspace keyspace, ChangePublisher publisher, Settings settings, ServerClock clock, CommandTable commands, BufferPool buffers, ExecutorMetrics metrics)
    {
        _publisher = publisher;
        Keyspace = keyspace;
        Settings = settings;
        Clock = clock;
        Commands = commands;
        Buffers = buffers;
        Metrics = metrics;
        Recorder = new ChangeRecorder(Changes, Expiries);
        ScriptTurn = new ScriptTurn(keyspace.Scripts);
        ReadTime();
    }

    internal Keyspace Keyspace { get; }

    internal Settings Settings { get; }

    internal ServerClock Clock { get; }

    internal CommandTable Commands { get; }

    internal BufferPool Buffers { get; }

    internal ExecutorMetrics Metrics { get; }

    /// <summary>The timestamp at the start of the loop's turn.</summary>
    internal long TurnStart { get; set; }

    /// <summary>The time of the commands that execute now, in Unix milliseconds.</summary>
    internal long NowMs { get; private set; }

    /// <summary>This time by the steady clock: for what waits.</summary>
    internal long SteadyMs => Clock.SteadyMsAt(_timestamp);

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

    /// <summary>This time in microseconds: the same value on each read, even if the clock is adjusted meanwhile.</summary>
    internal long StoppedMicroseconds
    {
        get
        {
            if (_stoppedAt != _timestamp) (_stoppedAt, _stoppedMicroseconds) = (_timestamp, Clock.MicrosecondsAt(_timestamp));
            return _stoppedMicroseconds;
        }
    }

    /// <summary>The access clock of keys that are accessed now.</summary>
    internal uint NewAccessClock { get; private set; }

    /// <summary>Whether an access only sets the clock: there is no LFU counter and no CLIENT NO-TOUCH.</summary>
    internal bool TouchesByClock { get; private set; }

    /// <summary>The stripes that are locked for the command that executes, unless it is on the batch's short path.</summary>
    internal StripeSet HeldStripes { get; set; }

    /// <summary>The executor's hold on the script mutex.</summary>
    internal ScriptTurn ScriptTurn { get; }

    /// <summary>Hashes of the keys of a command with several.</summary>
    internal KeyHashes KeyHashes { get; } = new();

    /// <summary>Whether commands execute inside a unit: a transaction or script.</summary>
    internal bool IsInUnit { get; set; }

    /// <summary>Whether a command may block its client: not inside a unit, whose commands execute at once.</summary>
    internal bool MayBlock => !IsInUnit;

    /// <summary>Whether a script's command is executing.</summary>
    internal bool IsInScript { get; set; }

    /// <summary>Whether a blocked client's command is executing again.</summary>
    internal bool IsServing { get; set; }

    /// <summary>The blocked client whose command is executing again because its copy is complete or its source has changed.</summary>
    internal BlockedClient? CopyingClient { get; set; }

    /// <summary>Set by a handler that wants its client to block: see <see cref="CommandContext.BlockOnKeys"/>.</summary>
    internal BlockRequest? BlockRequest { get; set; }

    /// <summary>Clients that the command served or unblocked. They get their replies once no stripe is locked.</summary>
    internal List<BlockedClient> Unblocked { get; } = [];

    /// <summary>The observers of the locked stripes. Without any, changes are only counted.</summary>
    internal StripeObservers Observers { get; private set; }

    internal bool IsObserved => Observers != StripeObservers.None;

    /// <summary>Whether a snapshot of the locked stripes is being written.</summary>
    internal bool IsInSnapshot => (Observers & StripeObservers.Snapshot) != 0;

    /// <summary>Whether the effects of commands have consumers.</summary>
    internal bool RecordsEffects => (Observers & StripeObservers.Effects) != 0;

    /// <summary>The changes of the command, as far as they are observed.</summary>
    internal ChangeList Changes { get; } = new();

    /// <summary>The commands that replace the request.</summary>
    internal EffectWriter Effects { get; } = new();

    /// <summary>The commands for keys and fields found expired; they come before the request.</summary>
    internal EffectWriter Expiries { get; } = new();

    /// <summary>Receives the changes that the store makes by itself.</summary>
    internal ChangeRecorder Recorder { get; }

    /// <summary>Publishes the changes that the store has made by itself. Set by the invoker.</summary>
    internal Action? PublishRecorded { get; set; }

    /// <summary>Executes commands inside the one that is executing. Set by the invoker.</summary>
    internal INestedExecutor Nested { get; set; } = null!;

    /// <summary>Whether TIME moves on although a script runs: it is busy, so that the server looks at its clock meanwhile.</summary>
    internal bool IsScriptBusy { get; set; }

    /// <summary>Reads the clock.</summary>
    internal void ReadTime() => SetTime(Stopwatch.GetTimestamp());

    internal void SetTime(long timestamp)
    {
        _timestamp = timestamp;
        NowMs = Clock.MsAt(timestamp);
        Expiry = new ExpiryClock(NowMs, Expiry.Policy);
        NewAccessClock = Settings.CountsFrequency ? AccessClock.NewLfu(NowMs) : AccessClock.Lru(NowMs);
    }

    /// <summary>
    /// Chooses a command's policy, until <see cref="EndExpiry"/>. Expired keys are hidden only from one that does not write: on a
    /// replica, or while a pause freezes the data.
    /// </summary>
    /// <returns>The policy of the surrounding command.</returns>
    internal ExpiryPolicy BeginExpiry(Command command, bool isFrozen)
    {
        ExpiryPolicy outer = Expiry.Policy;
        bool hides = _callersExpiry == ExpiryPolicy.Hide || (_callersExpiry == ExpiryPolicy.Remove && isFrozen);
        if (hides || outer != _callersExpiry) Expiry = new ExpiryClock(NowMs, !hides ? _callersExpiry : command.Is(CommandFlags.Write) ? ExpiryPolicy.Remove : ExpiryPolicy.Hide);
        return outer;
    }

    internal void EndExpiry(ExpiryPolicy outer)
    {
        if (Expiry.Policy != outer) Expiry = new ExpiryClock(NowMs, outer);
    }

    /// <summary>After a command that may have changed how accesses are noted.</summary>
    internal void NoteTouchMode(Session session) => TouchesByClock = !session.NoTouch && !Settings.CountsFrequency;

    /// <summary>Notes an access where that takes more than setting the clock.</summary>
    internal void TouchSlow(Session session, Entry entry)
    {
        if (!session.NoTouch) Touch(entry);
    }

    /// <summary>Notes an access.</summary>
    internal void Touch(Entry entry) => entry.SetAccessClock(
        Settings.CountsFrequency ? AccessClock.TouchLfu(entry.AccessClock, NowMs, Settings.LfuDecayMinutes, Settings.LfuLogFactor) : NewAccessClock);

    /// <summary>Reads the observers of the stripe, the only one that is locked.</summary>
    internal void BeginObserving(Stripe stripe)
    {
        Observers = stripe.Observers;
        if (IsObserved) BeginRecording(stripe);
    }

    /// <summary>Reads the observers of the locked stripes. A command without any has effects too: it loads functions, or publishes a message.</summary>
    internal void BeginObserving(StripeSet held)
    {
        StripeObservers observers = held.IsEmpty ? _publisher.ObserversWithoutStripe : StripeObservers.None;
        foreach (int index in held)
        {
            Stripe stripe = Keyspace.Stripes[index];
            observers |= stripe.Observers;
            if (stripe.Observers != StripeObservers.None) stripe.Observer = Recorder;
        }

        Observers = observers;
        if (IsObserved) BeginRecording();
    }

    /// <summary>
    /// Locks a stripe for a command that walks over a database without naming keys, unless it is locked for the command already.
    /// Keys that the walk finds expired are published before the stripe is released.
    /// </summary>
    internal void EnterStripe(int index)
    {
        if (HeldStripes.Contains(index)) return;
        if (IsInUnit) throw new InvalidOperationException("A command that walks over stripes is nested in another, and its row does not say that it walks.");
        Stripe stripe = Keyspace.Stripes[index];
        stripe.Enter();
        BeginObserving(stripe);
    }

    internal void ExitStripe(int index)
    {
        if (HeldStripes.Contains(index)) return;
        if (IsObserved) PublishRecorded!();
        Observers = StripeObservers.None;
        Keyspace.Stripes[index].Exit();
    }

    /// <summary>Clears the records of the last invocation.</summary>
    internal void BeginRecording()
    {
        Changes.Reset((Observers & EventObservers) != 0);
        bool recordsEffects = RecordsEffects;
        Effects.Reset(recordsEffects);
        Expiries.Reset(recordsEffects);
    }

    private void BeginRecording(Stripe stripe)
    {
        stripe.Observer = Recorder;
        BeginRecording();
    }
}
