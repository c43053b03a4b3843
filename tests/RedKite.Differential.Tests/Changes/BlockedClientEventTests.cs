using RedKite.Differential.Tests.Transcripts;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>Elements popped for a blocked client are reported after the change that served it.</summary>
public sealed class BlockedClientEventTests(WatchedServers servers) : IClassFixture<WatchedServers>
{
    // Redis executes a blocked command again since 7.2: BLPOP k l fails if k holds another type when l gets an element.
    private const string ServedPastAnotherType = "another type does not wake";

    public static TheoryData<string, string> Scripts => [.. BlockingTests.Scripts.Where(script => script.Data.Item1 != ServedPastAnotherType)];

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Scripts))]
    public async Task Served_clients_have_the_events_of_Redis(string name, string script)
    {
        Assert.NotEmpty(name);
        Assert.SkipWhen(OracleProgram.Redis8 is null, "events: " + OracleProgram.Redis8Missing);
        (List<string> oracle, List<string> subject) = await Task.Run(
            () => (ChangeScript.Run(servers.Oracle, script), ChangeScript.Run(servers.Subject, script)), TestContext.Current.CancellationToken);
        Assert.Equal(oracle, subject);
    }
}
