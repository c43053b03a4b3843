using System.Globalization;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Model;

namespace RedKite.Fuzz.Tests.Cluster;

/// <content>
/// Moves of slots as a whole. Who has them is decided by the real gift, promise, reception and agent; what SlotExport and SlotMoveService do around that with threads and connections is done here in virtual time, in the same order.
/// </content>
internal sealed partial class SimulatedNode
{
    private const int HandoversMax = 5;
    private const int PauseMsMax = 2000;
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(4);
    private static readonly TimeSpan Silence = TimeSpan.FromSeconds(3);
    private static readonly TimeSpan Soon = TimeSpan.FromMilliseconds(20);

    // Of the slots that this node moves away.
    private string? _exports; // the move
    private SimulatedNode? _target;
    private bool _isHeld;
    private int _doubtful = -1; // the group

    // Of those that it receives.
    private SlotReception? _reception;
    private int _receivedGroup;
    private int _receivedTo; // of what the source has
    private long _heardFromSource;

    /// <summary>The move that it takes part in; null: none.</summary>
    internal string? Moving => _exports is not null ? $"{_exports}, as the source" : _reception is not null ? $"{_reception.Id}, as the destination" : null;

    /// <summary>Whether commands on a group of slots execute now.</summary>
    internal bool ServesGroup(int group) => Serves && Owns(group) && group != _doubtful && !(Topology.Terms.Reassigned.Length > 0 && Topology.Terms.ReassignedSlots.Contains(_simulation.SlotOf(group)));

    private bool Owns(int group) => Topology.OwnerOf(_simulation.SlotOf(group))?.Id == Id;

    internal void BeginMove(int group, SimulatedNode target, string id)
    {
        if (_exports is not null || !ServesGroup(group) || target is null) return;
        (_exports, _target) = (id, target);
        Process.Begin(() => Export(group, target, id), failure => _simulation.Fail(failure.ToString()));
    }

    private async Task Export(int group, SimulatedNode target, string id)
    {
        Note($"moves the group {group} to {target.Incarnation}, as the move {id}");
        string? failure = await TryExport(group, target, id);
        (_exports, _target) = (null, null);
        Note($"has {(failure is null ? "given" : "not given")} the group {group} in the move {id}: {failure}");
        _simulation.NoteMoved(failure is null);
        _simulation.Send(this, target, other => other.EndReception(id, "the connection was closed"));
    }

    private async Task<string?> TryExport(int group, SimulatedNode target, string id)
    {
        string history = History;
        var pause = TimeSpan.FromMilliseconds(_simulation.Random.Next(50, PauseMsMax));
        if (await Ask(target, other => Task.FromResult(other.Establish(this, id, group)), AnswerLimit) is not "") return "the destination receives no slots";
        Step();
        PromisedSlots? promise = null;
        for (int attempt = 0; attempt < HandoversMax; attempt++)
        {
            if (await SendData(target, id, replicated: false, AnswerLimit) is not "") return "the destination does not answer";
            if (promise is null)
            {
                if (await Ask(target, other => other.Promise(id), AnswerLimit) is not [_, ..] promised) return "the destination does not promise";
                string[] words = promised.Split(' ');
                promise = new PromisedSlots(long.Parse(words[0], CultureInfo.InvariantCulture), long.Parse(words[1], CultureInfo.InvariantCulture));
                Step();
            }

            _isHeld = true;
            try
            {
                await Pass();
                if (!Owns(group) || History != history) return "the source does not own the slots any more";
                Step();
                string? acknowledged = await SendData(target, id, replicated: true, pause);
                if (acknowledged is not ("" or null)) return acknowledged;
                if (!IsPrimary || History != history) return "the source has become a replica";
                Step();
                if (acknowledged is not null && await TryGive(group, target, id, promise.Value, pause) is not "" and var outcome) return outcome;
            }
            finally
            {
                (_isHeld, _doubtful) = (false, -1);
            }

            await Wake.Delay(Process.Clock, TimeSpan.FromMilliseconds(100), CancellationToken.None);
        }

        return "the destination did not have everything";

        void Step() => _simulation.NoteStep(id, this, target);
    }

    // Null: given. Empty: it was withdrawn. Otherwise why not.
    private async Task<string?> TryGive(int group, SimulatedNode target, string id, PromisedSlots promise, TimeSpan pause)
    {
        var gift = new SlotGift(_simulation.SlotsOf(group), target.Id, id, promise);
        Agent.Give(gift);
        _simulation.NoteGiving(this, target);
        _simulation.NoteStep(id, this, target);
        if (await Task.WhenAny(gift.Ended, Wake.Delay(Process.Clock, pause, CancellationToken.None)) != gift.Ended)
        {
            if (gift.TryWithdraw()) return "";
            (_isHeld, _doubtful) = (false, group); // clients go on, but for this group
            _simulation.NoteDoubt();
            Note($"is in doubt about the move {id}");
        }

        string? refusal = await gift.Ended;
        bool isLatest = Topology.Version == Agent.Latest?.Topology.Version; // by a later one, they may be with others, and the node itself taken out
        if (isLatest && refusal == NodeAgent.RegistrationEnded && Topology.OwnerOf(_simulation.SlotOf(group))?.ShardId == gift.ToShardId) _simulation.Fail($"the move {id} has given the slots, and the source was told: {refusal}");
        return refusal;
    }

