using System.Collections.Immutable;
using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Agreement;

/// <content>Slots that have become this node's, and that it serves when their former owner does not any more.</content>
internal sealed partial class NodeAgent
{
    private static readonly TimeSpan FirstLookRest = TimeSpan.FromMilliseconds(5);
    private static readonly TimeSpan LookRestMax = TimeSpan.FromMilliseconds(200);

    private TimeSpan _lookRest = FirstLookRest;

    /// <summary>Makes the agent look at once whether slots of this node still wait for their former owner. From any thread.</summary>
    internal void LookAtSlots() => _wake.Set();

    // Returns when to look again (null: there is nothing to wait for), and what is wrong. It is a change as any other: if it is not answered, the watch brings it, or it is tried again.
    private async Task<(TimeSpan? Again, AgreementEvent What, string Fault)> EndReassignments(CancellationToken cancellation)
    {
        if (Latest is not { } latest || latest.Topology.Version != _applied.Version || Reassignments.Of(latest.Topology, _node.Id) is not { IsEmpty: false } waiting)
        {
            _lookRest = FirstLookRest;
            return (null, AgreementEvent.Changed, "");
        }

        (AgreementEvent what, string fault) = (AgreementEvent.Changed, "");
        try
        {
            string key = waiting is [{ FromId: { Length: > 0 } from }] ? StoreKeys.Node(from) : StoreKeys.Nodes;
            NodeStatus[] registered = [.. (await _store.Read(key, cancellation)).Entries.Select(static entry => NodeStatus.Read(entry.Value))];
            ImmutableArray<Reassignment> ended = [.. waiting.Where(each => Reassignments.HasEnded(each, registered))];
            if (!ended.IsEmpty)
            {
                if (await latest.TryReplace(_store, Reassignments.Without(latest.Topology, ended), [OfThisLife], cancellation) is { } replaced) See(replaced);
                else _isReportInDoubt = true;
            }
        }
        catch (StoreException failure)
        {
            (what, fault) = (AgreementEvent.StoreAway, failure.Message);
        }
        catch (TopologyException failure)
        {
            (what, fault) = (AgreementEvent.Refused, $"Slots wait for a node that says of itself what cannot be read: {failure.Message}");
        }

        TimeSpan rest = _lookRest;
        _lookRest = rest * 2 < LookRestMax ? rest * 2 : LookRestMax;
        return (rest, what, fault);
    }
}
