using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>
/// Serves waiting clients on the thread of the command that made their key readable, after that command and before any
/// other gets its stripes: each waiter's command is executed anew in its client's name, in the order in which they began.
/// </summary>
/// <remarks>
/// A waiter may need stripes that are not locked. They are tried for without waiting, which cannot deadlock whatever the
/// order; if another thread holds one for longer, all are released and locked anew in ascending order. Only then can another
/// client's command come in between.
/// </remarks>
internal sealed class WaiterService(CommandExecutor executor)
{
    private readonly RedKiteServer _server = executor.Server;
    private readonly Keyspace _keyspace = executor.Server.Keyspace;
    private readonly ReplyWriter _reply = new();
    private readonly List<Waiter> _served = [];

    /// <summary>Whether a waiter's command is executing, so that it must not wait anew.</summary>
    internal bool IsServing { get; private set; }

    /// <summary>Serves the clients that wait for keys that were touched in the locked stripes. The scope may grow.</summary>
    internal void Serve(ref LockScope locked)
    {
        while (TryTakeTouched(locked.Held, out int stripe, out KeyIdentity key)) ServeKey(ref locked, stripe, key);
    }

    /// <summary>Gives the served clients their replies. No stripe is locked.</summary>
    internal void Deliver()
    {
        if (_served.Count == 0) return;
        foreach (Waiter waiter in _served) WaitingClients.Deliver(waiter);
        _served.Clear();
    }

    /// <summary>Serves what was touched outside of commands, and what nobody came by for. No stripe is locked.</summary>
    internal void ServeLeftOver()
    {
        for (int i = 0; i < _keyspace.Stripes.Length; i++)
        {
            if (!_keyspace.Stripes[i].HasTouched) continue;
            LockScope locked = _keyspace.Lock(StripeSet.Of(i));
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
                executor.HeldStripes = StripeSet.Empty;
                locked.Dispose();
            }

            Deliver();
        }
    }

    /// <summary>Lets the client of a command wait until one of its keys can be read. Its stripes are locked.</summary>
    internal void Begin(scoped in CommandContext cmd, DataType type, long deadlineMs, bool wakesWhenGone)
    {
        var waiter = new Waiter(cmd.Session, cmd.Command, type, deadlineMs)
        {
            WakesWhenGone = wakesWhenGone,
            Stripes = executor.HeldStripes,
            FirstKeyHash = cmd.Command.FirstKey > 0 ? cmd.HashOf(cmd.Command.FirstKey) : 0,
        };
        waiter.CopyArguments(cmd);
        waiter.Keys = KeysOf(cmd);
        cmd.Session.Waiter = waiter;
        _server.Waiting.Add(waiter);
    }

    /// <summary>Lets a client wait until a time, and gets it a reply then. No stripe is locked.</summary>
    internal void BeginWithoutKeys(scoped in CommandContext cmd, long deadlineMs, byte[] reply)
    {
        // Any stripe will do to decide how the wait ends.
        var waiter = new Waiter(cmd.Session, cmd.Command, default, deadlineMs) { Stripes = StripeSet.Of(0), Reply = reply };
        _server.Waiting.Add(waiter);
        cmd.Session.Waiter = waiter;
    }

    /// <summary>CLIENT UNBLOCK: ends a wait as if its time were over, or with an error. The waiter's stripes are locked.</summary>
    internal bool TryUnblock(Waiter waiter, bool asError)
    {
        if (!_server.Waiting.TryEndLocked(waiter)) return false;
        if (asError) waiter.Reply = "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"u8.ToArray();
        _served.Add(waiter);
        return true;
    }

    private static AwaitedKey[] KeysOf(scoped in CommandContext cmd)
    {
        var keys = new List<AwaitedKey>();
        var extraction = new KeyExtraction(cmd.Command);
        while (extraction.MoveNext(cmd))
        {
            // What a command only writes (BLMOVE's destination) is not waited for.
            if ((extraction.Spec.Flags & KeyFlags.Access) == 0) continue;
            ulong hash = cmd.Server.Keyspace.Hash(cmd[extraction.Argument]);
            var identity = new KeyIdentity(cmd.Database.Index, hash);
            if (keys.Exists(key => key.Identity == identity)) continue; // the same key twice
            keys.Add(new AwaitedKey { Identity = identity, Stripe = cmd.Server.Keyspace.StripeOf(hash), Argument = extraction.Argument });
        }

        return [.. keys];
    }

    private bool TryTakeTouched(StripeSet held, out int stripe, out KeyIdentity key)
    {
        foreach (int index in held)
        {
            stripe = index;
            if (_keyspace.Stripes[index].TryTakeTouched(out key)) return true;
        }

        stripe = -1;
        key = default;
        return false;
    }

    private void ServeKey(ref LockScope locked, int stripe, KeyIdentity key)
    {
        WaitQueue? queue = _server.Waiting.QueueOf(stripe, key);
        LinkedListNode<Waiter>? node = queue?.Waiters.First;
        while (node is not null)
        {
            Waiter waiter = node.Value;
            if (!IsReadable(key, waiter, out bool isGone))
            {
                if (isGone && queue!.WakingWhenGone == 0) break; // nothing is left for anybody
                node = node.Next;
                continue;
            }

            if (!locked.Grow(waiter.Stripes))
            {
                // Other threads were here meanwhile.
                queue = _server.Waiting.QueueOf(stripe, key);
                node = queue?.Waiters.First;
                continue;
            }

            executor.HeldStripes = locked.Held;
            node = node.Next;
            if (TryExecute(waiter))
            {
                _server.Waiting.Remove(waiter);
                _served.Add(waiter);
            }
        }
    }

    // Whether the key holds what the waiter waits for, or is gone and the waiter wants to know it.
    private bool IsReadable(KeyIdentity key, Waiter waiter, out bool isGone)
    {
        isGone = true;
        foreach (AwaitedKey awaited in waiter.Keys)
        {
            if (awaited.Identity != key) continue;
            Entry entry = _keyspace.Databases[key.Database].Find(waiter.NameOf(awaited), key.Hash, executor.NowMs);
            isGone = !entry.Exists;
            if (entry.Exists && entry.Type == waiter.Type) return true;
        }

        return waiter.WakesWhenGone;
    }

    private bool TryExecute(Waiter waiter)
    {
        _reply.Resp3 = waiter.Session.Resp3;
        executor.NoteTouchMode(waiter.Session);
        var cmd = new CommandContext(executor, waiter.Session, waiter.Input, _reply);
        cmd.Begin(waiter.Command, waiter.Arguments, waiter.FirstKeyHash);
        long errors = _reply.Errors;
        IsServing = true;
        waiter.Command.Handler(ref cmd);
        IsServing = false;
        if (_reply.Errors != errors) executor.CountError(waiter.Command, _reply);
        waiter.Overflowed = _reply.Overflowed;
        bool served = _reply.Length > 0 || _reply.Overflowed;
        if (served) waiter.Reply = _reply.Written.ToArray();
        _reply.Clear();
        return served;
    }
}
