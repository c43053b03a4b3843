using System.Diagnostics;
using RedKite.Differential.Tests.Transcripts;

namespace RedKite.Differential.Tests.Changes;

/// <summary>Elements popped for a blocked client reach a server that replays effects.</summary>
public sealed class BlockedClientEffectTests(BlockedClientEffectTests.Servers servers) : IClassFixture<BlockedClientEffectTests.Servers>
{
    private const int PatienceMs = 60_000;
    private const long DelayMs = 24 * 60 * 60 * 1000; // of the replay

    public static TheoryData<string, string> Scripts => BlockingTests.Scripts;

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Scripts))]
    public async Task Effects_of_serving_blocked_clients_reproduce_the_data(string name, string script)
    {
        Assert.NotEmpty(name);
        await Task.Run(() => Replay(script), TestContext.Current.CancellationToken);
    }

    private void Replay(string script)
    {
        long now = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();
        servers.Primary.TakeEffects();
        servers.Replica.Reset(now + DelayMs);
        ChangeScript.Run(servers.Primary, script, line => Follow(line, now));
    }

    // What a served client had sent behind its blocking command executes after the reply to the command that served it.
    private void Follow(ScriptLine line, long now)
    {
        List<RecordedEffect> replayed = [];
        Stopwatch clock = Stopwatch.StartNew();
        string expected, actual;
        do
        {
            List<RecordedEffect> effects = servers.Primary.TakeEffects();
            replayed.AddRange(effects);
            Assert.Null(servers.Replica.Replay(effects));
            (expected, actual) = (servers.Primary.Control.Run("DEBUG DIGEST").Text, servers.Replica.DigestAt(now));
        }
        while (expected != actual && clock.ElapsedMilliseconds < PatienceMs);
        Assert.True(expected == actual, $"{line.Text}\neffects: {string.Join("; ", replayed)}");
    }

    public sealed class Servers : IDisposable
    {
        internal WatchedRedKite Primary { get; } = new();

        internal EffectReplica Replica { get; } = new();

        public void Dispose()
        {
            Primary.Dispose();
            Replica.Dispose();
        }
    }
}
