using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>What surrounds every command between the checks and the locks: the host's behaviors.</summary>
internal interface ICommandInterceptor
{
    /// <summary>Executes a command with <see cref="Invoker.LockAndRun"/>, or replies in its place.</summary>
    void Execute(Invoker invoker, ref CommandContext cmd, Command command, ReadOnlySpan<ArgumentSlice> arguments, ulong firstKeyHash, long start);
}
