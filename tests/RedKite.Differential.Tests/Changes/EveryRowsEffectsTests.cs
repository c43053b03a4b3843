using RedKite.Differential.Tests.Streams;
using RedKite.Server.Model;

namespace RedKite.Differential.Tests.Changes;

/// <summary>
/// The effects of every row of the command table are deterministic: requests that follow the row's documented syntax are executed on keys of all types, and
/// their effects alone make a second server, which replays them a day later and with other random numbers, hold the same data. A new row is
/// included by itself; it fails if none of its requests writes.
/// </summary>
public sealed class EveryRowsEffectsTests(EffectStreamTests.Servers servers) : IClassFixture<EffectStreamTests.Servers>
{
    private const int RequestsPerRow = 2;
    private const int RequestsPerRound = 10; // of a row that has not written yet
    private const int RoundsMax = 300;

    // Refused by a server without a cluster.
    private static readonly string[] OfClusters = ["cluster|flushslot", "trimslots"];

    // Its target is another server, for which a request waits: MigrateTests and MigrateFailureTests have its effects.
    private static readonly string[] OfTargets = ["migrate"];

    // Their data is what the dump of a filter has: Filters_are_dumped_and_loaded_in_chunks.
    private static readonly string[] OfDumps = ["bf.loadchunk", "cf.loadchunk"];

    [Fact(Timeout = 300_000)]
    public async Task Every_row_that_writes_has_effects_that_reproduce_the_data() => await Task.Run(Check, TestContext.Current.CancellationToken);

    private void Check()
    {
        Command[] rows = [.. servers.Primary.Commands.All.Where(row => MayWrite(row) && !OfTargets.Contains(row.FullName))];
        Command[] left = [.. rows.Where(row => row.Is(CommandFlags.Write) && !OfClusters.Contains(row.FullName) && !OfDumps.Contains(row.FullName))];
        Assert.InRange(left.Length, 100, int.MaxValue);
        var requests = new RowRequestGenerator(new RandomSource(20261126), servers.Primary.Control);
        left = RunRound(requests, [.. rows.SelectMany(row => Enumerable.Repeat(row, RequestsPerRow))], left);
        for (int round = 0; left.Length > 0 && round < RoundsMax; round++)
        {
            left = RunRound(requests, [.. left.SelectMany(row => Enumerable.Repeat(row, RequestsPerRound))], left);
        }

        Assert.True(left.Length == 0, $"no request of these rows wrote anything: {string.Join(", ", left.Select(row => row.FullName))}");
    }

    // What the flags say may write: subcommands' containers never execute.
    private static bool MayWrite(Command row) =>
        row.Is(CommandFlags.Write | CommandFlags.ReadOnly | CommandFlags.MayReplicate | CommandFlags.PausedAsWrite) && row.Subcommands.Length == 0;

    // Executes a request of each row given, and returns the rows of those left that have not written.
    private Command[] RunRound(RowRequestGenerator requests, Command[] rows, Command[] left)
    {
        Step[] steps = [.. rows.Select(row => new Step(0, requests.Next(row), EndsBatch: true))];
        HashSet<Command> written = [];
        Difference? difference = EffectStreamRunner.Run(servers.Primary, servers.Replica, steps, replied: (step, command, reply, effects) =>
        {
            bool isOfRow = command == steps[step].Episode.CommandsAfterWait[^1];
            if (isOfRow && effects > 0 && !reply.IsError && !reply.Items.Any(item => item.IsError)) written.Add(rows[step]);
        });
        Assert.True(difference is null, difference is null ? "" : Describe(difference, rows, steps));
        return [.. left.Except(written)];
    }

    private static string Describe(Difference difference, Command[] rows, Step[] steps)
    {
        int last = Math.Min(difference.StepIndex, steps.Length - 1);
        return $"{rows[last].FullName}: {difference}\n{string.Join('\n', steps[Math.Max(0, last - 3)..(last + 1)].Select(step => step.ToString()))}";
    }
}
