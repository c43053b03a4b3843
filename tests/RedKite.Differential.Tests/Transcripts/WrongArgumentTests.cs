using RedKite.Differential.Tests.Generators;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Wrong arguments of commands that Redis 8.0 lacks or parses otherwise, compared with Redis 8.6.</summary>
public sealed class WrongArgumentTests : IClassFixture<NewerServers>, IDisposable
{
    private const int TestSeed = 20261122;

    // So many requests change the same data.
    private const int RequestsPerData = 16;

    private readonly PairedConnection _client;

    public WrongArgumentTests(NewerServers servers)
    {
        servers.Pair.Reset();
        _client = new PairedConnection(servers.Pair);
    }

    public void Dispose() => _client.Dispose();

    [Fact]
    public void Requests_with_wrong_arguments_have_the_same_replies()
    {
        var random = new Random(TestSeed);
        int requests = TestScale.Of(4_000, 100_000);
        for (int i = 0; i < requests; i++)
        {
            if (i % RequestsPerData == 0)
            {
                foreach (string[] words in WrongArgumentGenerator.Data) Run(words);
            }

            Run(WrongArgumentGenerator.Next(random));
        }
    }

    private void Run(string[] words) => _client.Run(CommandLine.Format([.. words.Select(System.Text.Encoding.Latin1.GetBytes)]));
}
