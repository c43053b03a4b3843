using RedKite.Server.Changes;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>The keys with blocked clients that one executor's commands have changed, until <see cref="BlockedClientServer"/> serves their clients.</summary>
internal sealed class NotedKeys(ExecutorCore core)
{
    private readonly BlockedClients _clients = core.Engine.Blocked;
    private readonly int _stripes = core.Keyspace.Stripes.Length;
    private readonly Queue<(KeyIdentity Key, bool IsNew)> _changed = new();
    private readonly HashSet<(KeyIdentity Key, bool IsNew)> _waiting = []; // what the queue holds

    internal bool Any => _changed.Count > 0;

    /// <summary>Notes the keys of an invocation's changes that clients are blocked on. Their stripes are locked.</summary>
    internal void Note(ChangeList changes)
    {
        for (int i = 0; i < changes.Count; i++)
        {
            Change change = changes[i];
            if (change.Event == KeyEvent.Flush) NoteAll(change.Database);
            else if (change.Event is not (KeyEvent.KeyMiss or KeyEvent.Overwritten or KeyEvent.TypeChanged or KeyEvent.Silent or KeyEvent.Bookkeeping) && _clients.FirstOf(change.Identity) is not null) Note(change.Identity, change.Event == KeyEvent.New);
        }
    }

    /// <summary>Notes the keys whose clients are to be looked at by now.</summary>
    internal void NoteLooks(long steadyMs)
    {
        while (_clients.Looks.TryTake(steadyMs, out KeyIdentity key)) Note(key, isNew: false);
    }

    internal void Note(KeyIdentity key, bool isNew)
    {
        if (_waiting.Add((key, isNew))) _changed.Enqueue((key, isNew));
    }

    internal bool TryTake(out (KeyIdentity Key, bool IsNew) changed)
    {
        if (!_changed.TryDequeue(out changed)) return false;
        _waiting.Remove(changed);
        return true;
    }

    private void NoteAll(int database)
    {
        for (int stripe = 0; stripe < _stripes; stripe++)
        {
            foreach (KeyIdentity key in _clients.KeysIn(stripe))
            {
                if (key.Database == database) Note(key, isNew: true);
            }
        }
    }
}
