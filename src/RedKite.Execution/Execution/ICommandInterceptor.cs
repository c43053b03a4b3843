using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>Surrounds every command, between the checks and the locks: the host's behaviors.</summary>
internal interface ICommandInterceptor
{
    /// <summary>
    /// Executes a command with <see cref="Invoker.LockAndRun"/>, or a short one with <see cref="Invoker.RunShort"/>, or replies in
    /// its place.
    /// </summary>
    /// <param name="start">The timestamp at the command's turn; 0: a short command's was not read.</param>
    /// <param name="isShort">Whether the command takes the short path: the caller has checked that, and counts it.</param>
    /// <returns>Whether it was executed.</returns>
    bool Execute(Invoker invoker, ref CommandContext cmd, Command command, ReadOnlySpan<ArgumentSlice> arguments, ulong firstKeyHash, long start, bool isShort);
}
