using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Changes;

/// <summary>The changes that a consumer receives: events, and the commands that replace the requests.</summary>
public sealed class ChangePublisherTests : TranscriptTests
{
    private readonly ChangeRecording _recorder = new();

    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        Server.Engine.Changes.Subscribe(_recorder);
        Server.Engine.Changes.SubscribeToEffects(_recorder);
    }

    [Fact]
    public void Command_publishes_its_events_in_the_order_of_notifications()
    {
        Run("SET k v EX 10");
        Assert.Equal(["new k", "set k", "expire k"], _recorder.TakeEvents());
        Run("RPUSH l a");
        Run("LPOP l");
        Assert.Equal(["new l", "rpush l", "lpop l", "del l"], _recorder.TakeEvents());
        Run("GET k");
        Run("SADD k member");
        Assert.Empty(_recorder.TakeEvents());
    }

    [Fact]
    public void Request_is_its_own_effect_unless_its_result_depends_on_more()
    {
        Run("SET k v");
        Assert.Equal(["SET k v"], _recorder.TakeEffects());
        Run("SET k v EX 10");
        Assert.Equal([$"SET k v PXAT {Clock.NowMs + 10_000}"], _recorder.TakeEffects());
        Run("SADD s one");
        Run("SPOP s");
        Assert.Equal(["SADD s one", "SREM s one"], _recorder.TakeEffects());
        Run("GET k");
        Run("DEL missing");
        Assert.Empty(_recorder.TakeEffects());
    }

    [Fact]
    public void Transaction_reaches_the_log_as_one()
    {
        Run("MULTI");
        Run("SET k v");
        Run("GET k");
        Run("SADD s one");
        Run("SPOP s");
        Run("EXEC");
        Assert.Equal(["new k", "set k", "new s", "sadd s", "spop s", "del s"], _recorder.TakeEvents());
        Assert.Equal(["MULTI", "SET k v", "SADD s one", "SREM s one", "EXEC"], _recorder.TakeEffects());
        Run("MULTI");
        Run("GET k");
        Run("EXEC");
        Assert.Empty(_recorder.TakeEffects());
        Run("SET short 1 PX 10");
        Run("WATCH short k");
        _recorder.TakeEffects();
        Clock.Advance(11);
        Run("MULTI");
        Run("SET k w");
        Assert.True(Run("EXEC").IsNull);
        Assert.Equal(["DEL short"], _recorder.TakeEffects());
    }

    [Fact]
    public void Unit_is_one_record()
    {
        Run("MULTI");
        Run("SET k v");
        Run("SADD s one");
        Run("EVAL redis.call('SET',KEYS[1],'w')redis.call('INCR',KEYS[2]) 2 k n");
        Run("EXEC");
        Assert.Equal(1, _recorder.TakeRecords());
        Assert.Equal(["MULTI", "SET k v", "SADD s one", "SET k w", "INCR n", "EXEC"], _recorder.TakeEffects());
        using RedKiteSession client = Server.CreateSession();
        client.Execute("EVAL", "for i = 1, 3 do redis.call('LPUSH', 'list' .. i, i) end", "0");
        Assert.Equal(1, _recorder.TakeRecords());
        Assert.Equal(["MULTI", "LPUSH list1 1", "LPUSH list2 2", "LPUSH list3 3", "EXEC"], _recorder.TakeEffects());
    }

    [Fact]
    public void Unit_of_one_command_is_not_framed()
    {
        Run("MULTI");
        Run("SET k v");
        Run("GET k");
        Run("EXEC");
        Run("EVAL redis.call('SET','k','w') 0");
        Assert.Equal(2, _recorder.TakeRecords());
        Assert.Equal(["SET k v", "SET k w"], _recorder.TakeEffects());
    }

    [Fact]
    public void Expired_key_that_a_unit_finds_is_deleted_within_it()
    {
        Run("SET k v PX 10");
        _recorder.TakeEffects();
        Clock.Advance(11);
        Run("MULTI");
        Run("GET k");
        Run("SET k w");
        Run("EXEC");
        Assert.Equal(["MULTI", "DEL k", "SET k w", "EXEC"], _recorder.TakeEffects());
    }

    [Fact]
    public void Long_arguments_reach_the_consumer_whole()
    {
        string value = new('v', 100_000);
        Run($"SET k {value} EX 10");
        Run("MULTI");
        Run($"APPEND k {value}");
        Run($"SADD s {value}");
        Run("SPOP s");
        Run("EXEC");
        Run($"EVAL redis.call('SET','a',ARGV[1])redis.call('SET','b',ARGV[2]) 0 {value} {value[1..]}");
        Assert.Equal(
            [
                $"SET k {value} PXAT {Clock.NowMs + 10_000}",
                "MULTI", $"APPEND k {value}", $"SADD s {value}", $"SREM s {value}", "EXEC",
                "MULTI", $"SET a {value}", $"SET b {value[1..]}", "EXEC",
            ],
            _recorder.TakeEffects());
    }

    [Fact]
    public void Functions_have_effects()
    {
        using RedKiteSession client = Server.CreateSession();
        string code = "#!lua name=l\nredis.register_function('f', function() return 1 end)";
        Assert.Equal("l", client.Execute("FUNCTION", "LOAD", code).Text);
        byte[] dump = client.Execute("FUNCTION", "DUMP").Bytes.ToArray();
        client.Execute("FUNCTION", "LOAD", code).IsError("ERR Library 'l' already exists");
        client.Execute("FUNCTION", "LIST");
        Assert.Equal([$"FUNCTION LOAD {code}"], _recorder.TakeEffects());
        Run("FUNCTION DELETE l").IsOk();
        Run("FUNCTION DELETE l");
        Assert.Equal(["FUNCTION DELETE l"], _recorder.TakeEffects());
        client.Execute(["FUNCTION"u8.ToArray(), "RESTORE"u8.ToArray(), dump]).IsOk();
        Assert.StartsWith("FUNCTION RESTORE ", Assert.Single(_recorder.TakeEffects()));
        client.Execute(["FUNCTION"u8.ToArray(), "RESTORE"u8.ToArray(), dump]);
        Run("FUNCTION FLUSH").IsOk();
        Assert.Equal(["FUNCTION FLUSH"], _recorder.TakeEffects());
    }

    [Fact]
    public void Functions_within_a_transaction_belong_to_its_record()
    {
        Run("MULTI");
        Run("FUNCTION FLUSH");
        Run("SET k v");
        Run("EXEC");
        Assert.Equal(1, _recorder.TakeRecords());
        Assert.Equal(["MULTI", "FUNCTION FLUSH", "SET k v", "EXEC"], _recorder.TakeEffects());
    }

    [Fact]
    public void Messages_are_for_replicas_only()
    {
        Run("PUBLISH channel message").IsInteger(0);
        Run("SPUBLISH channel message").IsInteger(0);
        Assert.Equal(["(replicas) PUBLISH channel message", "(replicas) SPUBLISH channel message"], _recorder.TakeEffects());
        Run("EVAL redis.call('PUBLISH','channel','message')redis.call('SET','k','v') 0");
        Assert.Equal(["MULTI", "(replicas) PUBLISH channel message", "SET k v", "EXEC"], _recorder.TakeEffects());
    }

    [Fact]
    public void Flush_has_an_effect_even_without_keys()
    {
        Run("FLUSHALL");
        Run("FLUSHDB ASYNC");
        Run("SET k v");
        Run("FLUSHALL SYNC");
        Run("FLUSHALL nonsense");
        Assert.Equal(["FLUSHALL", "FLUSHDB ASYNC", "SET k v", "FLUSHALL SYNC"], _recorder.TakeEffects());
    }

    [Fact]
    public void Swapped_databases_have_an_effect()
    {
        Run("SWAPDB 0 1").IsOk();
        Run("SWAPDB 1 1").IsOk();
        Run("SWAPDB 1 99");
        Assert.Equal(["SWAPDB 0 1", "SWAPDB 1 1"], _recorder.TakeEffects());
    }

    [Fact]
    public void Notifications_and_tracking_record_no_effects()
    {
        Server.Engine.Changes.Unsubscribe(_recorder);
        Server.Engine.Changes.UnsubscribeFromEffects(_recorder);
        Run("CONFIG SET notify-keyspace-events KEA").IsOk();
        Server.Engine.Changes.Subscribe(Server.Engine.Tracking);
        Assert.All(Server.Engine.Keyspace.Stripes, stripe => Assert.Equal(StripeObservers.Events, stripe.Observers));
    }

    [Fact]
    public void Effects_alone_report_no_events()
    {
        Server.Engine.Changes.Unsubscribe(_recorder);
        Run("SET k v");
        Assert.All(Server.Engine.Keyspace.Stripes, stripe => Assert.Equal(StripeObservers.Effects, stripe.Observers));
        Assert.Equal(["SET k v"], _recorder.TakeEffects());
    }

    [Fact]
    public void Expired_key_is_deleted_before_the_command_that_found_it()
    {
        Run("SET k v PX 10");
        _recorder.TakeEffects();
        _recorder.TakeEvents();
        Clock.Advance(11);
        Run("SETNX k w");
        Assert.Equal(["expired k", "new k", "set k"], _recorder.TakeEvents());
        Assert.Equal(["MULTI", "DEL k", "SETNX k w", "EXEC"], _recorder.TakeEffects());
    }

    [Fact]
    public void Hash_emptied_by_expiry_and_recreated_is_reported_as_removed_first()
    {
        Run("HSET h f 1");
        Run("HPEXPIRE h 10 FIELDS 1 f");
        _recorder.TakeEvents();
        Clock.Advance(11);
        Run("HINCRBY h f 2");
        Assert.Equal(["hexpired h", "del h", "new h", "hincrby h"], _recorder.TakeEvents());
    }

    [Fact]
    public void Sort_that_stores_over_a_key_creates_no_new_key()
    {
        Run("RPUSH source 2 1");
        Run("SET destination v");
        _recorder.TakeEvents();
        Run("SORT source STORE destination");
        Assert.Equal(["sortstore destination"], _recorder.TakeEvents());
    }

    [Fact]
    public void Bitfield_that_only_grows_a_string_has_an_effect()
    {
        Run("BITFIELD k OVERFLOW FAIL INCRBY u8 0 300");
        Assert.Equal(["new k"], _recorder.TakeEvents());
        Assert.Equal(["BITFIELD k OVERFLOW FAIL INCRBY u8 0 300"], _recorder.TakeEffects());
    }

    [Fact]
    public void Key_that_a_walk_finds_expired_is_published()
    {
        Run("DEBUG SET-ACTIVE-EXPIRE 0");
        Run("SET k v PX 10");
        _recorder.TakeEvents();
        Clock.Advance(11);
        Assert.True(SpinWait.SpinUntil(
            () =>
            {
                Run("RANDOMKEY");
                return _recorder.TakeEvents() is ["expired k"];
            },
            TimeSpan.FromSeconds(30)));
    }

    [Fact]
    public async Task Served_client_is_a_separate_invocation_after_the_one_that_served_it()
    {
        RedKiteSession blocked = Server.CreateSession();
        Task<RedKiteReply> pop = Task.Run(() => blocked.Execute("BLPOP", "other", "l", "0"), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => Server.Engine.Blocked.Count == 1, TimeSpan.FromSeconds(60)));
        Run("RPUSH l a b");
        await pop;
        Assert.Equal(["new l", "rpush l", "lpop l"], _recorder.TakeEvents());
        Assert.Equal(["RPUSH l a b", "LPOP l"], _recorder.TakeEffects());
    }

    [Fact]
    public void Without_a_consumer_nothing_is_recorded()
    {
        Server.Engine.Changes.Unsubscribe(_recorder);
        Server.Engine.Changes.UnsubscribeFromEffects(_recorder);
        Run("SET k v EX 10");
        Run("SPOP missing");
        Assert.Empty(_recorder.TakeEvents());
        Assert.Empty(_recorder.TakeEffects());
    }
}
