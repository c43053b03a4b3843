using System.Text.Json;
using RedKite.Host.Transfer;
using RedKite.Server;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Planning;
using RedKite.Server.Cluster.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Host.Clusters;

/// <summary>
/// <c>redkite cluster</c>: makes, shows and changes a cluster with a store. Exit status 0: done, or nothing is wrong; 1: not, with a line that says why; 2: wrong arguments; 3: not confirmed;
/// 4: status has found an error; 5: acknowledged writes could be lost, and --accept-loss was not said.
/// </summary>
internal static class ClusterProgram
{
    private const int Failed = 1;
    private const int Wrong = 2;
    private const int Declined = 3;
    private const int Faulty = 4;
    private const int MayLose = 5;

    private const int SecondsDefault = 60;
    private const int SecondsMax = 86_400;

    private const string Usage = $"""
        Usage: redkite cluster VERB [argument ...] [option ...]

        Makes, shows and changes a cluster whose nodes agree by etcd. A plan is shown, and carried out when it is confirmed. If it is interrupted, the
        cluster is intact, and the same command continues it.
          create [NODE ...]       makes a cluster of registered nodes, or of these: slots evenly, replicas in other zones first
            --replicas N          how many replicas each shard has; default 0
            --shards N            instead: how many shards; all other nodes become replicas
          status                  what the cluster has, and what is wrong with it
          add NODE                adds a registered node as a primary without slots
            --replica             as a replica of the shard with the fewest
            --of NODE             as a replica of that one's shard
          remove NODE             takes a node out; its slots move to the others first, and its replicas follow others
            --accept-loss         although the shard has no primary, and this node alone may have acknowledged writes
          rebalance               moves slots so that each primary has as many
            --by WHAT             slots, or keys
          move SLOTS --to NODE    moves slots, such as 0-100,200, with their keys
            --count N --from NODE instead of SLOTS: that many of a node's
          failover NODE           makes a replica the primary; of a primary, its best replica
            --accept-loss         although acknowledged writes may be missing there
          replace GONE NODE       puts a registered node in the place of one that is gone
            --accept-loss         as an empty primary, if no replica has its keys
        NODE is HOST:PORT, the name that a node announces, its id, or the beginning of that.
          --yes                   does not ask
          --plan                  shows the plan and ends
          --json                  prints one document of JSON instead; needs --yes or --plan
          --wait SECONDS          how long each step may take; default 60. Moves of slots take what they need
        Where the cluster is:
        {ClusterArguments.Manual}
        Exit status: 0 done, or nothing is wrong; 1 not; 2 wrong arguments; 3 not confirmed; 4 status has found an error;
        5 acknowledged writes could be lost, and --accept-loss was not said.
        """;

    internal static async Task<int> Run(string[] arguments, TextReader input, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            await output.WriteLineAsync(Usage);
            return 0;
        }

        bool isJson = arguments.Contains("--json");
        try
        {
            var options = new TransferArguments(arguments, [.. ClusterArguments.Connection, "--replicas", "--shards", "--of", "--by", "--to", "--from", "--count", "--wait"], ["--replica", "--accept-loss", "--yes", "--plan", "--json"]);
            (Func<ClusterView, ClusterPlan>? plan, Func<ClusterView, NodeLinks, ClusterPlan>? planByKeys) = Parse(options);
            var patience = TimeSpan.FromSeconds(ClusterArguments.Number(options, "--wait", 1, SecondsMax) ?? SecondsDefault);
            if (isJson && (plan is not null || planByKeys is not null) && !options.Has("--yes") && !options.Has("--plan")) throw new FormatException("--json needs --yes or --plan");
            await using IClusterStore store = ClusterStores.Open(ClusterArguments.StoreSettings(options))!;
            var links = new NodeLinks(options);
            ClusterView view = await ClusterView.Read(store, CancellationToken.None);
            if (plan is null && planByKeys is null) return await Status(view, links, isJson, output);
            var run = new Execution(store, links, options, patience, input, output);
            return await run.Do(view, planByKeys?.Invoke(view, links) ?? plan!(view));
        }
        catch (FormatException failure)
        {
            return await Tell(failure.Message, Wrong);
        }
        catch (PlanException failure)
        {
            return await Tell(failure.Message, failure.MayLose ? MayLose : Failed);
        }
        catch (Exception failure) when (failure is TransferException or StoreException or TopologyException)
        {
            return await Tell(failure.Message, Failed);
        }

