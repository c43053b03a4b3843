using RedKite.Server.Cluster;

namespace RedKite.Server.Replication;

/// <summary>
/// replica-acks: the offset that enough replicas have acknowledged, and what asks them for it. With the setting, the stream is kept without replicas, too:
/// what is written has an offset that a replica acknowledges later.
/// </summary>
/// <remarks>
/// One REPLCONF GETACK is on its way at a time: what is written meanwhile is acknowledged with the next one, which follows its answer. So a few clients wait for one round trip, and
/// with many, thousands of replies share one.
/// </remarks>
internal sealed partial class ReplicaService
{
    private long _wanted; // the largest offset that a reply waits for
    private int _countedReplicas; // the setting by which the position was counted

    /// <summary>Begins, changes or ends what replies wait for, as the setting says.</summary>
    /// <param name="mayWait">Whether the thread may wait for stripes; otherwise the command that is executing applies what is requested.</param>
    internal void ApplyAcks(bool mayWait)
    {
        lock (_asking)
        {
            if (_settings.ReplicaAcks > 0 && !State.IsReplica && !Stream.HasBacklog)
            {
                State.ChangeId(); // its offset stood still
                Stream.Begin();
                _changes.RequestEffects(Stream, isOn: true);
            }
        }

        if (mayWait && _changes.HasRequests) _changes.Apply();
        lock (_asking)
        {
            int replicas = _settings.ReplicaAcks;
            if (replicas == 0) State.Acks.LetGo(isPrimary: !State.IsReplica);
            else if (!State.IsReplica) State.Acks.Begin(replicas);
            _attention.NoteChange(); // behind it: batches look again
        }

        AdvanceAcks();
    }

    // On a thread that has no stripe locked if the server is a primary now.
    private void ChangeRoleOfAcks()
    {
        lock (_asking)
        {
            _wanted = 0;
            State.Acks.NoteAsked(-1);
            if (State.IsReplica) State.Acks.Lose();
        }

        if (!State.IsReplica) ApplyAcks(mayWait: true);
    }

    // A replica has acknowledged something, or the setting has changed. Two replicas that acknowledge at once both see the one that is counted last.
    private void AdvanceAcks()
    {
        if (State.Acks.Term is not { IsOpen: true } term) return;
        bool asks;
        lock (_asking)
        {
            int replicas = State.Acks.Replicas;
            long position = AcknowledgedByAll(replicas);
            if (replicas <= _countedReplicas) position = Math.Max(position, term.Position); // of a replica that has left since
            _countedReplicas = replicas;
            State.Acks.Advance(term, position);
            asks = _wanted > Math.Max(State.Acks.Asked, position) && State.Acks.Asked <= position; // a question that is not needed would still move the stream on
        }

        if (asks) AskForAck(0);
    }

    /// <summary>Whether the replicas that count now have everything that was acknowledged for a client, perhaps by others.</summary>
    internal bool CountedReplicasHaveAll
    {
        get
        {
            if (State.Acks.Term is not { IsOpen: true } term) return true;
            lock (_asking) return AcknowledgedByAll(State.Acks.Replicas) >= term.Position;
        }
    }

    // The largest offset that so many replicas have acknowledged; 0: there are too few. One that acknowledges what does not exist has acknowledged the stream's end.
    private long AcknowledgedByAll(int replicas)
    {
        ReplicaClient[] all = _list.All;
        AgreedReplicas? agreed = _routing.Replicas;
        long best = 0;
        foreach (ReplicaClient candidate in all)
        {
            if (!IsCounted(candidate) || candidate.AcknowledgedOffset <= best) continue;
            int count = 0;
            foreach (ReplicaClient other in all)
            {
                if (IsCounted(other) && other.AcknowledgedOffset >= candidate.AcknowledgedOffset) count++;
            }

            if (count >= replicas) best = candidate.AcknowledgedOffset;
        }

        return Math.Min(best, Stream.Offset);

        // With a store, what only others have would be missed by the successor.
        bool IsCounted(ReplicaClient replica) => replica is { State: ReplicaState.Online, IsConnected: true } && agreed?.Counted.Contains(replica.Node.Id) != false;
    }

    /// <inheritdoc/>
    public void AskForAck(long offset)
    {
        if (offset != 0 && offset <= State.Acks.Asked) return;
        lock (_asking)
        {
            if (State.Acks.Term is not { IsOpen: true } term) return;
            _wanted = Math.Max(_wanted, Math.Min(offset, Stream.Offset)); // of an older history, perhaps
            if (_wanted <= Math.Max(State.Acks.Asked, term.Position) || State.Acks.Asked > term.Position) return;
            Ask();
        }
    }

    // A replica has come, which may not have received what the others were asked.
    private void AskAgainForAck()
    {
        if (State.Acks.Term is not { IsOpen: true } term) return;
        lock (_asking)
        {
            if (_wanted > term.Position) Ask();
        }
    }

    // With the lock.
    private void Ask()
    {
        if (_list.Ask() is { } offset) State.Acks.NoteAsked(offset);
    }
}
