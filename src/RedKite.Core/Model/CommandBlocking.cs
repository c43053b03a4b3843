using System.Text;
using RedKite.Protocol;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>How a handler blocks its client, and unblocks another.</summary>
internal static class CommandBlocking
{
    // How often work in slices begins again before it is done at once.
    private const int RestartsMax = 2;

    /// <summary>
    /// Blocks the client, once the handler returns, until one of the keys that the command reads holds a value of a type; then
    /// the command executes again. The handler must not reply.
    /// </summary>
    /// <param name="cmd">The command.</param>
    /// <param name="type">The type of value that serves the client.</param>
    /// <param name="deadlineMs">When the wait ends, by the steady clock.</param>
    /// <param name="wakesWhenGone">Whether the command is also executed when a key is gone or holds another type.</param>
    /// <param name="waitsForGrowth">Whether elements that are added to a key that is there may serve the client.</param>
    /// <param name="looksAgainMs">When the command is executed again even if no key has changed, by the steady clock; null: never.</param>
    /// <returns>False where nothing may block (in a transaction, a script, a log or a primary's stream): the reply is that of a deadline that has passed.</returns>
    internal static bool BlockOnKeys(this scoped in CommandContext cmd, DataType type, long deadlineMs, bool wakesWhenGone = false, bool waitsForGrowth = false, long? looksAgainMs = null) =>
        Block(cmd, new BlockRequest { Type = type, DeadlineMs = deadlineMs, WakesWhenGone = wakesWhenGone, WaitsForGrowth = waitsForGrowth, LooksAgainMs = looksAgainMs });

    /// <summary>Blocks the client, once the handler returns, until another thread replies, a time, or CLIENT UNBLOCK. The handler must not reply.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="deadlineMs">When the wait ends, by the steady clock.</param>
    /// <param name="late">Identifies the wait for the thread that replies.</param>
    /// <param name="timeoutReply">Makes the reply at the deadline.</param>
    /// <returns>False where nothing may block (in a transaction, a script, a log or a primary's stream): the reply is that of a deadline that has passed.</returns>
    internal static bool BlockUntil(this scoped in CommandContext cmd, long deadlineMs, LateReply late, Func<byte[]> timeoutReply) =>
        Block(cmd, new BlockRequest { DeadlineMs = deadlineMs, Late = late, TimeoutReply = timeoutReply });

    /// <summary>
    /// Blocks the client, once the handler returns, until a thread of its own has done what would keep the loop's other clients waiting: for the disk, for
    /// another thread, for all stripes. The handler must not reply.
    /// </summary>
    /// <param name="cmd">The command.</param>
    /// <param name="replyLater">Ends the wait by a reply.</param>
    /// <param name="work">Does it, with no stripe locked, and returns the reply; null: the connection ends without one.</param>
    /// <returns>False where nothing may block (in a transaction or script).</returns>
    internal static bool DoElsewhere(this scoped in CommandContext cmd, Action<Session, LateReply, byte[]> replyLater, Func<byte[]?> work) =>
        DoElsewhereReplying(cmd, replyLater, _ => work());

