using System.Runtime.ExceptionServices;
using RedKite.Protocol;
using RedKite.Server.Execution;
using RedKite.Server.Logging;
using RedKite.Server.Model;

namespace RedKite.Server;

/// <summary>
/// Passes commands through the host's behaviors. Stripes are locked inside the innermost one alone, so no behavior can
/// leave one locked.
/// </summary>
internal sealed class BehaviorPipeline : ICommandInterceptor
{
    // The same for all servers, so that the same behaviors in the same order can be around several.
    private static readonly LastBehavior Last = new();

    private readonly Behavior _outermost;
    private readonly ServerLog _log;

    internal BehaviorPipeline(IReadOnlyList<Behavior> behaviors, ServerLog log)
    {
        _outermost = Behavior.Link(behaviors, Last);
        _log = log;
    }

    public bool Execute(
        Invoker invoker, ref CommandContext cmd, Command command, ReadOnlySpan<ArgumentSlice> arguments, ulong firstKeyHash, long start, bool isShort)
    {
        cmd.Begin(command, arguments, firstKeyHash); // with the subcommand, if there is one
        var call = new CommandCall(invoker, cmd, arguments, firstKeyHash, start, isShort);
        try
        {
            _outermost.Invoke(ref call);
            if (!call.HasReply) call.ReplyError("ERR a behavior ended the command without a reply"u8);
        }
#pragma warning disable CA1031 // A behavior may throw anything; the server continues.
        catch (Exception exception) when (call.Fault is null)
#pragma warning restore CA1031
        {
            call.ReplyError("ERR a behavior failed, see the server's log"u8);
            _log.Warning(LogEvents.BehaviorFailed, $"A behavior failed at '{command.FullName}': {exception}");
        }

        cmd = call.Context; // SELECT changes it

        // What the handler itself throws is a bug with stripes locked: no behavior may hide it.
        if (call.Fault is { } fault) ExceptionDispatchInfo.Throw(fault);
        if (call.IsRejected) invoker.Account.NoteRejected(command);
        return call.WasExecuted;
    }

    private sealed class LastBehavior : Behavior
    {
        public override void Invoke(ref CommandCall call) => call.Execute();
    }
}
