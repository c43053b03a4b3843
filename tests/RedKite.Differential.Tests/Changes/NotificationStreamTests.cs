using RedKite.Differential.Tests.Generators;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>
/// Streams of every family that has keys, including streams of entries, scripts and transactions: subscribers of both servers get the same
/// notifications in the same order, of every class, for keys and for events. What an eviction notifies of is tested apart, because each server
/// chooses its own keys.
/// </summary>
public sealed class NotificationStreamTests(NotificationStreamTests.Notified servers, ITestOutputHelper output) : IClassFixture<NotificationStreamTests.Notified>
{
    // Every class: A has neither n (a new key) nor m (a key that was read and is missing).
    private const string AllClasses = "KEAnm";
    private const int StepCount = 2_000;
    private const int FamilyStepCount = 500;

    private static readonly CommandFamily[] Families = [.. ChangeFamilies.All, TransactionGenerator.Family];

    // Of those that are kept, the large one once found that a script worked on keys that it had not locked.
    public static TheoryData<int> Seeds => [.. StreamTest.Seeds([1, 445329756])];

    public static TheoryData<string> FamilyNames => [.. Families.Select(family => family.Name)];

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Seeds))]
    public Task Streams_of_all_families_have_the_notifications_of_Redis(int seed) => Run(seed, StepCount, ChangeFamilies.All);

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(FamilyNames))]
    public Task Each_family_has_the_notifications_of_Redis(string name) =>
        Run(TestScale.GivenSeed ?? 3, FamilyStepCount, [.. Families.Where(family => family.Name == name)]);

    [Fact]
    public void Streams_of_entries_are_among_the_families() => Assert.Contains(EntryStreamGenerator.Family, Families);

    private async Task Run(int seed, int usualCount, CommandFamily[] families)
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "notifications: " + OracleProgram.Redis8Missing);
        int count = StreamTest.Steps(usualCount);
        output.WriteLine($"{StreamTest.SeedVariable}={seed} {StreamTest.StepsVariable}={count}");
        string? report = await Task.Run(() => RunStream(seed, count, families), TestContext.Current.CancellationToken);
        Assert.True(report is null, report);
    }

    private string? RunStream(int seed, int count, CommandFamily[] families)
    {
        List<Step> steps = StreamGenerator.Generate(seed, count, families);
        if (Notifications(steps) is not { } difference) return null;
        (List<Step> smallest, Difference smallestDifference) = Shrinker.Shrink(steps, difference, Notifications);
        return $"Step {difference.StepIndex} of seed {seed} differs.\n{difference}Smallest transcript found:\n{string.Join('\n', smallest)}\n{smallestDifference}";
    }

    private Difference? Notifications(IReadOnlyList<Step> steps) => EventStreamRunner.Run(servers.Oracle, servers.Subject, steps);

    /// <summary>Redis 8 and RedKite, each a process, and a subscriber of each.</summary>
    public sealed class Notified : IDisposable
    {
        private WatchedRedis? _oracle;
        private WatchedRedis? _subject;

        internal IWatchedServer Oracle => _oracle ??= new WatchedRedis(OracleProgram.Redis8!, AllClasses);

        internal IWatchedServer Subject => _subject ??= new WatchedRedis(ServerProgram.UnderTest, AllClasses);

        public void Dispose()
        {
            _oracle?.Dispose();
            _subject?.Dispose();
        }
    }
}
