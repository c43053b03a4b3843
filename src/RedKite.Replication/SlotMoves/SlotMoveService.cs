using System.Security.Cryptography;
using RedKite.Server.Cluster;
using RedKite.Server.Following;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;

namespace RedKite.Server.SlotMoves;

/// <summary>What moving slots needs of the server around it.</summary>
internal sealed record SlotMoveParts
{
    internal required ServerCore Core { get; init; }

    internal required IReplicatedData Data { get; init; }

    /// <summary>Who has which slot.</summary>
    internal required IClusterOwnership Ownership { get; init; }

    internal required ClientTls Tls { get; init; }

    /// <summary>What waits for slots that are elsewhere now is sent there. No stripe is locked.</summary>
    internal required Action SlotsMoved { get; init; }

    /// <summary>Resumes the clients whose commands wait.</summary>
    internal required Action ResumePaused { get; init; }
}

/// <summary>
/// The moves of slots as a whole, from this node and to it, one at a time in each direction: a walk of a snapshot is all that runs at a time, and the others wait. It remembers the last ones. From any thread.
/// </summary>
#pragma warning disable CA1001 // Its threads may end a moment later than the server; without a timer there is nothing to release.
internal sealed class SlotMoveService(SlotMoveParts parts)
#pragma warning restore CA1001
{
    private const int IdBytes = 20;
    private const int RetryMs = 200;
    private const int LookMs = 20;

    private readonly Lock _lock = new();
    private readonly List<SlotMove> _moves = []; // the newest first
    private readonly List<SlotReception> _receptions = [];
    private readonly CancellationTokenSource _stopping = new();
    private volatile Action<string>? _stepped;
    private bool _isExporting;
    private bool _isResolving;

    internal SlotMoveParts Parts => parts;

    /// <summary>Ends what waits, when the server stops.</summary>
    internal CancellationToken Stopping => _stopping.Token;

    internal long Completed { get; private set; }

    internal long Failed { get; private set; }

    /// <summary>Bytes that moves from this node have sent.</summary>
    internal long SentBytes { get; private set; }

    /// <summary>All moves that are remembered, the newest first.</summary>
    internal SlotMove[] Moves
    {
        get
        {
            lock (_lock) return [.. _moves];
        }
    }

    /// <summary>Moves that have not ended.</summary>
    internal int Active => Moves.Count(static move => !move.HasEnded);

    /// <summary>Bytes of effects that wait for destinations.</summary>
    internal long WaitingBytes => Moves.Sum(static move => move.WaitingBytes);

    /// <summary>A move from this node has sent something. One runs at a time.</summary>
    internal void NoteSent(SlotMove move, long bytes)
    {
        move.NoteSent(bytes);
        SentBytes += bytes;
    }

    internal static string NewId() => Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(IdBytes));

    /// <summary>Whether a slot is about to leave this node.</summary>
    internal SlotMove? ExportOf(int slot) => Array.Find(Moves, move => !move.HasEnded && move.IsExport && move.Slots.Contains(slot));

    /// <summary>Whether a slot leaves this node as a whole, or comes to it, or may have left.</summary>
    internal bool IsMoving(int slot) => Array.Exists(Moves, move => !move.HasEnded && move.Slots.Contains(slot));

    /// <summary>Why slots may not move as a whole now, as the error of a reply: some of them move key by key. Their keys are on two nodes. Null: none does.</summary>
    internal string? FaultOfStates(SlotSet slots) =>
        parts.Core.Routing.Value is { } routing && slots.Slots().Any(routing.IsMoving) ? "ERR all slot states must be STABLE to start a slot migration task." : null;

    /// <summary>Begins moves from this node; they run one after the other.</summary>
    internal void Export(params ReadOnlySpan<SlotMove> moves)
    {
        lock (_lock)
        {
            foreach (SlotMove move in moves) Remember(move);
            if (_isExporting) return;
            _isExporting = true;
        }

        new Thread(() => Guarded(RunExports)) { Name = "redkite-slot-move", IsBackground = true }.Start();
    }

    /// <summary>Has the node that has some slots move them to this one.</summary>
    internal void Import(SlotMove move)
    {
        lock (_lock) Remember(move);
        new Thread(() => Guarded(() => SlotRequest.Run(this, move, _stopping.Token))) { Name = "redkite-slot-request", IsBackground = true }.Start();
    }

    /// <summary>Begins to receive slots over a connection.</summary>
    /// <returns>Why not, as the error of a reply; null: it has begun.</returns>
    internal string? Receive(SlotReception reception)
    {
        long nowMs = parts.Core.Clock.NowMs;
        if (!parts.Ownership.IsPrimary) return "ERR a replica receives no slots";
        if (FaultOfStates(reception.Slots) is { } fault) return fault;
        foreach (int slot in reception.Slots.Slots())
        {
            if (parts.Ownership.OwnerOf(slot) != reception.SourceId) return parts.Ownership.HasStore ? "TRYAGAIN the source is not the owner of the slots here yet" : "ERR the source is not the owner of the slots here: give both nodes the same topology first";
        }

        // What can only end is no reason to refuse another move, which may follow at once.
        foreach (SlotReception failed in Array.FindAll(Receptions, static other => other.Failure is not null))
        {
            if (!failed.End(failed.Failure!)) return "TRYAGAIN another move to this node is ending";
        }

        lock (_lock)
        {
            if (_moves.Exists(move => move.Id == reception.Id && !move.IsExport && move.HasEnded)) return "ERR the destination has ended the move";
            if (_receptions.Count > 0) return "ERR this node is receiving slots: one move at a time";
            if (!parts.Core.Routing.Hidden.BeginReceiving(reception)) return "TRYAGAIN keys of the slots are still here, and being removed";
            _receptions.Add(reception);
            SlotMove? move = _moves.Find(move => move.Id == reception.Id && !move.IsExport);
            if (move is null) Remember(move = new SlotMove(reception.Id, isExport: false, reception.Slots, reception.SourceId, parts.Ownership.SelfId, nowMs));
            move.Enter(SlotMoveState.Snapshot, nowMs);
        }

        return null;
    }

    /// <summary>A reception has ended without the slots: what was received is removed.</summary>
    internal void NoteEnded(SlotReception reception)
    {
        parts.Core.Routing.Hidden.EndReceiving(reception);
        NoteReceived(reception, isTaken: false);
    }

    /// <summary>Ends what is received under an id, unless it is taken. Returns false if that is being decided.</summary>
    internal bool EndReception(string id, string reason)
    {
        SlotReception[] all;
        lock (_lock) all = [.. _receptions.Where(reception => reception.Id == id)];
        bool hasEnded = true;
        foreach (SlotReception reception in all) hasEnded &= reception.End(reason);
        return hasEnded;
    }

    /// <summary>Ends what is received of some slots from a node, unless it is taken. Returns false if that is being decided.</summary>
    internal bool EndReceptionsOf(string sourceId, SlotSet slots)
    {
        SlotReception[] all;
        lock (_lock) all = [.. _receptions.Where(reception => reception.SourceId == sourceId && reception.Slots.Overlaps(slots))];
        bool haveEnded = true;
        foreach (SlotReception reception in all) haveEnded &= reception.End("the source has asked whether the slots were taken");
        return haveEnded;
    }

    /// <summary>Ends moves by a client's wish.</summary>
    /// <returns>How many.</returns>
    internal int Cancel(Func<SlotMove, bool> isMeant)
    {
        int count = 0;
        foreach (SlotMove move in Moves)
        {
            if (move.HasEnded || !isMeant(move)) continue;
            bool isStopped = move.Stop("Cancelled due to user request", isCanceled: true);
            if (!move.IsExport) isStopped &= EndReception(move.Id, "the destination has canceled the move");
            if (isStopped) count++;
        }

        return count;
    }

    /// <summary>All keys were flushed, or loaded again from a file: no move goes on from there. All stripes are locked.</summary>
    internal void NoteFlushed()
    {
        foreach (SlotMove move in Moves)
        {
            if (move.IsExport) move.Stop("the keys of the source were flushed, or loaded again", closes: false);
        }

        foreach (SlotReception reception in Receptions) reception.Fail("the keys of the destination were flushed, or loaded again");
    }

    /// <summary>Ends everything, because the server stops.</summary>
    internal void Stop()
    {
        _stopping.Cancel();
        foreach (SlotMove move in Moves) move.Stop("the node stops");
    }

    /// <summary>Promises by the store to keep what was received, until it is known whether the slots are this node's. On a thread of its own.</summary>
    /// <param name="reception">What is received, whose taking has begun.</param>
    /// <returns>The reply.</returns>
    internal string Promise(SlotReception reception)
    {
        if (parts.Ownership.Promise(reception.Id, out PromisedSlots promise, _stopping.Token) is { } refusal)
        {
            reception.EndTaking();
            return "-" + refusal;
        }

        new Thread(() => Guarded(() => Keep(reception))) { Name = "redkite-slot-promise", IsBackground = true }.Start();

        // Behind the epoch: if the role was lost and is back, the epoch may be that of the role of now, in which nothing was received.
        return reception.Failure is { } failure ? "-ERR " + failure : string.Create(System.Globalization.CultureInfo.InvariantCulture, $"{SlotMoveLimits.Promised}{promise.Revision} {promise.Epoch}");
    }

    /// <summary>
    /// Takes slots without a store. A refusal is replied when this node's file does not say any more that it has taken them: a start in between would go by that. Until then what was received stays. On a thread of its own.
    /// </summary>
    /// <param name="reception">What was received, whose taking has begun.</param>
    /// <returns>The reply; null: the node stops, and the source asks what came of it.</returns>
    internal byte[]? Take(SlotReception reception)
    {
        if (parts.Ownership.Take(reception) is not { } refusal)
        {
            reception.NoteTaken(areTaken: true);
            NoteReceived(reception, isTaken: true);
            return "+OK\r\n"u8.ToArray();
        }

        while (parts.Ownership.SettleFile() is not null)
        {
            if (_stopping.Token.WaitHandle.WaitOne(RetryMs)) return null;
        }

        reception.EndTaking();
        return System.Text.Encoding.UTF8.GetBytes($"-{refusal}\r\n");
    }

    // The routing decides, as it does for commands: what was received is this node's as soon as the routing says so.
    private void Keep(SlotReception reception)
    {
        while (!IsOwner(reception.Slots))
        {
            if (reception.Failure is null)
            {
                if (_stopping.Token.WaitHandle.WaitOne(LookMs)) return;
                continue;
            }

            try
            {
                parts.Ownership.Withdraw(reception.Id, _stopping.Token);
            }
            catch (Exception failure) when (failure is OperationCanceledException or ObjectDisposedException)
            {
                return; // the next start knows by the store
            }

            if (IsOwner(reception.Slots)) break;
            reception.EndTaking();
            return;
        }

        reception.NoteTaken(areTaken: true);
        parts.Core.Routing.Hidden.EndReceiving(reception);
        NoteReceived(reception, isTaken: true);
    }

    private bool IsOwner(SlotSet slots) => parts.Core.Routing.Value is { } routing && slots.Slots().All(slot => routing.Self >= 0 && routing.OwnerOf(slot) == routing.Self);

    /// <summary>Ends receptions that cannot come to an end any more, and asks what is in doubt. Every now and then.</summary>
    internal void Tick()
    {
        ResolveSoon();
        foreach (SlotReception reception in Receptions)
        {
            if (!parts.Ownership.IsPrimary) reception.End("the destination is no primary any more");
            else if (!reception.Slots.Slots().All(slot => parts.Ownership.OwnerOf(slot) == reception.SourceId)) reception.End("the source does not own the slots any more");
            else if (reception.IsReceiving && IsSilent(reception)) reception.End("the source has sent nothing for too long");
        }
    }

    private bool IsSilent(SlotReception reception) =>
        parts.Core.Clients.All.FirstOrDefault(session => session.Reception == reception) is { } source && parts.Core.Clock.SteadyMs - source.Counts.LastInteractionMs > SlotMoveLimits.SilenceMsMax;

    /// <summary>Asks whether slots were given, until that is known: at the start, and when a destination has not answered.</summary>
    internal void ResolveSoon()
    {
        lock (_lock)
        {
            if (_isResolving || (parts.Ownership.Doubtful.Count == 0 && !_moves.Exists(IsInDoubt))) return;
            _isResolving = true;
        }

        new Thread(() => Guarded(Resolve)) { Name = "redkite-slot-doubt", IsBackground = true }.Start();
    }

    /// <summary>Has each step of a move from this node told, by its name; null: no more. For tests.</summary>
    internal void WatchSteps(Action<string>? stepped) => _stepped = stepped;

    internal void Step(string name) => _stepped?.Invoke(name);

    private void Guarded(Action run)
    {
        try
        {
            run();
        }
#pragma warning disable CA1031 // On a thread of its own it would end the process.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            parts.Core.Log.Warning(LogEvents.SlotsMoved, $"A bug: a move of slots has failed. {failure}");
        }
    }

    private void RunExports()
    {
        while (true)
        {
            SlotMove? next;
            lock (_lock)
            {
                next = _moves.FindLast(static move => move.IsExport && move.State == SlotMoveState.Waiting);
                if (next is null || _stopping.IsCancellationRequested)
                {
                    _isExporting = false;
                    return;
                }
            }

            Run(next);
            ResolveSoon();
            if (!next.HasEnded) continue; // in doubt
            if (next.State == SlotMoveState.Completed) Completed++;
            else Failed++;
            Log(next);
        }
    }

    // Whatever ends it, the next one begins.
    private void Run(SlotMove move)
    {
        try
        {
            new SlotExport(this, move).Run();
        }
#pragma warning disable CA1031 // The moves behind it would wait without end.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            if (failure is not InsufficientMemoryException) parts.Core.Log.Warning(LogEvents.SlotsMoved, $"A bug: a move of slots has failed. {failure}");
            if (!IsInDoubt(move)) move.End(SlotMoveState.Failed, failure.Message, parts.Core.Clock.NowMs);
        }
    }

    // Whatever ends it, the next tick begins again.
    private void Resolve()
    {
        try
        {
            ResolveAll();
        }
        finally
        {
            lock (_lock) _isResolving = false;
        }
    }

    private void ResolveAll()
    {
        string? logged = null;
        while (!_stopping.IsCancellationRequested)
        {
            SlotMove[] moves = Array.FindAll(Moves, IsInDoubt); // before the slots: those of a move that is among them are in doubt by then
            IReadOnlyDictionary<int, string> doubtful = parts.Ownership.Doubtful;
            if (doubtful.Count == 0)
            {
                foreach (SlotMove ended in moves) EndByOwner(ended);
                break;
            }

            string id = doubtful.First().Value;
            SlotSet slots = SlotSet.Of(slot => doubtful.TryGetValue(slot, out string? to) && to == id);
            try
            {
                if (SlotRequest.AskOwner(this, id, slots, _stopping.Token) is { } areGiven)
                {
                    if (parts.Ownership.Resolve(slots, id, areGiven) is { } refusal)
                    {
                        if (refusal != logged) parts.Core.Log.Warning(LogEvents.SlotsMoved, $"The slots that may have been given to node {id} {(areGiven ? "were" : "were not")}. They are refused until that is written: {refusal}");
                        logged = refusal;
                        _stopping.Token.WaitHandle.WaitOne(RetryMs);
                        continue;
                    }

                    if (areGiven) Barrier();
                    SlotMove? move = Array.Find(Moves, move => move.State == SlotMoveState.InDoubt && move.Slots.Overlaps(slots));
                    move?.End(areGiven ? SlotMoveState.Completed : SlotMoveState.Failed, areGiven ? "" : "the destination did not take the slots", parts.Core.Clock.NowMs);
                    parts.Core.Log.Notice(LogEvents.SlotsMoved, areGiven ? $"The slots that may have been given to node {id} were." : $"The slots that may have been given to node {id} were not: they are served here.");
                    continue;
                }
            }
            catch (IOException)
            {
                Step("unanswered"); // it is asked again
            }

            _stopping.Token.WaitHandle.WaitOne(RetryMs);
        }
    }

    // With a store, the thread of the move waits for what becomes of it.
    private bool IsInDoubt(SlotMove move) => move.State == SlotMoveState.InDoubt && !parts.Ownership.HasStore;

    // Another topology has ended the doubt.
    private void EndByOwner(SlotMove move)
    {
        bool areGiven = move.Slots.Slots().All(slot => parts.Ownership.OwnerOf(slot) == move.TargetId);
        move.End(areGiven ? SlotMoveState.Completed : SlotMoveState.Failed, areGiven ? "" : "another topology says whose the slots are", parts.Core.Clock.NowMs);
        Log(move);
    }

    /// <summary>Sends clients that wait for slots of other nodes to those nodes, and lets commands end that began by an older routing: clients that these have made wait are sent there, too.</summary>
    internal void Barrier()
    {
        parts.SlotsMoved();

        // One at a time: a command that holds one for long keeps no other one from clients.
        foreach (Stripe stripe in parts.Core.Keyspace.Stripes)
        {
            if (stripe.EnterOrGiveWay(parts.Core.Keyspace.Scripts.Busy)) stripe.Exit();
        }

        parts.SlotsMoved();
    }

    private SlotReception[] Receptions
    {
        get
        {
            lock (_lock) return [.. _receptions];
        }
    }

    private void NoteReceived(SlotReception reception, bool isTaken)
    {
        SlotMove? move;
        lock (_lock)
        {
            _receptions.Remove(reception);
            move = _moves.Find(move => move.Id == reception.Id && !move.IsExport);
        }

        if (move is null || move.HasEnded) return;
        move.End(isTaken ? SlotMoveState.Completed : move.IsCanceled ? SlotMoveState.Canceled : SlotMoveState.Failed, isTaken ? "" : move.Reason ?? reception.Failure ?? "", parts.Core.Clock.NowMs);
        if (isTaken) Completed++;
        else Failed++;
        Log(move);
    }

    private void Log(SlotMove move)
    {
        string text = $"Move {move.Id} of {move.Slots.Count} slots {(move.IsExport ? $"to node {move.TargetId}" : $"from node {move.SourceId}")}: {move.State}{(move.Message.Length > 0 ? $", {move.Message}" : "")}";
        if (move.State == SlotMoveState.Completed) parts.Core.Log.Notice(LogEvents.SlotsMoved, text);
        else parts.Core.Log.Warning(LogEvents.SlotsMoved, text);
    }

    private void Remember(SlotMove move)
    {
        _moves.Insert(0, move);
        for (int i = _moves.Count - 1; _moves.Count > SlotMoveLimits.MovesKept && i > 0; i--)
        {
            if (_moves[i].HasEnded) _moves.RemoveAt(i);
        }
    }
}
