using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>Proves that the comparison of events can fail: Redis plays both parts, and one of them is spoiled.</summary>
public sealed class EventCanaryTests(EventCanaryTests.Twins twins) : IClassFixture<EventCanaryTests.Twins>
{
    private const int Seed = 3;
    private const int StepCount = 600;

    private static readonly List<Step> Writes =
    [
        Lone(Episode.Of("SET", "a", "1")),
        Lone(Episode.Of("RENAME", "a", "b")),
        Lone(Episode.Of("GET", "b")),
        Lone(Episode.Of("DEL", "b")),
    ];

    [Fact]
    public void Redis_does_not_differ_from_itself() => Assert.Null(Run(StreamGenerator.Generate(Seed, StepCount, ChangeFamilies.All), events => events));

    [Fact]
    public void A_missing_event_is_found() =>
        Assert.Equal(3, Run(Writes, events => [.. events.Where(text => text != "0 del b")])?.StepIndex);

    [Fact]
    public void An_extra_event_is_found() =>
        Assert.Equal(2, Run(Writes, events => events.Count == 0 ? ["0 expired b"] : events)?.StepIndex);

    [Fact]
    public void An_event_of_another_key_is_found() =>
        Assert.Equal(1, Run(Writes, events => [.. events.Select(text => text.Replace("rename_to b", "rename_to a", StringComparison.Ordinal))])?.StepIndex);

    [Fact]
    public void An_event_of_another_database_is_found() =>
        Assert.Equal(0, Run(Writes, events => [.. events.Select(text => text.Replace("0 set", "1 set", StringComparison.Ordinal))])?.StepIndex);

    [Fact]
    public void Events_in_another_order_are_found() => Assert.Equal(0, Run(Writes, events => [.. events.AsEnumerable().Reverse()])?.StepIndex);

    private Difference? Run(List<Step> steps, Func<List<string>, List<string>> spoil)
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "events: " + OracleProgram.Redis8Missing);
        return EventStreamRunner.Run(twins.First, new Spoiled(twins.Second, spoil), steps);
    }

    private static Step Lone(Episode episode) => new(0, episode, EndsBatch: true);

    public sealed class Twins : IDisposable
    {
        private WatchedRedis? _first;
        private WatchedRedis? _second;

        internal IWatchedServer First => _first ??= new WatchedRedis(OracleProgram.Redis8!);

        internal IWatchedServer Second => _second ??= new WatchedRedis(OracleProgram.Redis8!);

        public void Dispose()
        {
            _first?.Dispose();
            _second?.Dispose();
        }
    }

    private sealed class Spoiled(IWatchedServer server, Func<List<string>, List<string>> spoil) : IWatchedServer
    {
        public int Port => server.Port;

        public RespConnection Control => server.Control;

        public List<string> TakeEvents() => spoil(server.TakeEvents());

        public void Dispose()
        {
        }
    }
}
