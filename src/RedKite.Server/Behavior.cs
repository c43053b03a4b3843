namespace RedKite;

/// <summary>
/// Wraps the execution of every command in the host's own code: auditing, tenancy, throttling, caching, tracing.
/// Registered in <see cref="RedKiteOptions.Behaviors"/>; the first one there is the outermost.
/// </summary>
/// <remarks>
/// <para>A behavior sees the commands that are about to execute: known, with the right number of arguments, from a client
/// that may send them. It runs on the thread that read the command, before anything is locked and after everything is
/// released, so it may call the server itself. While it waits, all clients of its loop wait. Several threads call it at
/// once.</para>
/// <para>An exception that leaves a behavior becomes an error reply, whatever was replied before, and a line in the
/// log. A command that was executed stays executed.</para>
/// <para>Arguments may be secrets: AUTH's password is one.</para>
/// <para>What it costs: one behavior adds 50 to 90 ns to every command, 30 more once a behavior reads <see cref="CommandCall.Elapsed"/>, and
/// each further one 1 to 2 ns, plus the behavior's own work (bench/Results/behaviors.md). Short commands are timed in runs, so the times in INFO and LATENCY
/// HISTOGRAM include the behaviors around them.</para>
/// <para>How it is built: the behaviors themselves form the chain, linked once when the server starts, so a command allocates
/// nothing at any depth and makes one call per behavior. That call, <c>Next.Invoke</c>, is in each behavior's own code. So the
/// runtime sees one class per call site, calls it directly, and inlines small behaviors into those before them; an exception, whose
/// cost grows with the frames, then passes fewer of them. With a call site that all behaviors share (a delegate in a link, an
/// interface called by a struct named next) none of that happens, and the chain takes up to three times as long
/// (BehaviorPipelineBenchmarks).</para>
/// </remarks>
public abstract class Behavior
{
    private Behavior? _next;

    /// <summary>The rest of a command's way: the next inner behavior or, after the last one, its execution.</summary>
    protected Behavior Next => _next!;

    /// <summary>
    /// Wraps one command. Either calls <c>Next.Invoke</c> once, on this thread, or replies by one of the call's methods; the
    /// command is then not executed.
    /// </summary>
#pragma warning disable CA1716 // Reserved words of Visual Basic, which has no ref structs.
    public abstract void Invoke(ref CommandCall call);
#pragma warning restore CA1716

    /// <summary>Links these behaviors, the first one outermost, around a last step. Nothing is linked if one of them already has another place.</summary>
    /// <returns>Where a command enters.</returns>
    internal static Behavior Link(IReadOnlyList<Behavior> behaviors, Behavior last)
    {
        var seen = new HashSet<Behavior>(ReferenceEqualityComparer.Instance);
        for (int i = 0; i < behaviors.Count; i++)
        {
            Behavior behavior = behaviors[i];
            Behavior next = NextOf(behaviors, i, last);
            if (seen.Add(behavior) && (behavior._next is null || behavior._next == next)) continue;
            throw new ArgumentException(
                $"A behavior, here a {behavior.GetType().Name}, has one place: it cannot be registered twice, nor with another server that has another behavior behind it. Make an object for each place.",
                nameof(behaviors));
        }

        for (int i = 0; i < behaviors.Count; i++) behaviors[i]._next = NextOf(behaviors, i, last);
        return behaviors.Count > 0 ? behaviors[0] : last;
    }

    private static Behavior NextOf(IReadOnlyList<Behavior> behaviors, int index, Behavior last) => index + 1 < behaviors.Count ? behaviors[index + 1] : last;
}
