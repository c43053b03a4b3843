using RedKite.Server.Tests.Commands;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution;

/// <summary>Commands of callers with different policies: a primary's clients, readers of a replica, the replay of a log.</summary>
public sealed class ExpiryPolicyTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    [Fact]
    public void Replay_appends_to_a_key_whose_expiry_has_passed()
    {
        Policy(ExpiryPolicy.Keep);
        Run($"SET k v PXAT {_transcript.NowMs - 1000}").IsOk();
        Run("APPEND k x").IsInteger(2);
        Run("GET k").IsBulk("vx");
        Run("PEXPIRETIME k").IsInteger(_transcript.NowMs - 1000);
        Policy(ExpiryPolicy.Hide);
        Run("GET k").IsNull();
        Run("DBSIZE").IsInteger(1);
        Policy(ExpiryPolicy.Remove);
        Run("GET k").IsNull();
        Run("DBSIZE").IsInteger(0);
    }

    [Fact]
    public void Replay_sets_expiries_that_have_passed_and_removes_nothing()
    {
        long past = _transcript.NowMs - 1000;
        Policy(ExpiryPolicy.Keep);
        Run("MSET a 1 b 2").IsOk();
        Run($"PEXPIREAT a {past}").IsInteger(1);
        Run($"GETEX b PXAT {past}").IsBulk("2");
        Run("HSET h f 1 g 2").IsInteger(2);
        Run($"HPEXPIREAT h {past} FIELDS 1 f").IsIntegers(1);
        Run($"HGETEX h PXAT {past} FIELDS 1 g").IsArray("2");
        Run($"HSETEX h PXAT {past} FIELDS 1 i 3").IsInteger(1);
        Run("HLEN h").IsInteger(3);
        Run("HINCRBY h f 1").IsInteger(2);
        Run("KEYS *");
        Run("DBSIZE").IsInteger(3);
        Run($"HPEXPIRETIME h FIELDS 3 f g i").IsIntegers(past, past, past);
    }

    [Fact]
    public void Replay_restores_a_hash_with_expired_fields()
    {
        Run("HSET h f 1 g 2").IsInteger(2);
        Run("HPEXPIRE h 100 FIELDS 1 f").IsIntegers(1);
        byte[] payload = Run("DUMP h").Payload!;
        _transcript.Advance(100);
        Policy(ExpiryPolicy.Keep);
        Run("DEL h").IsInteger(1);
        _transcript.Run([.. CommandLine.Split("RESTORE h 0"), payload]).IsOk();
        Run("HLEN h").IsInteger(2);
        byte[] again = Run("DUMP h").Payload!;
        Assert.Equal(payload, again);
    }

    [Fact]
    public void Readers_of_a_replica_see_no_expired_key_and_remove_none()
    {
        _transcript.StopSweeping();
        Run("SET k v PX 100").IsOk();
        Run("HSET h f 1 g 2").IsInteger(2);
        Run("HPEXPIRE h 100 FIELDS 1 f").IsIntegers(1);
        _transcript.Advance(100);
        Policy(ExpiryPolicy.Hide);
        Run("GET k").IsNull();
        Run("EXISTS k").IsInteger(0);
        Run("TYPE k");
        Run("SCAN 0 COUNT 100");
        Run("WATCH k").IsOk();
        Run("UNWATCH").IsOk();
        Run("HGET h f").IsNull();
        Run("HGETALL h").IsArray("g", "2");
        Run("DEBUG DIGEST-VALUE k");
        Run("DBSIZE").IsInteger(2);
        Assert.Equal(0, _transcript.Keyspace.ExpiredKeys);
        Assert.Equal(0, _transcript.Keyspace.ExpiredFields);
    }

    [Fact]
    public void Writer_on_a_replica_replaces_an_expired_key_and_adds_no_second_one()
    {
        _transcript.StopSweeping();
        Policy(ExpiryPolicy.Hide);
        foreach (string write in (string[])["SET k v", "SETNX k v", "GETSET k v", "APPEND k v", "DEBUG POPULATE 1 k", "EVAL \"return redis.call('SET', KEYS[1], 'v')\" 1 k"])
        {
            string key = write.StartsWith("DEBUG", StringComparison.Ordinal) ? "k:0" : "k";
            Run($"SET {key} old PX 100").IsOk();
            _transcript.Advance(100);
            Run($"GET {key}").IsNull();
            Run(write);
            Run("DBSIZE").IsInteger(1);
            Run($"PTTL {key}").IsInteger(-1);
            Run($"DEL {key}").IsInteger(1);
            Run("DBSIZE").IsInteger(0);
        }
    }

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    private void Policy(ExpiryPolicy policy) => _transcript.Client.Expiry = policy;

    private RespValue Run(string line) => _transcript.Run(line);
}
