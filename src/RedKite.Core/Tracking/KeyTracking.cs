using RedKite.Net.Interop;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tracking;

/// <summary>
/// Client-side caching: remembers which clients have read which keys, and invalidates a key there when it changes. The table has a part for each
/// stripe, guarded by the stripe's lock: a key is remembered before the stripe from which it was read is released, so no change is missed.
/// It consumes changes while a client tracks, and while keys are remembered; a minute after the last client stopped tracking, they are forgotten.
/// </summary>
internal sealed class KeyTracking(Keyspace keyspace, ClientRegistry clients, ChangePublisher changes, BufferPool pool, Settings settings, LimitCounts limits, KeptMemory kept) : IChangeConsumer
{
    // A key's place in the table, which has doubled, and its name's array; another reader's id in an array that has doubled.
    private const int KeyBytes = 128;
    private const int ReaderBytes = 16;

    // A prefix with its array, its place in the table, and its set of clients.
    private const int PrefixBytes = 360;

    private const int IdleMs = 60_000;

    private readonly TrackedKeys[] _parts = [.. keyspace.Stripes.ToArray().Select(_ => new TrackedKeys())];
    private readonly Lock _changing = new();
    private readonly HashSet<Session> _sessions = [];
    private readonly PrefixBroadcast _broadcast = new();
    private int _clientCount;
    private long _keys;
    private long _items;
    private long _bytes;
    private long _sent;
    private int _nextTrimmed;
    private volatile bool _consumes;
    private long _idleSinceMs; // by the system's own clock

    /// <summary>Clients that track.</summary>
    internal int Clients => Volatile.Read(ref _clientCount);

    /// <summary>Keys that are remembered.</summary>
    internal long Keys => Interlocked.Read(ref _keys);

    /// <summary>Pairs of a key and a client that has read it.</summary>
    internal long Items => Interlocked.Read(ref _items);

    /// <summary>The bytes of a name that is remembered, which tests lower.</summary>
    internal long NameBytesMax { get; set; } = ManagedText.BytesMax;

    /// <summary>Prefixes of BCAST.</summary>
    internal int Prefixes => _broadcast.Count;

    /// <summary>Invalidations that were sent.</summary>
    internal long Sent => Interlocked.Read(ref _sent);

    /// <summary>Begins to track for a client, or changes how. On the client's loop.</summary>
    internal void Begin(Session session, TrackingOptions options)
    {
        bool isNew = session.Tracking is null;
        foreach (byte[] prefix in options.Prefixes) _broadcast.Add(session, prefix);
        session.Tracking = new ClientTracking(options, options.Prefixes.Sum(prefix => (long)prefix.Length + PrefixBytes), End);
        if (!isNew) return;
        lock (_changing)
        {
            _sessions.Add(session);
            if (_clientCount++ > 0) return;
            changes.Request(this, isOn: true);
            _consumes = true;
        }
    }

    /// <summary>Ends the tracking of a client. On its loop.</summary>
    internal void End(Session session)
    {
        if (session.Tracking is not { } tracking) return;
        session.Tracking = null;
        foreach (byte[] prefix in tracking.Options.Prefixes) _broadcast.Remove(session, prefix);
        lock (_changing)
        {
            _sessions.Remove(session);
            if (--_clientCount > 0) return;
            _idleSinceMs = Environment.TickCount64;
            if (Keys == 0) EndConsuming();
        }
    }

    /// <summary>Remembers the keys that a command of a client has read. Their stripes are locked.</summary>
    internal void Remember(scoped in CommandContext cmd)
    {
        if (cmd.Command.HasOneKey)
        {
            Remember(cmd, cmd.Command.FirstKey);
            return;
        }

        var extraction = new KeyExtraction(cmd.Command);
        while (extraction.MoveNext(cmd)) Remember(cmd, extraction.Argument);
    }

