using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

// Short commands that are executed one by one, with their stripe locked for each alone.
internal sealed partial class Invoker
{
    /// <summary>
    /// Executes a command of the batch's short path that behaviors surround: locks its stripe for it alone, because behaviors run with
    /// nothing locked. The batch counts and times it with its run.
    /// </summary>
    internal void RunShort(ref CommandContext cmd, ulong firstKeyHash)
    {
        RowHandler handler = default;
        TryRunShort(ref cmd, firstKeyHash, ref handler, mayWait: false);
    }

    /// <summary>The same with another handler, which has the same effects as the row's but replies in another form.</summary>
    /// <returns>False if the command may wait and must: nothing was done.</returns>
    internal bool TryRunShort<THandler>(ref CommandContext cmd, ulong firstKeyHash, scoped ref THandler handler, bool mayWait)
        where THandler : struct, IShortHandler, allows ref struct
    {
        int index = _keyspace.StripeOf(firstKeyHash);
        Stripe stripe = _keyspace.Stripes[index];
        long errors = Reply.Errors;
        bool serves = false;
        while (!stripe.EnterOrGiveWay(_environment.GivesUpWaiting))
        {
            if (IsRefusedAsBusy(cmd.Command)) return true;
        }

        if ((_engine.Attention.Flags & (ServerAttention.IsReplica | ServerAttention.Paused | ServerAttention.Clustered)) != 0 && _admission.RefusalOfLateShort(cmd, cmd.Command) is { } refusal)
        {
            stripe.Exit();
            if (mayWait && _engine.Routing.Value is { } routing && _engine.IsHandingOver(routing)) return false;
            Account.Reject(cmd.Command, Reply, refusal);
            return true;
        }

        try
        {
            _recording.Begin(stripe);
            long changes = _environment.Metrics.Changes;
            handler.Execute(ref cmd);
            if (_recording.IsOn)
            {
                Publisher.Publish(cmd, _environment.Metrics.Changes - changes);
                serves = Blocked.MayServe();
            }
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, StripeSet.Of(index), cmd.Command.FullName))
        {
            throw;
        }

        if (serves) Blocked.ServeAndExit(index, cmd.Session);
        else stripe.Exit();
        if (Reply.Errors != errors) Account.NoteError(cmd.Command, Reply);
        return true;
    }
}

/// <summary>What executes a short command whose stripe is locked.</summary>
internal interface IShortHandler
{
    /// <summary>Whether it reads the clock itself where a key that it finds has an expiry, so that the time may be that of a call shortly before.</summary>
    bool ReadsClock { get; }

    void Execute(ref CommandContext cmd);
}

/// <summary>The handler of the command's row.</summary>
internal readonly struct RowHandler : IShortHandler
{
    public bool ReadsClock => false;

    public void Execute(ref CommandContext cmd) => cmd.Command.Handler(ref cmd);
}
