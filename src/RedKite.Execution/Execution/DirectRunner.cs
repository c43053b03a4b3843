using System.Diagnostics;
using RedKite.Protocol;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Executes single requests of a caller in the process. Its arguments are slices already, so nothing is parsed; the sequence is that of a
/// batch of one: the short path where nothing else is needed (<see cref="TryRunShort"/>), otherwise <see cref="Invoker.TryInvoke"/>.
/// </summary>
internal sealed class DirectRunner(CommandExecutor executor)
{
    // Copying more takes long enough to be timed by itself.
    private const int BytesToTime = 64 * 1024;

    private readonly Engine _engine = executor.Engine;
    private readonly Keyspace _keyspace = executor.Engine.Keyspace;
    private int _clockTick; // of the last reading of the clock

    /// <summary>Executes a request that needs nothing but a lock, the handler and an unlock.</summary>
    /// <returns>False if it needs more: nothing was done.</returns>
    internal bool TryRunShort<THandler>(Session session, Command command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, scoped ref THandler handler)
        where THandler : struct, IShortHandler, allows ref struct
    {
        ServerAttention server = _engine.Attention.Flags;
        if (((int)session.Attention | (int)(server & ~ServerAttention.Clustered)) != 0 || _keyspace.Budget.IsExceeded || _engine.WriteGate.KeyRule is not null) return false;
        if ((!command.IsShort && arguments.Length != command.OneKeyCount) || !command.Accepts(arguments.Length)) return false;
        if (input.Length >= _engine.LargeRequests.Threshold || executor.Time.CallersExpiry == ExpiryPolicy.Hide) return false;
        ArgumentSlice key = arguments[command.FirstKey];
        ulong hash = _keyspace.Hash(input.Slice(key.Start, key.Length));
        if (server != ServerAttention.None && (_engine.Routing.Value?.Serves(KeyHasher.SlotOf(hash)) != true || (_engine.Settings.SlotStatistics & SlotStatistics.Counted) != 0)) return false;
        long start = BeginTime(handler.ReadsClock);
        ReplyWriter reply = executor.Reply;
        executor.Environment.Accesses.BeginClient(session);
        executor.Recording.Changes.ClientId = session.Id;
        Stripe stripe = _keyspace.Stripes[_keyspace.StripeOf(hash)];
        long waits = stripe.LockWaits;
        var cmd = new CommandContext(executor.Environment, session, input, reply, session.DatabaseIndex);
        cmd.Begin(command, arguments, hash);
        if (!executor.Invoker.TryRunShort(ref cmd, hash, ref handler, mayWait: true)) return false; // which waits
        executor.Meter.EndDirect(cmd, start, start != 0 && (stripe.LockWaits != waits || reply.Length + input.Length > BytesToTime));
        if (reply.Events != ReplyEvents.None) NoteEvents(cmd, session);
        if (_engine.Tracking.HasBroadcast) _engine.Tracking.Broadcast(executor.Recording.Changes);
        return true;
    }

    // Reading the clock takes as long as half of a GET. Without it the time is at most as old as the last tick of the server's clock, a tenth of a second.
    private long BeginTime(bool mayBeStale)
    {
        int tick = _engine.Clock.Ticks;
        if (mayBeStale && tick == _clockTick && _engine.Clock.IsSystem && !executor.Meter.TimesNextDirect)
        {
            executor.Time.MayBeStale = true;
            return 0;
        }

        _clockTick = tick;
        long start = Stopwatch.GetTimestamp();
        executor.Meter.BeginDirect(start);
        return start;
    }

    /// <summary>Executes a request by the whole sequence, up to its end or until its client blocks.</summary>
    /// <returns>False when it must wait: nothing was done.</returns>
    internal bool TryRun(Session session, Command? command, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments)
    {
        long now = Stopwatch.GetTimestamp();
        executor.Meter.BeginDirect(now);
        executor.Waits.ForgetUnsent();
        executor.Environment.Accesses.BeginClient(session);
        executor.Recording.Changes.ClientId = session.Id;
        executor.Reply.Resp3 = session.Resp3;
        session.Counts.LastInteractionMs = executor.Time.SteadyMs;
        session.IsExecuting = true;
        var cmd = new CommandContext(executor.Environment, session, input, executor.Reply, session.DatabaseIndex);
        var request = new BatchRequest { Command = command, Count = arguments.Length, End = input.Length };
        if (command is { EarlyKey: > 0 } && command.EarlyKey < arguments.Length)
        {
            ArgumentSlice key = arguments[command.EarlyKey];
            request.Hash = _keyspace.Hash(input.Slice(key.Start, key.Length));
        }

        bool isDone = executor.Invoker.TryInvoke(ref cmd, ref request, arguments, ref now);
        session.IsExecuting = false;
        if (executor.Reply.Events != ReplyEvents.None) NoteEvents(cmd, session);
        if (_engine.Tracking.HasBroadcast) _engine.Tracking.Broadcast(executor.Recording.Changes);
        return isDone;
    }

    private void NoteEvents(scoped in CommandContext cmd, Session session)
    {
        ReplyWriter reply = executor.Reply;
        ReplyEvents events = reply.TakeEvents();
        if ((events & ReplyEvents.Delivery) != 0) session.WriteDeferred(reply);
        if ((events & ReplyEvents.Large) != 0 && cmd.Command is { IsShort: true } && reply.Length >= _engine.LargeReplies.Threshold) executor.Account.NoteLarge(_engine.LargeReplies, cmd, reply.Length);
    }
}