        async Task<int> Tell(string message, int code)
        {
            await errors.WriteLineAsync("redkite cluster: " + message);
            return code;
        }
    }

    // What a verb plans; both null: status.
    private static (Func<ClusterView, ClusterPlan>? Plan, Func<ClusterView, NodeLinks, ClusterPlan>? ByKeys) Parse(TransferArguments options)
    {
        if (options.Unnamed is not [string verb, ..]) throw new FormatException("a verb is missing; see --help");
        string[] names = [.. options.Unnamed.Skip(1)];
        bool acceptsLoss = options.Has("--accept-loss");
        switch (verb)
        {
            case "status":
                Expect(options, names, 0, []);
                return (null, null);
            case "create":
                Expect(options, names, names.Length, ["--replicas", "--shards"]);
                int? shards = ClusterArguments.Number(options, "--shards", 1, ClusterLimits.NodesMax), replicas = ClusterArguments.Number(options, "--replicas", 0, ClusterLimits.NodesMax);
                if (shards is not null && replicas is not null) throw new FormatException("--shards and --replicas exclude each other");
                return (view => ClusterPlanner.Create(view, names, shards, replicas ?? 0), null);
            case "add":
                Expect(options, names, 1, ["--replica", "--of"]);
                return (view => ClusterPlanner.Add(view, names[0], options.Has("--replica") || options.Has("--of"), options["--of"]), null);
            case "remove":
                Expect(options, names, 1, ["--accept-loss"]);
                return (view => ClusterPlanner.Remove(view, names[0], acceptsLoss), null);
            case "rebalance":
                Expect(options, names, 0, ["--by"]);
                return options["--by"] switch
                {
                    null or "slots" => (static view => ClusterPlanner.Rebalance(view, weights: null), null),
                    "keys" => (null, static (view, links) => ClusterPlanner.Rebalance(view, KeysOf(view, links))),
                    _ => throw new FormatException("--by needs slots or keys"),
                };
            case "move" when options.Has("--count") || options.Has("--from"):
                Expect(options, names, 0, ["--to", "--count", "--from"], needed: ["--to", "--count", "--from"]);
                int count = ClusterArguments.Number(options, "--count", 1, KeySlot.Count)!.Value;
                return (view => ClusterPlanner.Move(view, ClusterPlanner.Some(view, options["--from"]!, count), options["--to"]!), null);
            case "move":
                Expect(options, names, 1, ["--to"], needed: ["--to"]);
                SlotSet slots = ClusterArguments.Slots(names[0]);
                return (view => ClusterPlanner.Move(view, slots, options["--to"]!), null);
            case "failover":
                Expect(options, names, 1, ["--accept-loss"]);
                return (view => ClusterPlanner.Failover(view, names[0], acceptsLoss), null);
            case "replace":
                Expect(options, names, 2, ["--accept-loss"]);
                return (view => ClusterPlanner.Replace(view, names[0], names[1], acceptsLoss), null);
            default:
                throw new FormatException($"there is no verb '{verb}'; see --help");
        }
    }

    private static readonly string[] OfVerbs = ["--replicas", "--shards", "--replica", "--of", "--by", "--to", "--from", "--count", "--accept-loss"];

    private static void Expect(TransferArguments options, string[] names, int count, string[] allowed, string[]? needed = null)
    {
        if (names.Length != count) throw new FormatException($"{(names.Length < count ? "a node or slots are missing" : $"'{names[count]}' is too much")}; see --help");
        if (OfVerbs.FirstOrDefault(option => options.Has(option) && !allowed.Contains(option)) is { } other) throw new FormatException($"{other} belongs to another verb; see --help");
        if (needed?.FirstOrDefault(option => !options.Has(option)) is { } missing) throw new FormatException($"{missing} is missing; see --help");
    }

    private static long[] KeysOf(ClusterView view, NodeLinks links)
    {
        long[] counts = new long[KeySlot.Count];
        foreach (ClusterNode primary in view.Receivers) links.CountKeys(primary, SlotSet.Of(view.Topology!.RangesOf(primary.Id)), counts);
        return counts;
    }

    private static async Task<int> Status(ClusterView view, NodeLinks links, bool isJson, TextWriter output)
    {
        IReadOnlyDictionary<string, NodeAnswer> answers = links.Ask(view.Alive.Values.Select(static status => status.Node));
        ClusterFault[] faults =
        [
            .. ClusterFaults.Of(view),
            .. answers.Where(static answer => answer.Value.Failure.Length > 0).Select(static answer => new ClusterFault("node-does-not-answer", IsError: false, answer.Value.Failure)),
            .. answers.Where(static answer => answer.Value.IsLinked == false).Select(answer => new ClusterFault("replica-not-linked", IsError: false, $"the replica {view.Show(answer.Key)} has no link to its primary, or receives all data anew")),
        ];
        if (isJson) await output.WriteLineAsync(Json(json => ClusterReport.Write(json, view, answers, faults)));
        else await output.WriteAsync(StatusText.Of(view, answers, faults));
        return faults.Any(static fault => fault.IsError) ? Faulty : 0;
    }

    private static string Json(Action<Utf8JsonWriter> write)
    {
        using var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes)) write(json);
        return System.Text.Encoding.UTF8.GetString(bytes.ToArray());
    }

    // Shows a plan, asks, and does it.
    private sealed class Execution(IClusterStore store, NodeLinks links, TransferArguments options, TimeSpan patience, TextReader input, TextWriter output)
    {
        internal async Task<int> Do(ClusterView view, ClusterPlan plan)
        {
            bool isJson = options.Has("--json");

            // A replica's keys are a copy; all others that a node without slots has would be hidden or lost.
            links.CheckEmpty(plan.Steps.Where(static step => step.Kind == PlanStepKind.Join).Select(static step => step.Described!).Where(node => view.Topology?.Find(node.Id) is null));
            links.CheckStable(view, [.. plan.Steps.Where(static step => step.Kind == PlanStepKind.Move)]);
            if (!isJson)
            {
                foreach (PlanStep step in plan.Steps) await output.WriteLineAsync("  " + step.Text(view));
                if (plan.IsEmpty) await output.WriteLineAsync(plan.Note.Length > 0 ? $"Nothing to do: {plan.Note}." : "Nothing to do.");
            }

            if (options.Has("--plan") || plan.IsEmpty) return await End(view, plan, plan.IsEmpty ? "done" : "planned", error: "", stagesDone: 0, code: 0);
            if (!options.Has("--yes"))
            {
                await output.WriteAsync("Do it? (yes/no) ");
                if ((await input.ReadLineAsync())?.Trim() is not ("yes" or "y"))
                {
                    await output.WriteLineAsync("Nothing was done.");
                    return Declined;
                }
            }

            var progress = new PlanProgress(output, !Console.IsOutputRedirected, isJson);
            var runner = new PlanRunner(store, links, progress, patience);
            try
            {
                await runner.Run(plan, CancellationToken.None);
            }
            catch (Exception failure) when (isJson && failure is (PlanException or TransferException or StoreException or TopologyException))
            {
                return await End(view, plan, "failed", failure.Message, runner.StagesDone, Failed);
            }
            finally
            {
                progress.End();
            }

            if (!isJson) await output.WriteLineAsync("Done.");
            return await End(view, plan, "done", error: "", runner.StagesDone, code: 0);
        }

        private async Task<int> End(ClusterView view, ClusterPlan plan, string outcome, string error, int stagesDone, int code)
        {
            if (options.Has("--json")) await output.WriteLineAsync(Json(json => ClusterReport.WritePlan(json, view, plan, outcome, error, stagesDone)));
            return code;
        }
    }
}
