using RedKite.Protocol;
using RedKite.Server.Changes;
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
internal sealed class BlockedClientServer
{
    private readonly Invoker _invoker;
    private readonly Admission _admission;
    private readonly Engine _engine;
    private readonly Keyspace _keyspace;
    private readonly CommandEnvironment _environment;
    private readonly InvocationRecording _recording;
    private readonly BlockingState _blocking;
    private readonly ReplyWriter _reply;
    private readonly Queue<(KeyIdentity Key, bool IsNew)> _changed = new();
    private readonly HashSet<(KeyIdentity Key, bool IsNew)> _waiting = []; // what the queue holds
    private long? _readyMs; // null: the time of now

    internal BlockedClientServer(Invoker invoker, Admission admission, Engine engine, CommandEnvironment environment)
    {
        _invoker = invoker;
        _admission = admission;
        _environment = environment;
        _recording = environment.Recording;
        _blocking = environment.Blocking;
        _engine = engine;
        _keyspace = _engine.Keyspace;
        _reply = new ReplyWriter(_engine.Buffers);
    }

    /// <summary>Whether clients are blocked on a key that was noted.</summary>
    internal bool HasNoted => _changed.Count > 0;

    /// <summary>Notes the keys of an invocation's changes that clients are blocked on. Their stripes are locked.</summary>
    internal void Note(ChangeList changes)
    {
        for (int i = 0; i < changes.Count; i++)
        {
            Change change = changes[i];
            if (change.Event == KeyEvent.Flush) NoteAll(change.Database);
            else if (change.Event is not (KeyEvent.KeyMiss or KeyEvent.Overwritten or KeyEvent.TypeChanged or KeyEvent.Silent or KeyEvent.Bookkeeping) && _engine.Blocked.FirstOf(change.Identity) is not null) Note(change.Identity, change.Event == KeyEvent.New);
        }
    }

    /// <summary>Notes the keys whose clients are to be looked at by now.</summary>
    internal void NoteLooks(long steadyMs)
    {
        while (_engine.Blocked.Looks.TryTake(steadyMs, out KeyIdentity key)) Note(key, isNew: false);
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
        while (_changed.TryDequeue(out (KeyIdentity Key, bool IsNew) changed))
        {
            _waiting.Remove(changed);
            if (TryServe(ref locked, changed.Key, changed.IsNew)) continue;
            Note(changed.Key, changed.IsNew);
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
            Serve(client, locked.Held);
            _blocking.WorkingClient = null;
        }
    }

    /// <summary>Serves clients of keys that were noted outside of commands: by the background sweep. No stripe is locked.</summary>
    internal void ServeNoted()
    {
        if (_changed.Count == 0) return;
        LockScope locked = _keyspace.Lock(StripeSet.Empty);
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

        Deliver();
    }

    /// <summary>Delivers their replies to the clients that were served or unblocked. No stripe is locked.</summary>
    internal void Deliver()
    {
        if (_blocking.Unblocked.Count == 0) return;
        foreach (BlockedClient client in _blocking.Unblocked) _engine.Blocked.Finish(client);
        _blocking.Unblocked.Clear();
    }

    private void Note(KeyIdentity key, bool isNew)
    {
        if (_waiting.Add((key, isNew))) _changed.Enqueue((key, isNew));
    }

    private void NoteAll(int database)
    {
        for (int stripe = 0; stripe < _keyspace.Stripes.Length; stripe++)
        {
            foreach (KeyIdentity key in _engine.Blocked.KeysIn(stripe))
            {
                if (key.Database == database) Note(key, isNew: true);
            }
        }
    }

    // False: it has given up, and no stripe is locked.
    private bool TryServe(ref LockScope locked, KeyIdentity key, bool isNew)
    {
        WaitFlag? givesUp = _environment.ServesLater ? _environment.GivesUpWaiting : null;
        locked.Grow(StripeSet.Of(_keyspace.StripeOf(key.Hash)), givesUp, out bool gaveUp);
        if (gaveUp) return false;
        _recording.Begin(locked.Held);
        AwaitedKey? node = _engine.Blocked.FirstOf(key);
        while (node is not null)
        {
            BlockedClient client = node.Client;
            if (client.HasEnded || !MayBeServed(node, isNew))
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
        if (_admission.KeepsWaiting(client.Request.Command)) return false;
        if (client.Block.WakesWhenGone) return true;
        ExpiryPolicy policy = _environment.Time.Expiry.Policy == ExpiryPolicy.Keep ? ExpiryPolicy.Keep : ExpiryPolicy.Hide; // one that has expired stays until a command finds it
        Entry entry = _keyspace.Databases[key.Identity.Database].Find(client.Request[key.Argument], key.Identity.Hash, new ExpiryClock(_readyMs ?? _environment.Time.NowMs, policy));
        return entry.Exists && entry.Type == client.Block.Type;
    }

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
        bool isPermitted = _admission.IsPermittedOrReply(cmd); // the user may have lost the permission while the client was blocked
        session.BeginServing();
        if (isPermitted && client.Work is { TakesTooLong: true }) _reply.Error("ERR the command takes too long"u8);
        else if (isPermitted) _invoker.Run(ref cmd, held);
        if (isPermitted && _reply.Errors != errors) _invoker.Account.NoteError(request.Command, _reply);
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
            if (isPermitted) _invoker.Account.CountWaited(client);
            else client.IsCallCounted = true; // as one that was rejected
            client.Reply = Payload.Of(_engine.Buffers, _reply);
            client.ServedAt = Arrival.Now();
            _engine.Blocked.RemoveLocked(client);
            _blocking.Unblocked.Add(client);
        }

        _reply.Clear();
        session.EndServing(served);
        client.EndServing(served);
    }
}