    private Task<string?> SendData(SimulatedNode target, string id, bool replicated, TimeSpan limit)
    {
        WriteList data = Data;
        return Ask(target, other => other.Receive(id, data, replicated), limit);
    }

    // An answer that is empty or begins with something; null: none came in time.
    private async Task<string?> Ask(SimulatedNode target, Func<SimulatedNode, Task<string>> answer, TimeSpan limit)
    {
        var answered = new TaskCompletionSource<string>();
        _simulation.Send(this, target, other => other.Process.Begin(
            async () =>
            {
                string reply = await answer(other);
                _simulation.Send(other, this, _ => answered.TrySetResult(reply));
            },
            failure => _simulation.Fail(failure.ToString())));
        return await Task.WhenAny(answered.Task, Wake.Delay(Process.Clock, limit, CancellationToken.None)) == answered.Task ? await answered.Task : null;
    }

    private string Establish(SimulatedNode source, string id, int group)
    {
        if (!IsPrimary || _reception is not null || Topology.OwnerOf(_simulation.SlotOf(group))?.Id != source.Id || Data.Of(group, _simulation.Groups).Count > 0) return "not now";
        _reception = new SlotReception(id, source.Id, _simulation.SlotsOf(group), connection: null, EndReceiving);
        (_receivedGroup, _receivedTo, _heardFromSource) = (group, 0, _simulation.Time.Now);
        return "";
    }

    private async Task<string> Receive(string id, WriteList data, bool replicated)
    {
        while (_isPaused) await Wake.Delay(Process.Clock, Soon, CancellationToken.None);
        if (_reception is not { } reception || reception.Id != id) return "no such reception";
        _heardFromSource = _simulation.Time.Now;
        if (!Serves) reception.Fail("a command was refused");
        if (reception.Failure is { } failure) return failure;
        foreach (int write in data.All.Skip(_receivedTo))
        {
            if (write == WriteList.RemovalOf(_receivedGroup) || (write > 0 && _simulation.GroupOf(write) == _receivedGroup)) Data = Data.With(write);
        }

        _receivedTo = Math.Max(_receivedTo, data.Count);
        Send();
        (long offset, string history) = (Data.Count, History);
        while (replicated && Counted.Count(each => each >= offset) < Acks)
        {
            await Wake.Delay(Process.Clock, Soon, CancellationToken.None);
            if (!IsPrimary || History != history) return "the destination is no primary any more";
            if (_reception != reception) return "no such reception";
        }

        return "";
    }

    private async Task<string> Promise(string id)
    {
        if (_reception is not { } reception || reception.Id != id || !reception.TryTake()) return "";
        try
        {
            if (Topology.Find(Id) is not { IsPrimary: true } self || Deadline.HasEnded) throw new StoreException("the destination is no primary that may serve");
            long revision = await SlotPromise.Make(Store, id, Id, Agent.Lease, CancellationToken.None);
            Note($"promises to keep the move {id}, at {revision}");
            Process.Begin(() => Keep(reception, _receivedGroup), failure => _simulation.Fail(failure.ToString()));
            return reception.Failure is null ? string.Create(CultureInfo.InvariantCulture, $"{revision} {self.Epoch}") : "";
        }
        catch (StoreException)
        {
            reception.EndTaking();
            return "";
        }
    }

    private async Task Keep(SlotReception reception, int group)
    {
        while (!Owns(group))
        {
            if (reception.Failure is null)
            {
                await Wake.Delay(Process.Clock, Soon, CancellationToken.None);
                continue;
            }

            await Agent.Withdraw(reception.Id, () => Topology.Version, CancellationToken.None);
            if (Owns(group)) break;
            reception.EndTaking();
            return;
        }

        reception.NoteTaken(areTaken: true);
        Note($"has the group {group} by the move {reception.Id}");
        _reception = null;
        RemoveForeign();
    }

    internal void EndReception(string id, string reason)
    {
        if (_reception?.Id == id) _reception.End(reason);
    }

    private void EndReceiving(SlotReception reception)
    {
        Note($"has ended the move {reception.Id}: {reception.Failure}");
        _reception = null;
        RemoveForeign();
    }

    // Keys of slots that are another node's, and not being received.
    private void RemoveForeign()
    {
        if (!Serves || _isPaused) return;
        for (int group = 0; group < _simulation.Groups; group++)
        {
            if (Owns(group) || Topology.OwnerOf(_simulation.SlotOf(group)) is null || (_reception is not null && _receivedGroup == group) || Data.Of(group, _simulation.Groups).Count == 0) continue;
            Data = Data.With(WriteList.RemovalOf(group));
            Send();
        }
    }

    private void TickMoves()
    {
        if (_exports is { } id) _simulation.Send(this, _target!, other => other.Hear(id));
        RemoveForeign();
        if (_reception is not { } reception) return;
        if (_simulation.Time.Now - _heardFromSource > Silence.Ticks) reception.End("the connection was lost");
        else if (reception.Failure is not null) return;
        else if (!IsPrimary) reception.End("the destination is no primary any more");
        else if (Topology.OwnerOf(_simulation.SlotOf(_receivedGroup))?.Id != reception.SourceId) reception.End("the source does not own the slots any more");
    }

    private void Hear(string id)
    {
        if (_reception?.Id == id) _heardFromSource = _simulation.Time.Now;
    }
}
