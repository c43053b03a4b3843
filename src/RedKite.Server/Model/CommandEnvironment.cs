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
    internal CommandEnvironment(Keyspace keyspace, ChangePublisher publisher, Settings settings, ServerClock clock, CommandTable commands, BufferPool buffers, ExecutorMetrics metrics)
    {
        Keyspace = keyspace;
        Settings = settings;
        Commands = commands;
        Buffers = buffers;
        Metrics = metrics;
        Accesses = new AccessRecorder(settings);
        Time = new CommandTime(clock, Accesses);
        Recording = new InvocationRecording(keyspace, publisher);
        ScriptTurn = new ScriptTurn(keyspace.Scripts);
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
    internal ScriptTurn ScriptTurn { get; }

    /// <summary>Executes commands inside the one that is executing. Set by the invoker.</summary>
    internal INestedExecutor Nested { get; set; } = null!;

    /// <summary>Publishes the changes that the store has made by itself. Set by the invoker.</summary>
    internal Action? PublishRecorded { get; set; }

    /// <summary>The stripes that are locked for the command that executes, unless it is on the batch's short path.</summary>
    internal StripeSet HeldStripes { get; set; }

    /// <summary>Hashes of the keys of a command with several.</summary>
    internal KeyHashes KeyHashes { get; } = new();

    /// <summary>Whether commands execute inside a unit: a transaction or script. Nothing in it blocks, and its time does not change.</summary>
    internal bool IsInUnit { get; set; }

    /// <summary>What the commands of the unit may still do beyond a slice each.</summary>
    internal UnitWork UnitWork { get; } = new();

    /// <summary>Whether a script calls the command.</summary>
    internal bool IsInScript { get; set; }

    /// <summary>Whether TIME moves on although a script runs: it is busy, so that the server looks at its clock meanwhile.</summary>
    internal bool IsScriptBusy { get; set; }

    /// <summary>
    /// Locks a stripe for a command that walks over a database without naming keys, unless it is locked for the command already (inside a
    /// transaction or script). One at a time, and released by <see cref="ExitStripe"/>, which publishes the keys that the walk found expired.
    /// </summary>
    internal void EnterStripe(int index)
    {
        if (HeldStripes.Contains(index)) return;
        if (IsInUnit) throw new InvalidOperationException("A command that walks over stripes is nested in another, and its row does not say that it walks.");
        Stripe stripe = Keyspace.Stripes[index];
        stripe.Enter();
        Recording.Begin(stripe);
    }

    internal void ExitStripe(int index)
    {
        if (HeldStripes.Contains(index)) return;
        if (Recording.IsOn) PublishRecorded!();
        Recording.Stop();
        Keyspace.Stripes[index].Exit();
    }
}