    /// <summary>As <see cref="DoElsewhere"/>; the work is given what replies at once, and what it returns behind that does not count.</summary>
    internal static bool DoElsewhereReplying(this scoped in CommandContext cmd, Action<Session, LateReply, byte[]> replyLater, Func<Action<byte[]>, byte[]?> work)
    {
        var late = new LateReply();
        if (!Block(cmd, new BlockRequest { DeadlineMs = BlockRequest.NoDeadline, Late = late, IsCertain = true })) return false;
        Session session = cmd.Session;
        var thread = new Thread(() =>
        {
            byte[]? reply;
            try
            {
                reply = work(early => replyLater(session, late, early));
            }
#pragma warning disable CA1031 // No client may end the process, which an exception on this thread would.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                reply = Encoding.UTF8.GetBytes($"-ERR a bug ended the command: {failure.Message.ReplaceLineEndings(" ")}\r\n");
            }

            if (reply is not null) replyLater(session, late, reply);
        })
        { Name = "redkite-command", IsBackground = true };
        thread.Start();
        return true;
    }

    /// <summary>
    /// Blocks the client, once the handler returns, until a copy is complete or its source has
    /// changed; then the command executes again, and attaches the copy or starts over. The handler must not reply.
    /// </summary>
    /// <returns>False where nothing may block, or if the source has changed too often: the rest is copied at once.</returns>
    internal static bool BlockOnCopy(this scoped in CommandContext cmd, EntryCopy copy)
    {
        if (!cmd.MayWork()) return false;
        copy.Watch(cmd.Database);
        return cmd.BlockOnWork(copy);
    }

    /// <summary>
    /// Blocks the client, once the handler returns, until work is complete or has become stale; then the command executes again, and uses what
    /// was done or begins again. The handler must not reply.
    /// </summary>
    /// <returns>False where nothing may block, or if the work has begun again too often: the rest is done at once.</returns>
    internal static bool BlockOnWork(this scoped in CommandContext cmd, SlicedWork work) =>
        cmd.MayWork() && Block(cmd, new BlockRequest { Work = work, DeadlineMs = BlockRequest.NoDeadline });

    /// <summary>
    /// Where nothing may block, or after work has become stale too often: the steps that the command may take at once beyond a slice. It notes
    /// them by <see cref="EndAtOnceOrReply"/>.
    /// </summary>
    internal static long StepsAtOnce(this scoped in CommandContext cmd)
    {
        // A log and a primary's stream contain what was accepted: it is never refused later.
        if (cmd.WasAccepted) return UnitWork.NoLimit;
        return cmd.Environment.IsInUnit ? cmd.Environment.UnitWork.Granted : UnitWork.CommandStepsMax;
    }

    /// <summary>
    /// The steps of a command's first slice. In a transaction or script that has used up what its commands may take, only a cheap command ends
    /// within it. Its steps are noted by <see cref="EndSlice"/>.
    /// </summary>
    internal static long StepsOfSlice(this scoped in CommandContext cmd, long sliceSteps)
    {
        sliceSteps /= cmd.Keyspace.BoundsDivisor;
        if (!cmd.Environment.IsInUnit || cmd.WasAccepted) return sliceSteps;
        return Math.Min(sliceSteps, (sliceSteps / UnitWork.CheapPart) + cmd.Environment.UnitWork.Left);
    }

    /// <summary>Notes the steps of a command's first slice, unless it was cheap.</summary>
    internal static void EndSlice(this scoped in CommandContext cmd, long sliceSteps, long steps)
    {
        if (cmd.Environment.IsInUnit && steps > sliceSteps / cmd.Keyspace.BoundsDivisor / UnitWork.CheapPart) cmd.Environment.UnitWork.Take(steps);
    }

    /// <summary>Notes the steps that a command without slices is about to take in a transaction or script; otherwise replies that those are too many.</summary>
    internal static bool MayTakeOrReply(this scoped in CommandContext cmd, long steps)
    {
        if (!cmd.Environment.IsInUnit || steps <= UnitWork.CheapSteps) return true;
        return steps <= cmd.StepsAtOnce() ? cmd.EndAtOnceOrReply(steps, isComplete: true) : cmd.EndAtOnceOrReply(0, isComplete: false);
    }

    /// <summary>Notes the steps that a command has taken at once; otherwise replies that it would take too many.</summary>
    internal static bool EndAtOnceOrReply(this scoped in CommandContext cmd, long steps, bool isComplete)
    {
        if (cmd.Environment.IsInUnit) cmd.Environment.UnitWork.Take(steps);
        if (isComplete) return true;
        if (cmd.Environment.IsInUnit) cmd.Reply.Error("ERR the command takes too long for a transaction or script"u8);
        else cmd.Reply.Error("ERR the key changes too often for a command that takes so long"u8);
        return false;
    }

    /// <summary>What the command's patterns may take, together with those of its transaction or script. Once for each command.</summary>
    internal static GlobBudget BeginPatterns(this scoped in CommandContext cmd)
    {
        GlobBudget patterns = cmd.Environment.UnitWork.Patterns;
        if (cmd.Environment.IsInUnit) patterns.BeginInUnit();
        else patterns.Begin();
        return patterns;
    }

    /// <summary>Whether the patterns could be compared with everything; otherwise an error takes the place of what was replied.</summary>
    /// <param name="patterns">What they may take, used by now.</param>
    /// <param name="reply">The reply.</param>
    /// <param name="start">Where the command's reply begins.</param>
    internal static bool EndPatternsOrReply(this GlobBudget patterns, ReplyWriter reply, long start)
    {
        if (!patterns.IsUsedUp) return true;
        if (!reply.Overflowed) reply.Truncate(start);
        reply.Error("ERR the pattern takes too long"u8);
        return false;
    }

    /// <summary>Gives an argument another value in later executions, after <see cref="BlockOnKeys"/>.</summary>
    internal static void ReplaceArgument(this scoped in CommandContext cmd, int argument, ReadOnlySpan<byte> value) =>
        cmd.Environment.Blocking.Request?.Replacements.Add((argument, value.ToArray()));

    /// <summary>Ends another client's wait, as if its deadline had passed or with the error UNBLOCKED.</summary>
    internal static bool Unblock(this scoped in CommandContext cmd, Session session, ReadOnlySpan<byte> reply)
    {
        if (session.Blocked is not { MayBeUnblocked: true } client || !client.TryEnd()) return false;
        if (!reply.IsEmpty)
        {
            client.Reply = [Payload.Of(cmd.Environment.Buffers, reply)];
            cmd.Metrics.CountError("UNBLOCKED");
            cmd.Metrics.Of(client.Request.Command.Index).CountFailed("UNBLOCKED");
        }

        cmd.Environment.Blocking.Unblocked.Add(client);
        return true;
    }

    private static bool MayWork(this scoped in CommandContext cmd) =>
        !cmd.Environment.IsInUnit && !(cmd.Environment.Blocking.WorkingClient?.Restarts >= RestartsMax);

    private static bool Block(scoped in CommandContext cmd, BlockRequest request)
    {
        if (cmd.Environment.IsInUnit || (request.Work is null && cmd.Environment.Blocking.NeverWaits)) return false;
        cmd.Environment.Blocking.Request = request;
        return true;
    }
}
