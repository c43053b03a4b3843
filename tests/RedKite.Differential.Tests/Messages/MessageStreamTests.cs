using RedKite.Differential.Tests.Streams;
using RedKite.Differential.Tests.Transcripts;

namespace RedKite.Differential.Tests.Messages;

/// <summary>
/// Random streams of several clients: each gets the same replies, messages and invalidations in the same order from both servers. REDKITE_SEED and
/// REDKITE_STEPS replay a failure.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed class MessageStreamTests(TranscriptServers servers, ITestOutputHelper output) : TranscriptTests(servers)
{
    private const int StepCount = 1_500;

    private static readonly char[] Clients = ['A', 'B', 'C', 'D'];

    public static TheoryData<int> Seeds => [.. StreamTest.Seeds([1, 2])];

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Seeds))]
    public async Task Messages_match_redis(int seed)
    {
        int count = StreamTest.Steps(StepCount);
        output.WriteLine($"{StreamTest.SeedVariable}={seed} {StreamTest.StepsVariable}={count}");
        var generator = new MessageStreamGenerator(seed, Clients);
        MessageStep[] steps = [.. Enumerable.Range(0, count).Select(_ => generator.Next())];
        string? difference = await Task.Run(() =>
        {
            using var runner = new MessageStreamRunner(Pair, Clients);
            return runner.Run(steps);
        }, TestContext.Current.CancellationToken);
        Assert.True(difference is null, $"{StreamTest.SeedVariable}={seed}: {difference}");
    }
}
