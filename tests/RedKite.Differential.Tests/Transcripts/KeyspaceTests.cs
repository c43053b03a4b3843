using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Behaviour that streams cannot reach: guarantees over many calls, and keys that have expired but not been removed.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class KeyspaceTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private const int StableKeys = 500;

    [Theory]
    [InlineData(0, 0)]
    [InlineData(200, 0)]
    [InlineData(0, 200)]
    [InlineData(100, 100)]
    public void Scan_returns_every_key_that_stays(int addedPerCall, int removedPerCall)
    {
        using RespConnection connection = RespConnection.Connect(Pair.Subject.Port);
        for (int i = 0; i < StableKeys; i++) connection.Run($"SET stable:{i} {i}").IsOk();
        const int transient = 20_000;
        for (int i = 0; i < transient && removedPerCall > 0; i++) connection.SendCommand($"SET transient:{i} x");
        for (int i = 0; i < transient && removedPerCall > 0; i++) connection.Read().IsOk();

        HashSet<string> found = [];
        string cursor = "0";
        int added = 0, removed = 0;
        do
        {
            RespValue reply = connection.Run($"SCAN {cursor} COUNT 50");
            cursor = reply.Items[0].Text;
            found.UnionWith(reply.Items[1].Items.Select(key => key.Text));
            for (int i = 0; i < addedPerCall; i++) connection.Run($"SET added:{added++} x").IsOk();
            for (int i = 0; i < removedPerCall && removed < transient; i++) connection.Run($"DEL transient:{removed++}").IsInteger(1);
            Assert.True(added < 200_000, "the scan does not end");
        }
        while (cursor != "0");

        Assert.Equal(StableKeys, found.Count(key => key.StartsWith("stable:", StringComparison.Ordinal)));
    }

    [Fact]
    public void Randomkey_returns_every_existing_key_eventually()
    {
        using RespConnection connection = RespConnection.Connect(Pair.Subject.Port);
        for (int i = 0; i < 8; i++) connection.Run($"SET {i} x").IsOk();
        HashSet<string> found = [.. Enumerable.Range(0, 1_000).Select(_ => connection.Run("RANDOMKEY").Text)];
        Assert.Equal(["0", "1", "2", "3", "4", "5", "6", "7"], found.Order());
    }

    [Theory]
    [InlineData("GET gone")]
    [InlineData("MGET gone kept")]
    [InlineData("EXISTS gone")]
    [InlineData("TYPE gone")]
    [InlineData("TTL gone")]
    [InlineData("PTTL gone")]
    [InlineData("EXPIRETIME gone")]
    [InlineData("STRLEN gone")]
    [InlineData("KEYS *")]
    [InlineData("SCAN 0 COUNT 1000")]
    [InlineData("RANDOMKEY")]
    [InlineData("DEL gone")]
    [InlineData("UNLINK gone")]
    [InlineData("TOUCH gone")]
    [InlineData("OBJECT ENCODING gone")]
    [InlineData("RENAME gone other")]
    [InlineData("COPY gone other")]
    [InlineData("COPY kept gone")]
    [InlineData("RENAMENX kept gone")]
    [InlineData("MOVE gone 1")]
    [InlineData("SETNX gone new")]
    [InlineData("SET gone new XX")]
    [InlineData("SET gone new NX GET")]
    [InlineData("SET gone new KEEPTTL")]
    [InlineData("MSETNX gone a other b")]
    [InlineData("GETSET gone new")]
    [InlineData("GETDEL gone")]
    [InlineData("GETEX gone PERSIST")]
    [InlineData("APPEND gone x")]
    [InlineData("INCR gone")]
    [InlineData("SETRANGE gone 2 x")]
    [InlineData("EXPIRE gone 100")]
    [InlineData("PERSIST gone")]
    [InlineData("LCS gone kept")]
    public void Expired_key_is_invisible(string command)
    {
        PairedConnection connection = Open();
        connection.Run("DEBUG SET-ACTIVE-EXPIRE 0").IsOk();
        connection.Run("SET kept v").IsOk();
        connection.Run("SET gone 1 PX 5").IsOk();
        Thread.Sleep(15);
        connection.Run(command);
        connection.Run("EXISTS gone");
        connection.Run("GET gone");
        connection.Run("TTL gone");
        connection.Run("DBSIZE");
    }

    [Fact]
    public void Scan_removes_expired_keys_that_match()
    {
        PairedConnection connection = Open();
        connection.Run("DEBUG SET-ACTIVE-EXPIRE 0").IsOk();
        connection.Run("SET kept v").IsOk();
        for (int i = 0; i < 100; i++)
        {
            connection.Run($"SET gone:{i} x PX 5").IsOk();
            connection.Run($"SET past:{i} x PX 5").IsOk();
        }

        Thread.Sleep(15);
        connection.Run("KEYS gone*");
        connection.Run("DBSIZE").IsInteger(201);
        connection.Run("SCAN 0 COUNT 10000 MATCH other*");
        connection.Run("DBSIZE").IsInteger(201);
        connection.Run("SCAN 0 COUNT 10000 MATCH gone*");
        connection.Run("DBSIZE").IsInteger(101);
        connection.Run("SCAN 0 COUNT 10000 TYPE list");
        connection.Run("DBSIZE").IsInteger(1);
        connection.Run("DEBUG SET-ACTIVE-EXPIRE 1").IsOk();
    }

    [Fact]
    public void Expired_keys_are_removed_without_access()
    {
        PairedConnection connection = Open();
        for (int i = 0; i < 100; i++) connection.Run($"SET gone:{i} x PX 5").IsOk();
        connection.Run("SET kept v").IsOk();
        Pair.WaitUntil(control => control.Run("DBSIZE").Number == 1, "only the key that stays is left");
    }

    [Fact]
    public void Object_freq_requires_an_lfu_policy()
    {
        PairedConnection connection = Open();
        connection.Run("SET k v").IsOk();
        connection.Run("OBJECT FREQ k");
        connection.Run("CONFIG SET maxmemory-policy allkeys-lfu").IsOk();
        connection.Run("OBJECT IDLETIME k");
        connection.Run("OBJECT FREQ k");
        connection.Run("OBJECT FREQ none");
    }
    [Fact]
    public void Switches_of_debug_are_accepted_as_in_redis()
    {
        PairedConnection connection = Open();
        foreach (string name in new[] { "PAUSE-CRON", "SET-SKIP-CHECKSUM-VALIDATION", "REPLYBUFFER PEAK-RESET-TIME", "REPLYBUFFER RESIZING", "REPLYBUFFER FOO" })
        {
            foreach (string value in new[] { "", " 1", " x", " NEVER", " 5", " 0 1", " 0", " RESET" }) connection.Run($"DEBUG {name}{value}");
        }

        connection.Run("DEBUG SET-SKIP-CHECKSUM-VALIDATION 0");
        connection.Run("RESTORE k 0 \"\\x00\\x01v\\x0b\\x00ABCDEFGH\"");
        connection.Run("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
        connection.Run("RESTORE k 0 \"\\x00\\x01v\\x0b\\x00ABCDEFGH\"").IsOk();
        connection.Run("GET k");
        connection.Run("RESTORE l 0 \"\\x00\\x01v\\xff\\x00ABCDEFGH\"");
        connection.Run("DEBUG SET-SKIP-CHECKSUM-VALIDATION 0");
        connection.Run("DEBUG PAUSE-CRON 1");
        connection.Run("SET k v PX 20");
        Thread.Sleep(300);
        connection.Run("DBSIZE").IsInteger(1);
        connection.Run("DEBUG PAUSE-CRON 0");
    }

}
