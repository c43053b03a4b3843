using RedKite.Net.Interop;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>
/// The part of an executor that its handlers use, one at a time: what the executor lends to a command, and what surrounds the command. A
/// handler reaches it through its <see cref="CommandContext"/>.
/// </summary>
internal sealed class CommandEnvironment
{
    private string? _busy;

    internal CommandEnvironment(Keyspace keyspace, ChangePublisher publisher, Settings settings, ServerClock clock, CommandTable commands, BufferPool buffers, ExecutorMetrics metrics)
    {
        Keyspace = keyspace;
        Settings = settings;
        Commands = commands;
        Buffers = buffers;
        Metrics = metrics;
        Accesses = new AccessRecorder(settings);
        Time = new CommandTime(clock, Accesses);
        Recording = new InvocationRecording(keyspace, publisher, UnitWork.MessagePatterns);
        ScriptMutexHold = new ScriptMutexHold(keyspace.Scripts);
    }

    internal Keyspace Keyspace { get; }

    internal Settings Settings { get; }

    /// <summary>Every command of the server.</summary>
    internal CommandTable Commands { get; }

    internal BufferPool Buffers { get; }

    internal ExecutorMetrics Metrics { get; }

    internal CommandTime Time { get; }

    internal AccessRecorder Accesses { get; }

    internal InvocationRecording Recording { get; }

    internal BlockingState Blocking { get; } = new();

    /// <summary>The executor's hold on the script mutex. Delegates of a row that inspect scripts before the command executes acquire it.</summary>
    internal ScriptMutexHold ScriptMutexHold { get; }

    /// <summary>Executes commands inside the one that is executing. Set by the invoker.</summary>
    internal INestedExecutor Nested { get; set; } = null!;

    /// <summary>The stripes that are locked for the command that executes, unless it is on the batch's short path.</summary>
    internal StripeSet HeldStripes { get; set; }

    /// <summary>Hashes of the keys of a command with several.</summary>
    internal KeyHashes KeyHashes { get; } = new();

    /// <summary>Whether commands execute inside a unit: a transaction or script. Nothing in it blocks, and its time does not change.</summary>
    internal bool IsInUnit
    {
        get;
        set
        {
            field = value;
            if (!value) UnitFieldSets = null;
        }
    }

    /// <summary>The lists of fields that a script has prepared, until its unit ends: its client's are the connection's.</summary>
    internal ClientFieldSets? UnitFieldSets { get; set; }

    /// <summary>What the commands of the unit may still do beyond a slice each.</summary>
    internal UnitWork UnitWork { get; } = new();

    /// <summary>Whether a script calls the command.</summary>
    internal bool IsInScript { get; set; }

    /// <summary>Whether TIME moves on although a script runs: it is busy, so that the server looks at its clock meanwhile.</summary>
    internal bool IsScriptBusy { get; set; }

    /// <summary>Up while a command of a client is refused rather than wait for a stripe, because a script is busy; null: its commands always wait.</summary>
    internal WaitFlag? GivesUpWaiting { get; init; }

    /// <summary>Whether what serves blocked clients gives up at the same flag: the executor is a loop's, which serves them later.</summary>
    internal bool ServesLater { get; set; }

    /// <summary>
    /// Locks a stripe for a command that walks over a database without naming keys, unless it is locked for the command already (inside a
    /// transaction or script). One at a time, and released by <see cref="ExitStripe"/>, which publishes the keys that the walk found expired.
    /// </summary>
    /// <returns>False: a busy script holds it. The handler ends at once; the client gets the reply for that in place of what the handler has replied.</returns>
    internal bool TryEnterStripe(int index)
    {
        if (HeldStripes.Contains(index)) return true;
        if (IsInUnit) throw new InvalidOperationException("A command that walks over stripes is nested in another, and its row does not say that it walks.");
        Stripe stripe = Keyspace.Stripes[index];
        while (!stripe.EnterOrGiveWay(GivesUpWaiting))
        {
            if ((_busy = Nested.BusyReply) is not null) return false;
        }

        Recording.Begin(stripe);
        return true;
    }

    /// <summary>Whether a command that waits is refused, because a script is busy. As with <see cref="TryEnterStripe"/>, its handler ends at once. No stripe is locked.</summary>
    internal bool IsRefusedAsBusy() => GivesUpWaiting is not null && (_busy = Nested.BusyReply) is not null;

    /// <summary>The reply of a command that <see cref="TryEnterStripe"/> or <see cref="IsRefusedAsBusy"/> has ended; null: it has not.</summary>
    internal string? TakeBusy()
    {
        if (_busy is not { } busy) return null;
        _busy = null;
        return busy;
    }

    /// <summary>Unlocks a stripe that <see cref="TryEnterStripe"/> has locked.</summary>
    /// <param name="index">The stripe.</param>
    /// <param name="writer">The client whose command removed keys; null: the keys had expired.</param>
    internal void ExitStripe(int index, Session? writer = null)
    {
        if (HeldStripes.Contains(index)) return;
        if (Recording.IsOn) Nested.PublishRecorded(writer);
        Recording.Stop();
        Keyspace.Stripes[index].Exit();
    }
}