    private void Remember(scoped in CommandContext cmd, int argument)
    {
        int bytes = cmd[argument].Length;
        if (bytes > ManagedText.FreeBytes && (bytes > NameBytesMax || !ManagedText.HasRoom(bytes, bytes)))
        {
            limits.Note(Limit.TrackedNameBytes);
            if (cmd.Session.Tracking is { } tracking) Send(cmd.Session, tracking, keys: null); // it can't be told of this key alone
            return;
        }

        ulong hash = cmd.HashOf(argument);
        TrackedKeys part = _parts[keyspace.StripeOf(hash)];
        if (part.Add(hash, cmd[argument], cmd.Session.Id, out bool isNew)) NoteAdded(part, hash, cmd[argument], isNew);
    }

    private void NoteAdded(TrackedKeys part, ulong hash, ReadOnlySpan<byte> key, bool isNew)
    {
        Interlocked.Increment(ref _items);
        kept.Add(Kept.Tracking, isNew ? key.Length + KeyBytes : ReaderBytes);
        if (!isNew) return;
        Interlocked.Increment(ref _keys);
        Interlocked.Add(ref _bytes, key.Length + Session.NameOverhead);
        if (IsOverKeys) Forget(part, hash, Limit.KeysTracked); // or some of another part: see Trim
        while (IsOverBytes && Forget(part, hash, Limit.TrackedNameBytes))
        {
        }

        if (IsOverBytes) Forget(part, except: 0, Limit.TrackedNameBytes); // the key itself
    }

    public void Published(ChangeList list)
    {
        bool isFlushed = false;
        for (int i = 0; i < list.Count; i++)
        {
            Change change = list[i];
            if (change.Event == KeyEvent.Flush)
            {
                isFlushed = true;
            }
            else if (KeyEvents.IsModification(change.Event))
            {
                if (_broadcast.Count > 0) _broadcast.Note(list.KeyOf(change), IsOfClient(list, i) ? list.ClientId : 0, list);
                if (_parts[keyspace.StripeOf(change.Hash)].Remove(change.Hash) is { } readers) Tell(readers, list.ClientId);
            }
        }

        if (isFlushed) TellOfFlush();
    }

    // As in Redis, NOLOOP with BCAST does not apply to what a script changes, and to what has expired or is evicted. A collection goes with the last field that expires.
    private static bool IsOfClient(ChangeList list, int index) => !list.IsOfScript && list[index].Event switch
    {
        KeyEvent.Expired or KeyEvent.Evicted or KeyEvent.HExpired or KeyEvent.SExpired => false,
        KeyEvent.Del => index == 0 || list[index - 1].Event is not (KeyEvent.HExpired or KeyEvent.SExpired) || list[index - 1].Identity != list[index].Identity,
        _ => true,
    };

    /// <summary>Whether clients of BCAST are to get invalidations.</summary>
    internal bool HasBroadcast => _broadcast.HasChanges;

    /// <summary>
    /// Sends the clients of BCAST the keys that an executor, whose list of changes is passed, has changed since its last call. No stripe is locked.
    /// </summary>
    internal void Broadcast(ChangeList list)
    {
        if (!_broadcast.HasChanges) return;
        _broadcast.TakeChanges(list, (session, changed) =>
        {
            if (session.Tracking is not { } tracking) return;
            byte[][] keys = [.. changed.Where(key => !tracking.Options.NoLoop || key.Value != session.Id).Select(key => key.Key)];
            if (keys.Length > 0) Send(session, tracking, InvalidationText.Keys(keys));
        });
    }

    /// <summary>Forgets all keys when no client has tracked for a while. Called regularly, with no stripe locked; a busy script puts it off.</summary>
    internal void ReleaseIdle()
    {
        if (Clients > 0 || !_consumes || (Keys > 0 && Environment.TickCount64 - _idleSinceMs < IdleMs)) return;
        if (!keyspace.TryLockAll(keyspace.Scripts.Busy, out LockScope locked)) return;
        using (locked)
        {
            lock (_changing)
            {
                if (_clientCount > 0) return;
                Clear();
                EndConsuming();
            }

            changes.ApplyLocked();
        }
    }

