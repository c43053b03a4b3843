using RedKite.Net;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Durability;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>
/// Serves blocked clients on the thread of the command that changed their key, after that command and before any other gets
/// its stripes: each client's request is executed again on its behalf, in the order in which the clients' requests arrived.
/// </summary>
/// <remarks>
/// A client may need stripes that are not locked. They are tried without waiting, which cannot deadlock in any order; if another
/// thread holds one for longer, all are released and locked again in ascending order. Only then can another client's command
/// execute in between.
/// </remarks>
internal sealed class BlockedClientServer(ExecutorCore core, CommandRunner runner, Admission admission, CommandAccount account, NotedKeys noted)
{
    // How soon a client is looked at again whose slot is about to be another node's.
    private const int HeldLookMs = 10;

    private readonly Engine _engine = core.Engine;
    private readonly Keyspace _keyspace = core.Keyspace;
    private readonly CommandEnvironment _environment = core.Environment;
    private readonly InvocationRecording _recording = core.Environment.Recording;
    private readonly BlockingState _blocking = core.Environment.Blocking;
    private readonly ReplyWriter _reply = new(core.Engine.Buffers);
    private ISyncedLog? _log; // of before the command in progress, if it is one of the host's
    private long _logFailures;
    private long? _readyMs; // null: the time of now
    private bool _isByTime; // what is noted is served behind no command, so its slots were looked at by none

    /// <summary>Whether clients are blocked on a key that was noted, and may be served now. Behind the last save such keys stay noted: should the server go on, they are looked at again, behind another command.</summary>
    internal bool MayServe()
    {
        if (!noted.Any) return false;
        if (!_engine.Pause.IsLastSave) return true;
        noted.MakeLate();
        return false;
    }

    /// <summary>
    /// Reads the clock behind a unit. As in Redis, a key counts as ready by the time of the unit, and the client's request executes by the time of now: a key that has
    /// expired since it was created is removed then.
    /// </summary>
    internal void ReadTime()
    {
        _readyMs = _environment.Time.NowMs;
        _environment.Time.Read();
    }

    /// <summary>
    /// Serves the clients that are blocked on keys that were noted. The scope may grow. If it needs a stripe of a busy script, a loop serves the rest
    /// after the script, with one of its ticks (<see cref="ServeNoted"/>): no stripe is locked then.
    /// </summary>
    internal void Serve(ref LockScope locked)
    {
        while (noted.TryTake(out NotedKey changed))
        {
            if (_isByTime) changed = changed with { IsLate = true };
            if (TryServe(ref locked, changed)) continue;
            noted.Note(changed with { IsLate = true }); // another command may serve it
            break;
        }

        _readyMs = null;
    }

    /// <summary>
    /// Executes a client's request again when its work is complete or stale. The stripes of its keys are locked. The keys are noted that
    /// others may wait for.
    /// </summary>
    internal void ServeWorking(ref LockScope locked, BlockedClient client)
    {
        if (client.TryBeginServing())
        {
            _environment.HeldStripes = locked.Held;
            _blocking.WorkingClient = client;
            if (client.Asks) client.Session.Ask(true); // as when it began: it is admitted again
            Serve(client, locked.Held);
            if (client.Asks) client.Session.Ask(false);
            _blocking.WorkingClient = null;
        }
    }

    /// <summary>Notes the log, and how often it had failed, before a command of the host begins.</summary>
    internal void BeginLogged(ISyncedLog? log, long failures) => (_log, _logFailures) = (log, failures);

    /// <summary>Notes the keys whose clients are to be looked at by now: <see cref="ServeNoted"/> serves them.</summary>
    internal void NoteLooks(long steadyMs) => noted.NoteLooks(steadyMs);

    /// <summary>Serves clients of keys that were noted outside of commands: by the background sweep. No stripe is locked.</summary>
    internal void ServeNoted()
    {
        if (!MayServe()) return;
        _isByTime = true;
        try
        {
            ServeAndUnlock(_keyspace.Lock(StripeSet.Empty));
        }
        finally
        {
            _isByTime = false;
        }
    }

    /// <summary>Serves the blocked clients that a command of the short path may serve. Its stripe is locked, and released here.</summary>
    internal void ServeAndExit(int stripe, Session session)
    {
        ServeAndUnlock(LockScope.Adopt(_keyspace, StripeSet.Of(stripe)), session);
    }

    private void ServeAndUnlock(LockScope locked, Session? session = null)
    {
        try
        {
            Serve(ref locked);
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, locked.Held, "serving blocked clients"))
        {
            throw;
        }
        finally
        {
            _environment.HeldStripes = StripeSet.Empty;
            locked.Dispose();
        }

