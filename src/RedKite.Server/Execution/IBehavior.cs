namespace RedKite.Server.Execution;

/// <summary>
/// Something that a host wraps around the execution of every command: auditing, tenancy, throttling, caching, tracing.
/// Registered in <see cref="RedKiteOptions.Behaviors"/>; the first one there is the outermost.
/// </summary>
/// <remarks>
/// <para>A behavior sees the commands that are about to execute: known, with the right number of arguments, from a client
/// that may send them. It runs on the thread that read the command, before anything is locked and after everything is
/// given back; so it may call the server itself, but what it waits for, all clients of its loop wait for. Several
/// threads call it at once.</para>
/// <para>An exception that leaves a behavior becomes an error reply, whatever was replied before, and a line in the
/// log. A command that was executed stays executed.</para>
/// <para>Arguments may be secrets: AUTH's password is one.</para>
/// </remarks>
public interface IBehavior
{
    /// <summary>
    /// Wraps one command. Either calls <paramref name="next"/> once, on this thread, or replies by one of the call's
    /// methods; the command is then not executed.
    /// </summary>
#pragma warning disable CA1716 // Reserved words of Visual Basic, which has no ref structs.
    void Invoke(ref CommandCall call, BehaviorChain next);
#pragma warning restore CA1716
}