    /// <summary>Forgets keys beyond the limits, of any stripe. No stripe is locked.</summary>
    internal void Trim()
    {
        for (int i = 0; i < _parts.Length && IsOver; i++)
        {
            int index = (int)((uint)Interlocked.Increment(ref _nextTrimmed) % (uint)_parts.Length);
            Stripe stripe = keyspace.Stripes[index];
            if (!stripe.TryEnterSoon()) continue;

            // Not one by one from the table's beginning, where more and more removed keys would have to be skipped.
            foreach (ulong hash in _parts[index].Hashes)
            {
                if (!IsOver) break;
                if (_parts[index].Remove(hash) is not { } readers) continue;
                limits.Note(IsOverBytes ? Limit.TrackedNameBytes : Limit.KeysTracked);
                Tell(readers, changedBy: 0);
            }

            stripe.Exit();
        }
    }

    // All stripes are locked.
    private void TellOfFlush()
    {
        Clear();
        lock (_changing)
        {
            foreach (Session session in _sessions)
            {
                if (session.Tracking is { } tracking) Send(session, tracking, keys: null);
            }
        }
    }

    private void EndConsuming()
    {
        changes.Request(this, isOn: false);
        _consumes = false;
    }

    // All stripes are locked.
    private void Clear()
    {
        foreach (TrackedKeys part in _parts) part.Clear();
        kept.Add(Kept.Tracking, -kept[Kept.Tracking]); // with every stripe locked nothing is added
        Interlocked.Exchange(ref _keys, 0);
        Interlocked.Exchange(ref _items, 0);
        Interlocked.Exchange(ref _bytes, 0);
    }

    /// <summary>Whether more is remembered than the limits allow.</summary>
    internal bool IsOver => IsOverKeys || IsOverBytes;

    private bool IsOverKeys => settings.TrackedKeysMax > 0 && Keys > settings.TrackedKeysMax;

    private bool IsOverBytes => Interlocked.Read(ref _bytes) is var bytes
        && ((settings.TrackedKeyBytesMax > 0 && bytes > settings.TrackedKeyBytesMax) || bytes > ManagedText.TrackedBytesMax);

    // Forgets some key of a part other than a given one, because a limit is reached, and invalidates it for its readers. False: there is none.
    private bool Forget(TrackedKeys part, ulong except, Limit limit)
    {
        if (part.RemoveAny(except) is not { } other) return false;
        limits.Note(limit);
        Tell(other, changedBy: 0);
        return true;
    }

    private static long KeptBytes(in TrackedKeys.Readers readers) => readers.Key.Length + KeyBytes + ((readers.Count - 1L) * ReaderBytes);

    private void Tell(in TrackedKeys.Readers readers, long changedBy)
    {
        Interlocked.Decrement(ref _keys);
        Interlocked.Add(ref _bytes, -(readers.Key.Length + Session.NameOverhead));
        Interlocked.Add(ref _items, -readers.Count);
        kept.Add(Kept.Tracking, -KeptBytes(readers));
        byte[] text = InvalidationText.Keys(readers.Key);
        foreach (long client in readers.Clients) Tell(client, changedBy, text);
    }

    private void Tell(long client, long changedBy, byte[] text)
    {
        if (clients.Find(client) is not { Tracking: { Broadcasts: false } tracking } session) return;
        if (!tracking.Options.NoLoop || client != changedBy) Send(session, tracking, text);
    }

    // Without keys, of all of them: as in Redis, that null is in the protocol of the client that tracks, which need not be that of the client that gets it.
    private void Send(Session session, ClientTracking tracking, byte[]? keys)
    {
        Session receiver = session;
        if (tracking.Options.RedirectTo != 0)
        {
            if (clients.Find(tracking.Options.RedirectTo) is not { } redirected)
            {
                tracking.NoteBrokenRedirect();
                if (session.Resp3) Deliver(session, InvalidationText.BrokenRedirect(pool, tracking.Options.RedirectTo));
                return;
            }

            receiver = redirected;
        }

        // Over RESP2, only another client that has subscriptions understands it.
        if (!receiver.Resp3 && (tracking.Options.RedirectTo == 0 || receiver.Type != ClientType.PubSub)) return;
        Interlocked.Increment(ref _sent);
        Deliver(receiver, InvalidationText.Message(pool, receiver.Resp3, keys ?? InvalidationText.AllKeys(session.Resp3)));
    }

    private static void Deliver(Session receiver, in Payload message)
    {
        receiver.Deliver(message);
        message.Buffer.Release();
    }
}
