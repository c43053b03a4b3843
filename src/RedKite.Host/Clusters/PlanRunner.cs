using RedKite.Host.Transfer;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Planning;
using RedKite.Server.Cluster.Store;

namespace RedKite.Host.Clusters;

/// <summary>
/// Does a plan: changes of the topology by compare-and-swap on the store's document, moves of slots by the nodes. Behind each stage it waits until the nodes go by it. Whatever ends it, what is done
/// stays, and the same command plans the rest.
/// </summary>
internal sealed class PlanRunner(IClusterStore store, NodeLinks links, PlanProgress progress, TimeSpan patience)
{
    private const int AttemptsMax = 50; // to replace a topology that nodes replace, too

    private static readonly TimeSpan Poll = TimeSpan.FromMilliseconds(20);

    /// <summary>The stages that are done.</summary>
    internal int StagesDone { get; private set; }

    /// <exception cref="PlanException">The cluster has changed so that the plan is impossible.</exception>
    /// <exception cref="TransferException">A node refuses, or does not go by the topology in time.</exception>
    /// <exception cref="StoreException">The store is not reached.</exception>
    internal async Task Run(ClusterPlan plan, CancellationToken cancellation)
    {
        ClusterView view = await ClusterView.Read(store, cancellation);
        progress.Begin(plan.Stages.Sum(static stage => stage.Count(static step => step.Kind == PlanStepKind.Move) + (stage.Any(static step => step.Kind != PlanStepKind.Move) ? 1 : 0)));
        foreach (IReadOnlyList<PlanStep> stage in plan.Stages)
        {
            foreach (PlanStep move in stage.Where(static step => step.Kind == PlanStepKind.Move))
            {
                progress.Step(move.Text(view));
                await new SlotMigration(links, progress).Run(view, move, () => ClusterView.Read(store, cancellation), cancellation);
                progress.StepDone();
            }

            PlanStep[] others = [.. stage.Where(static step => step.Kind != PlanStepKind.Move)];
            if (others.Length > 0) progress.Step(others is [{ } one] ? one.Text(view) : $"change the topology, in {others.Length} steps at once");
            ClusterView before = view;
            PlanStep[] changes = [.. others.Where(static step => step.Kind != PlanStepKind.Choose)];
            if (changes.Length > 0) await Change(changes, cancellation);
            view = await ClusterView.Read(store, cancellation);
            foreach (PlanStep step in others)
            {
                if (step.Kind == PlanStepKind.HandOver) await Until(IsHandedOver(before, step.NodeId), cancellation);
                else if (step.Kind == PlanStepKind.Choose) await Until(IsChosen(before, step.NodeId), cancellation);
            }

            view = await Until(FollowedBy(view.Topology!.Version), cancellation);
            if (others.Length > 0) progress.StepDone();
            StagesDone++;
        }

        progress.End();
    }

    private async Task Change(PlanStep[] steps, CancellationToken cancellation)
    {
        for (int i = 0; i < AttemptsMax; i++)
        {
            SharedTopology? shared = await SharedTopology.Read(store, cancellation);
            ClusterTopology before = shared?.Topology ?? new ClusterTopology(version: 0, epoch: 0, [], ClusterTopology.NoOwners(), ClusterTerms.None with { ClusterId = ClusterNode.NewId() });
            ClusterTopology next = before;
            foreach (PlanStep step in steps) next = PlanStepChange.Apply(step, next);
            if (shared is not null && TopologyDocument.WriteShared(next).AsSpan().SequenceEqual(TopologyDocument.WriteShared(before))) return;
            StoreCondition[] conditions = [.. steps.Where(static step => step.NeedsAbsence).Select(static step => StoreCondition.Absent(StoreKeys.Node(step.NodeId)))];
            try
            {
                if (shared is not null)
                {
                    if (await shared.TryReplace(store, next, conditions, cancellation) is not null) return;
                }
                else if (await store.TryCommit([StoreCondition.Absent(StoreKeys.Topology), .. conditions], [new StorePut(StoreKeys.Topology, TopologyDocument.WriteShared(next.WithVersion(1)))], cancellation) is not null) return;
            }
            catch (StoreException failure) when (!failure.IsConfiguration && i + 1 < AttemptsMax)
            {
                await Task.Delay(Poll, cancellation); // it may have happened: the topology says so
            }

            if (steps.FirstOrDefault(static step => step.NeedsAbsence) is { } gone && (await ClusterView.Read(store, cancellation)).Alive.ContainsKey(gone.NodeId)) throw new PlanException($"the node {gone.NodeId} has come back: it is not gone");
        }

        throw new PlanException("the topology is changed by others all the time");
    }

