namespace RedKite.Differential.Tests.Transcripts;

/// <summary>The replies of a primary without replicas about clusters, replicas, snapshots and modules.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class StandaloneTests(TranscriptServers servers) : TranscriptTests(servers)
{
    [Fact]
    public void Replies_are_those_of_a_lone_primary()
    {
        PairedConnection client = Open();
        foreach (string version in (string[])["2", "3"])
        {
            foreach (string command in (string[])["ROLE x", "READONLY", "READWRITE", "ASKING", "READONLY x", "LASTSAVE x", "MODULE", "MODULE nosuch", "MODULE LIST", "WAIT 0 10", "WAITAOF 0 0 10"]) client.Run(command);
            client.Run("HELLO " + version);
        }

        foreach (string subcommand in (string[])["ADDSLOTS", "ADDSLOTSRANGE", "BUMPEPOCH", "COUNT-FAILURE-REPORTS", "COUNTKEYSINSLOT", "DELSLOTS", "DELSLOTSRANGE", "FAILOVER", "FLUSHSLOTS", "FORGET", "GETKEYSINSLOT", "HELP", "INFO", "KEYSLOT", "LINKS", "MEET", "MYID", "MYSHARDID", "NODES", "REPLICAS", "REPLICATE", "RESET", "SAVECONFIG", "SET-CONFIG-EPOCH", "SETSLOT", "SHARDS", "SLAVES", "SLOTS", "nosuch"])
        {
            foreach (string arguments in (string[])["", " a", " a b", " a b c", " a b c d"]) client.Run($"CLUSTER {subcommand}{arguments}");
        }

        client.Run("CLUSTER");

        // The offset counts what was written since the start when a log of writes has been on, and the servers are shared.
        Assert.Equal("*[$master :0 *[]]", Pair.Subject.Control.Run("ROLE").ToString());
        Assert.Matches(@"^\*\[\$master :\d+ \*\[\]\]$", Pair.Oracle.Control.Run("ROLE").ToString());

        long saved = Pair.Subject.Control.Run("LASTSAVE").Number;
        Assert.InRange(saved, Pair.Oracle.Control.Run("LASTSAVE").Number - 60, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
        Assert.StartsWith(Pair.Oracle.Control.Run("INFO modules").Text.TrimEnd(), Pair.Subject.Control.Run("INFO modules").Text, StringComparison.Ordinal); // Debian's Redis has no other module
    }
}