        if (session is not null) _environment.Accesses.BeginClient(session);
        Deliver();
    }

    /// <summary>Delivers their replies to the clients that were served or unblocked. No stripe is locked.</summary>
    internal void Deliver()
    {
        if (_blocking.Unblocked.Count == 0) return;
        Func<bool>? mayBeLost = _log is null ? null : LostSince(_log, _logFailures);
        foreach (BlockedClient client in _blocking.Unblocked)
        {
            if (mayBeLost is not null) client.NoteLog(mayBeLost);
            _engine.Blocked.Finish(client);
        }

        _blocking.Unblocked.Clear();
    }

    private static Func<bool> LostSince(ISyncedLog log, long failures) => () => log.Failures != failures && log.AwaitedPosition() != 0;

    // False: it has given up, and no stripe is locked.
    private bool TryServe(ref LockScope locked, NotedKey change)
    {
        (KeyIdentity key, bool isNew, bool isLate) = change;
        WaitFlag? givesUp = _environment.ServesLater ? _environment.GivesUpWaiting : null;
        locked.Grow(StripeSet.Of(_keyspace.StripeOf(key.Hash)), givesUp, out bool gaveUp);
        if (gaveUp) return false;
        _recording.Begin(locked.Held);
        AwaitedKey? node = _engine.Blocked.FirstOf(key);
        while (node is not null)
        {
            BlockedClient client = node.Client;
            if (client.HasEnded || !MayBeServed(node, isNew) || (isLate && WaitsForSlot(node, isNew)))
            {
                node = node.Next;
                continue;
            }

            if (!locked.Grow(client.Stripes, givesUp, out gaveUp))
            {
                if (gaveUp) return false;

                // Other threads may have run in between.
                _recording.Begin(locked.Held);
                node = _engine.Blocked.FirstOf(key);
                continue;
            }

            _environment.HeldStripes = locked.Held;
            node = node.Next;
            if (client.TryBeginServing()) Serve(client, locked.Held);
        }

        return true;
    }

    // Whether the key holds what the client waits for, or does not and the client is to be woken for that. As in Redis, only a new key
    // serves a client that waits for elements: not one that held another type and was overwritten, nor a push to it.
    private bool MayBeServed(AwaitedKey key, bool isNew)
    {
        BlockedClient client = key.Client;
        if (!isNew && client.Block is { Type: DataType.List or DataType.SortedSet, WaitsForGrowth: false }) return false;
        if (admission.KeepsWaiting(client.Request.Command)) return false;
        if (client.Block.WakesWhenGone) return true;
        ExpiryPolicy policy = _environment.Time.Expiry.Policy == ExpiryPolicy.Keep ? ExpiryPolicy.Keep : ExpiryPolicy.Hide; // one that has expired stays until a command finds it
        Entry entry = _keyspace.Databases[key.Identity.Database].Find(client.Request[key.Argument], key.Identity.Hash, new ExpiryClock(_readyMs ?? _environment.Time.NowMs, policy));
        return entry.Exists && entry.Type == client.Block.Type;
    }

    // Whether the client would write to a slot that is held or another node's, where nothing may be written behind what that one was sent. It is looked at again, or sent elsewhere.
    private bool WaitsForSlot(AwaitedKey key, bool isNew)
    {
        if (core.IsTrusted || _engine.Routing.Value is not { } routing || !key.Client.Request.Command.Is(CommandFlags.Write)) return false;
        int slot = KeyHasher.SlotOf(key.Identity.Hash);
        if (routing.Serves(slot) || (!routing.IsHeld(slot) && !routing.IsAwaited(slot) && SlotCheck.RefusalOfWait(routing, slot, key.Client) is null)) return false;
        _engine.Blocked.Looks.Add(key.Identity, _environment.Time.SteadyMs + HeldLookMs, isNew);
        return true;
    }

    // The command that serves may have been executed when the node's lease had ended, and with it what is executed here: whether it had is looked at when the reply leaves.
    private OutputDeadline? DeadlineOf(Command command) =>
        _engine.Routing.Lease is { } lease && (command.Is(CommandFlags.Write) || !_engine.Settings.ClusterAllowsReadsWhenDown) ? lease.Term : null;

    private void Serve(BlockedClient client, StripeSet held)
    {
        Session session = client.Session;
        SavedRequest request = client.Request;
        _reply.Resp3 = session.Resp3;
        _reply.BytesMax = session.Connection is null ? _engine.MemoryBytesMax : _engine.ReplyBytesMax;
        _environment.Accesses.BeginClient(session);
        _environment.KeyHashes.Forget(); // of the command that serves
        var cmd = new CommandContext(_environment, session, request.Input, _reply, request.DatabaseIndex);
        cmd.Begin(request.Command, request.Arguments, request.FirstKeyHash);
        _blocking.IsServing = true;
        long errors = _reply.Errors;
        OutputDeadline? deadline = DeadlineOf(request.Command);
        bool isPermitted = admission.IsPermittedOrReply(cmd); // the user may have lost the permission while the client was blocked
        session.BeginServing();
        if (!core.IsTrusted) _environment.Time.KeepExpired(_engine.Routing.Value is { RemovesKeys: false }); // that of the command that was admitted last is of another time
        if (isPermitted && client.Work is not null && admission.RefusalOfWorked(cmd, request.Command) is { } elsewhere) _reply.Error(elsewhere);
        else if (isPermitted && client.Work is { TakesTooLong: true }) _reply.Error("ERR the command takes too long"u8);
        else if (isPermitted) runner.Run(ref cmd, held);
        if (isPermitted && _reply.Errors != errors) account.NoteError(request.Command, _reply);
        _recording.Clear(); // what it recorded is published
        _blocking.IsServing = false;
        if (_blocking.Request is { } again)
        {
            if (again.Work is { } work) client.Work = work; // begun again
            _engine.Blocked.NoteLook(client, again);
            _blocking.Request = null; // it waits on
        }

        client.Overflowed = _reply.Overflowed;
        bool served = _reply.Length > 0 || _reply.Overflowed;
        if (served)
        {
            if (isPermitted) account.CountWaited(client, _reply.Length);
            else client.IsCallCounted = true; // as one that was rejected
            client.Reply = Payload.Of(_engine.Buffers, _reply);
            client.NoteServed(deadline);
            _engine.Blocked.RemoveLocked(client);
            _blocking.Unblocked.Add(client);
        }

        _reply.Clear();
        session.EndServing(served);
        client.EndServing(served);
    }
}