    // Null: it holds. Otherwise what is waited for.
    private async Task<ClusterView> Until(Func<ClusterView, string?> lacks, CancellationToken cancellation)
    {
        long deadline = Environment.TickCount64 + (long)patience.TotalMilliseconds;
        while (true)
        {
            ClusterView view = await ClusterView.Read(store, cancellation);
            if (lacks(view) is not { } what) return view;
            progress.Note(what);
            if (Environment.TickCount64 > deadline) throw new TransferException($"not within {patience.TotalSeconds:0} seconds: {what}");
            await Task.Delay(Poll, cancellation);
        }
    }

    // Every live node goes by a topology at least as new, and primaries serve.
    private static Func<ClusterView, string?> FollowedBy(long version) => view =>
    {
        foreach (ClusterNode node in view.Topology!.Nodes)
        {
            if (!view.Alive.TryGetValue(node.Id, out NodeStatus? status)) continue;
            if (status.Version < version) return $"{view.Show(node.Id)} does not go by the topology; its log says why";
            ShardTerms terms = view.Topology.Terms.Of(node.ShardId);
            if (node.IsPrimary && !terms.IsSealed && !status.Serves && (terms.Incarnation.Length == 0 || terms.Incarnation == status.Incarnation)) return $"{view.Show(node.Id)} does not serve; its log says why";
        }

        return null;
    };

    // If the primary dies meanwhile, the controller chooses one.
    private static Func<ClusterView, string?> IsHandedOver(ClusterView before, string id)
    {
        bool isGone = false;
        Func<ClusterView, string?> isChosen = IsChosen(before, id);
        return view =>
        {
            if (view.Topology!.Find(id) is not { } node) throw new PlanException($"{view.Show(id)} was taken out meanwhile");
            if (node.IsPrimary) return null;
            ShardTerms terms = view.Topology.Terms.Of(node.ShardId);
            isGone |= terms.IsSealed || !view.Alive.ContainsKey(node.PrimaryId!);
            if (isGone) return isChosen(view);
            return terms.HandoverTo == id ? "the primary waits until the replica has everything" : throw new PlanException("the replica did not catch up, or is gone: nothing has changed");
        };
    }

    // The shard is found by its id: its primary is another node then.
    private static Func<ClusterView, string?> IsChosen(ClusterView before, string id)
    {
        string shard = before.Topology!.Find(id)!.ShardId;
        return view =>
        {
            if (view.Topology!.Nodes.FirstOrDefault(node => node.IsPrimary && node.ShardId == shard) is not { } primary) return null;
            ShardTerms terms = view.Topology.Terms.Of(shard);
            if (terms.IsSealed) return Succession.Hindrance(view.Topology, primary, view.Alive) ?? (view.Controller.Length == 0 ? "no controller is active" : "the controller chooses a primary");
            return view.Alive.TryGetValue(primary.Id, out NodeStatus? status) && (terms.Incarnation.Length == 0 || terms.Incarnation == status.Incarnation) ? null : view.Controller.Length == 0 ? "no controller is active" : "the controller notices that the primary is gone";
        };
    }
}
