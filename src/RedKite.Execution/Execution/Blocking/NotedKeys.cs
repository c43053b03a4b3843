using RedKite.Server.Changes;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>A key with blocked clients.</summary>
/// <param name="Key">The key.</param>
/// <param name="IsNew">Whether it was created: only that serves clients that wait for elements.</param>
/// <param name="IsLate">Whether its clients are not served behind the command that has changed it: no command has looked at its slot then.</param>
internal readonly record struct NotedKey(KeyIdentity Key, bool IsNew, bool IsLate);

/// <summary>The keys with blocked clients that one executor's commands have changed, until <see cref="BlockedClientServer"/> serves their clients.</summary>
internal sealed class NotedKeys(ExecutorCore core)
{
    private readonly BlockedClients _clients = core.Engine.Blocked;
    private readonly int _stripes = core.Keyspace.Stripes.Length;
    private readonly Queue<NotedKey> _changed = new();
    private readonly HashSet<NotedKey> _waiting = []; // what the queue holds

    internal bool Any => _changed.Count > 0;

    /// <summary>Notes the keys of an invocation's changes that clients are blocked on. Their stripes are locked.</summary>
    internal void Note(ChangeList changes)
    {
        for (int i = 0; i < changes.Count; i++)
        {
            Change change = changes[i];
            if (change.Event == KeyEvent.Flush) NoteAll(change.Database);
            else if (change.Event is not (KeyEvent.KeyMiss or KeyEvent.Overwritten or KeyEvent.TypeChanged or KeyEvent.Silent or KeyEvent.Bookkeeping) && _clients.FirstOf(change.Identity) is not null) Note(new NotedKey(change.Identity, change.Event == KeyEvent.New, IsLate: false));
        }
    }

    /// <summary>Notes the keys whose clients are to be looked at by now.</summary>
    internal void NoteLooks(long steadyMs)
    {
        while (_clients.Looks.TryTake(steadyMs, out KeyIdentity key, out bool isNew)) Note(new NotedKey(key, isNew, IsLate: true));
    }

    internal void Note(NotedKey key)
    {
        if (_waiting.Add(key)) _changed.Enqueue(key);
    }

    internal bool TryTake(out NotedKey changed)
    {
        if (!_changed.TryDequeue(out changed)) return false;
        _waiting.Remove(changed);
        return true;
    }

    /// <summary>The clients of what is noted are not served behind the command that has noted it.</summary>
    internal void MakeLate()
    {
        for (int left = _changed.Count; left > 0; left--)
        {
            TryTake(out NotedKey key);
            Note(key with { IsLate = true });
        }
    }

    private void NoteAll(int database)
    {
        for (int stripe = 0; stripe < _stripes; stripe++)
        {
            foreach (KeyIdentity key in _clients.KeysIn(stripe))
            {
                if (key.Database == database) Note(new NotedKey(key, IsNew: true, IsLate: false));
            }
        }
    }
}
