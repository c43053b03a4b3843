using RedKite.Host.Transfer;
using RedKite.Server.Cluster.Planning;
using RedKite.Store.Keyspace;

namespace RedKite.Host.Clusters;

/// <summary>Moves slots by CLUSTER MIGRATESLOTS on the node that has them, and follows the move to its end.</summary>
internal sealed class SlotMigration(NodeLinks links, PlanProgress progress)
{
    /// <summary>Slots of one move: each is whole or not at all, and what ends this program leaves that much undone.</summary>
    internal const int SlotsMax = 1024;

    private const int PollMs = 20;
    private const int AttemptsMax = 3;

    internal static bool HasEnded(string state) => state is "success" or "failed" or "cancelled";

    /// <summary>Moves slots. Another move from this node, of a command that was interrupted, is waited for.</summary>
    /// <param name="view">The cluster, which says who has which slot now.</param>
    /// <param name="step">The move.</param>
    /// <param name="read">Reads the cluster anew.</param>
    /// <param name="cancellation">Ends the waiting; the node goes on.</param>
    /// <exception cref="TransferException">It has failed, in the node's words.</exception>
    internal async Task Run(ClusterView view, PlanStep step, Func<Task<ClusterView>> read, CancellationToken cancellation)
    {
        int total = step.Slots.Count, failures = 0;
        while (true)
        {
            int[] left = [.. step.Slots.Slots().Where(slot => view.Topology!.OwnerOf(slot)?.Id == step.NodeId)];
            progress.Note($"{total - left.Length} of {total} slots");
            if (left.Length == 0) return;
            using ServerLink link = links.Open(view.Topology!.Find(step.NodeId)!);
            if (NodeLinks.MovesOf(link).FirstOrDefault(static move => !HasEnded(move.State)) is { } other)
            {
                await Follow(link, other.Name, $"{total - left.Length} of {total} slots", cancellation);
            }
            else
            {
                HashSet<int> next = [.. left.Take(SlotsMax)];
                List<Word> words = ["CLUSTER", "MIGRATESLOTS", "SLOTSRANGE"];
                foreach (SlotRange range in SlotSet.Of(next.Contains).Ranges()) words.AddRange([range.First, range.Last]);
                string[] before = [.. NodeLinks.MovesOf(link).Select(static move => move.Name)];
                link.RunOrFail([.. words, "NODE", step.OtherId!]);
                if (NodeLinks.MovesOf(link).FirstOrDefault(move => !before.Contains(move.Name)) is not { } begun) throw link.Fail("the node does not list the move that it has begun");
                RunningMove ended = await Follow(link, begun.Name, $"{total - left.Length} of {total} slots", cancellation);
                if (ended.State == "cancelled" || (ended.State != "success" && ++failures == AttemptsMax)) throw link.Fail($"the move of slots has {(ended.State == "failed" ? "failed" : "been cancelled")}: {ended.Message}");
            }

            view = await read();
        }
    }

    // As long as the node says that it goes on.
    private async Task<RunningMove> Follow(ServerLink link, string name, string what, CancellationToken cancellation)
    {
        while (true)
        {
            RunningMove? move = NodeLinks.MovesOf(link).FirstOrDefault(move => move.Name == name);
            if (move is null) throw link.Fail("the node has forgotten the move of slots: it was started again");
            if (HasEnded(move.State)) return move;
            progress.Note($"{what}, {move.State}{(move.WaitingBytes > 0 ? $", {Server.Logging.QuantityText.Bytes(move.WaitingBytes)} wait" : "")}");
            await Task.Delay(PollMs, cancellation);
        }
    }
}
