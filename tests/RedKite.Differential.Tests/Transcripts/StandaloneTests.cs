using RedKite.Testing;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>What a lone primary answers about clusters, replicas, snapshots and modules.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class StandaloneTests(TranscriptServers servers) : TranscriptTests(servers)
{
    [Fact]
    public void Replies_are_those_of_a_lone_primary()
    {
        PairedConnection client = Open();
        foreach (string version in (string[])["2", "3"])
        {
            foreach (string command in (string[])["ROLE", "ROLE x", "READONLY", "READWRITE", "ASKING", "READONLY x", "LASTSAVE x", "MODULE", "MODULE nosuch", "WAIT 0 10", "WAITAOF 0 0 10"]) client.Run(command);
            client.Run("HELLO " + version);
        }

        long saved = Pair.Subject.Control.Run("LASTSAVE").Number;
        Assert.InRange(saved, Pair.Oracle.Control.Run("LASTSAVE").Number - 60, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
        Pair.Subject.Control.Run("MODULE LIST").IsArray();
    }
}
