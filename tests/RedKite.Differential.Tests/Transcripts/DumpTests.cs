using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>The options and errors of DUMP and RESTORE, and WAIT, reply by reply.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class DumpTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private static readonly string Integer = CommandLine.Format(RedisDumps.OfRedis70["integer"]);

    [Fact]
    public void Arguments_are_checked_in_the_same_order()
    {
        PairedConnection client = Open();
        client.Run("SET taken 1");
        string[] tails =
        [
            "", "0", "0 x", "0 ''", "0 0123456789", "-1 x", "foo x", "99999999999999999999 x", "0 x foo", "0 x IDLETIME", "0 x IDLETIME foo", "0 x IDLETIME -1",
            "0 x FREQ", "0 x FREQ -1", "0 x FREQ 256", "0 x FREQ foo", "0 x FREQ 1 FREQ 300", "0 x IDLETIME 1 IDLETIME 2", "0 x IDLETIME 1 FREQ 2", "0 x FREQ 2 IDLETIME 1",
            "foo x FOO", "0 x REPLACE", "-1 x REPLACE", "0 x REPLACE REPLACE ABSTTL ABSTTL", "1.5 x ABSTTL", $"0 {Integer} GET",
        ];
        foreach (string tail in tails)
        {
            foreach (string key in (string[])["taken", "free"]) client.Run($"RESTORE {key} {tail}".TrimEnd());
        }

        client.Run("GET taken").IsBulk("1");
        client.Run("DUMP");
        client.Run("DUMP a b");
        client.Run("DUMP free");
        client.Run("RESTORE-ASKING x 0 y");
    }

    [Fact]
    public void Restored_key_has_the_given_expiry()
    {
        PairedConnection client = Open();
        client.Run($"RESTORE k 0 {Integer}").IsOk();
        client.Run("PTTL k").IsInteger(-1);
        client.Run("GET k").IsBulk("-7");
        client.Run($"RESTORE k 0 {Integer}").IsError("BUSYKEY Target key name already exists.");
        client.Run($"RESTORE k 5000000 {Integer} REPLACE").IsOk();
        client.Run("TTL k");
        client.Run($"RESTORE k 4102444800000 {Integer} REPLACE ABSTTL").IsOk();
        client.Run("PEXPIRETIME k").IsInteger(4102444800000);
        client.Run($"RESTORE k 1 {Integer} ABSTTL REPLACE").IsOk();
        client.Run("EXISTS k").IsInteger(0);
        client.Run($"RESTORE k 1 {Integer} ABSTTL").IsOk();
        client.Run("EXISTS k").IsInteger(0);
    }

    [Fact]
    public void Invalid_payload_changes_nothing()
    {
        PairedConnection client = Open();
        client.Run("SET k old");
        byte[][] values =
        [
            [], [1, 0], [2, 0], [4, 0], [5, 0], [7, 0], [26, 0], [99, 0], [2, 2, 1, (byte)'a', 1, (byte)'a'], [0], [0, 0x81], [0, 0xC4], [16, 0], [17, 2, 1, 2], [11, 3, 1, 2, 3],
            [5, 1, 1, (byte)'a', 0, 0, 0, 0, 0, 0, 0xF8, 0x7F], [19, 1], [18, 1, 1, 0], [18, 2, 1, 0, 1, 1, (byte)'a'], [18, 1, 3, 1, (byte)'a'], [14, 1, 1, 0],
        ];
        foreach (byte[] value in values)
        {
            client.Run($"RESTORE k 0 {CommandLine.Format(RedisDumps.Seal(value))} REPLACE").IsError("ERR Bad data format");
            client.Run("GET k").IsBulk("old");
        }

        // The version and checksum after the value.
        client.Run($"RESTORE k 0 {CommandLine.Format(RedisDumps.Seal([0, 1, (byte)'a'], version: 17))} REPLACE").IsError("ERR DUMP payload version or checksum are wrong");
        client.Run($"RESTORE k 0 {CommandLine.Format(RedisDumps.Seal([0, 1, (byte)'a'], version: 1))} REPLACE").IsOk();
        client.Run($"RESTORE k 0 {CommandLine.Format(RedisDumps.Seal([0, 1, (byte)'b', 1, 2, 3]))} REPLACE").IsOk();
        client.Run("GET k").IsBulk("b");
    }

    // What is packed stays packed, however long its elements are.
    [Theory]
    [InlineData("hash", "HSET k a abcdef b 2")]
    [InlineData("hash", "HSET k a abcdef b 2;HPEXPIREAT k 32503680000000 FIELDS 1 a")]
    [InlineData("zset", "ZADD k 1 abcdef 2 b")]
    [InlineData("set", "SADD k abcdef b")]
    public void Restored_value_has_the_encoding_that_the_limits_of_the_moment_give(string type, string commands)
    {
        PairedConnection client = Open();
        client.Run("DEL k");
        foreach (string command in commands.Split(';')) client.Run(command);
        string payload = CommandLine.Format(client.Run("DUMP k").Payload!);
        (string Name, string Usual)[] limits = [($"{type}-max-listpack-value", "64"), ($"{type}-max-listpack-entries", "128")];
        foreach ((string name, string usual) in limits)
        {
            client.Run($"CONFIG SET {name} 1").IsOk();
            client.Run($"RESTORE k 0 {payload} REPLACE").IsOk();
            client.Run("OBJECT ENCODING k");
            client.Run($"CONFIG SET {name} {usual}").IsOk();
            client.Run("OBJECT ENCODING k");
            client.Run("DEBUG DIGEST-VALUE k");
        }
    }

    [Fact]
    public void Restored_list_serves_blocked_clients()
    {
        PairedConnection client = Open();
        PairedConnection waiting = Open();
        waiting.Send("BLPOP list 0");
        waiting.IsSilent();
        client.Run($"RESTORE list 0 {CommandLine.Format(RedisDumps.OfRedis70["list"])}").IsOk();
        waiting.Read("BLPOP");
        client.Run("LRANGE list 0 -1");
    }

    [Fact]
    public void Wait_replies_zero_replicas()
    {
        PairedConnection client = Open();
        foreach (string tail in (string[])["", "0 0", "-1 0", "a 0", "0 a", "0 -1", "1 10", "1 1.5", "1 -5", "a b", "9999999999 10", "0 99999999999999999999", "0 9223372036854775807"])
        {
            client.Run($"WAIT {tail}".TrimEnd());
        }
    }

    [Fact]
    public void Client_unblock_ends_WAIT()
    {
        PairedConnection client = Open();
        PairedConnection other = Open();
        other.Run(client, facts => $"CLIENT UNBLOCK {facts.Id}").IsInteger(0);
        foreach (string how in (string[])["", " TIMEOUT", " ERROR"])
        {
            client.Send("WAIT 1 0");
            client.IsSilent();
            other.Run(client, facts => $"CLIENT UNBLOCK {facts.Id}{how}", isWaiting: true).IsInteger(1);
            client.Read("WAIT");
        }
    }
}
