using RedKite.Protocol;
using RedKite.Server.Changes;

namespace RedKite.Server.Model;

/// <summary>Executes commands inside the one that is executing: those that EXEC has queued, and those that a script calls.</summary>
internal interface INestedExecutor
{
    /// <summary>Begins a unit: what its commands change reaches the log and replicas together. Nothing in it blocks. Units nest.</summary>
    void BeginUnit();

    /// <summary>Ends the unit.</summary>
    void EndUnit();

    /// <summary>Executes a command that was queued, unless its user has lost the permission since. Its stripes are locked.</summary>
    void RunQueued(Session session, scoped in QueuedCommand request, ReplyWriter reply);

    /// <summary>Executes a command that a script calls, if its user may: locks what it needs, then runs it. Only inside a unit.</summary>
    /// <param name="session">The client.</param>
    /// <param name="command">The command's row, or its subcommand's.</param>
    /// <param name="input">The bytes of all arguments.</param>
    /// <param name="arguments">The arguments, the name included.</param>
    /// <param name="reply">Where the reply goes.</param>
    void Call(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply);

    /// <summary>Executes a command that a host's command calls, if its user may. Only inside a unit.</summary>
    /// <param name="session">The client.</param>
    /// <param name="command">The command's row, or its subcommand's.</param>
    /// <param name="input">The bytes of all arguments, reused by later calls.</param>
    /// <param name="arguments">The arguments, the name included.</param>
    /// <param name="reply">Where the reply goes.</param>
    /// <param name="keys">The hashes of the keys that it may use, whose stripes are locked.</param>
    /// <returns>False if it uses another key, or needs further stripes: nothing was done.</returns>
    bool TryCall(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply, List<ulong> keys);

    /// <summary>
    /// Executes the whole requests of a log's file, for which nothing expires. They are no part of the log again, and their units are part of the
    /// surrounding one. All stripes are locked, and no script runs.
    /// </summary>
    /// <returns>How many bytes were executed; fewer than all if one of them is no request.</returns>
    int Replay(Session session, Span<byte> requests, ReplyWriter reply);

    /// <summary>Where the effects of nested commands go: a script may choose. All of them at its begin, and behind it.</summary>
    EffectTargets EffectTargets { set; }

    /// <summary>What may be executed.</summary>
    IAdmission Admission { get; }

    /// <summary>Counts the error that was just replied to a script instead of executing its command.</summary>
    /// <param name="command">The command; null: there is none of that name.</param>
    /// <param name="reply">The reply.</param>
    void NoteRejected(Command? command, ReplyWriter reply);

    /// <summary>Whether the client's user may execute a command.</summary>
    bool MayExecute(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments);

    /// <summary>The reply while a script is busy; null: none is.</summary>
    string? BusyReply { get; }

    /// <summary>Publishes the changes that the store has made by itself.</summary>
    /// <param name="writer">The client whose command had it do so, and whose reply waits as for its own changes; null: none.</param>
    void PublishRecorded(Session? writer = null);

    /// <summary>Ends the process with a crash report, because an exception must not pass through a script.</summary>
    void Stop(Exception failure);
}
