using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>Expected replies are those of https://redis.io/commands/himport-prepare, himport-set and himport-discard; they do not give the texts of errors.</summary>
public sealed class HashImportCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Hashes_have_the_fields_of_the_prepared_list()
    {
        Run("HIMPORT PREPARE u name email age").IsOk();
        Run("HIMPORT SET user:1 u alice a@example.com 30").IsOk();
        Run("HGETALL user:1").IsArray("name", "alice", "email", "a@example.com", "age", "30");
        Run("HSET user:2 other x").IsInteger(1);
        Run("EXPIRE user:2 100").IsInteger(1);
        Run("HIMPORT SET user:2 u bob b@example.com 25").IsOk();
        Run("HGET user:2 age").IsBulk("25");
        Assert.Null(_transcript.ExpiryOf("user:2"));
        Run("HIMPORT PREPARE u name").IsOk();
        Run("HIMPORT SET user:1 u carol").IsOk();
        Run("HGETALL user:1").IsArray("name", "carol");
        Assert.Equal(1, _transcript.ChangesOf("HIMPORT SET user:3 u dan"));
        Run("COMMAND GETKEYS HIMPORT SET user:1 u x").IsArray("user:1");
    }

    [Fact]
    public void Value_of_another_type_stays()
    {
        Run("HIMPORT PREPARE u name").IsOk();
        Run("SET k x").IsOk();
        Run("HIMPORT SET k u alice").IsError("WRONGTYPE Operation against a key holding the wrong kind of value");
        Run("GET k").IsBulk("x");
    }

    [Fact]
    public void Scripts_do_not_see_the_lists_of_their_caller()
    {
        Run("HIMPORT PREPARE u name").IsOk();
        Run("EVAL \"return redis.pcall('HIMPORT','SET',KEYS[1],'u','alice').err\" 1 k").IsBulk("ERR no such fieldset");
        Run("EXISTS k").IsInteger(0);
        Run("HIMPORT SET k u alice").IsOk();
    }

    [Fact]
    public void Lists_that_a_script_prepares_are_its_own_and_end_with_it()
    {
        Run("HIMPORT PREPARE u name").IsOk();
        Run("EVAL \"redis.call('HIMPORT','PREPARE','u','a','b'); redis.call('HIMPORT','PREPARE','v','a'); return redis.call('HIMPORT','SET',KEYS[1],'u','1','2')\" 1 k").IsOk();
        Run("HMGET k a b").IsArray("1", "2");
        Run("HIMPORT SET k u alice").IsOk();
        Run("HGET k name").IsBulk("alice");
        Run("HIMPORT SET k v 1").IsError("ERR no such fieldset");
        Run("EVAL \"return redis.call('HIMPORT','DISCARDALL')\" 0").IsInteger(0);
        Run("HIMPORT DISCARDALL").IsInteger(1);
        Run("EVAL \"redis.call('HIMPORT','PREPARE','w','a') return redis.call('HIMPORT','DISCARD','w')\" 0").IsInteger(1);
    }

    [Fact]
    public void Lists_belong_to_the_connection_until_they_are_discarded()
    {
        Run("HIMPORT PREPARE u a").IsOk();
        Run("HIMPORT PREPARE v a").IsOk();
        Run("HIMPORT DISCARD u").IsInteger(1);
        Run("HIMPORT DISCARD u").IsInteger(0);
        Run("HIMPORT SET k u 1").IsError("ERR no such fieldset");
        Run("HIMPORT DISCARDALL").IsInteger(1);
        Run("HIMPORT DISCARDALL").IsInteger(0);
        Run("HIMPORT PREPARE v a").IsOk();
        Run("RESET").IsSimple("RESET");
        Run("HIMPORT SET k v 1").IsError("ERR no such fieldset");
        Run("EXISTS k").IsInteger(0);
    }

    [Theory]
    [InlineData("HIMPORT", "ERR wrong number of arguments for 'himport' command")]
    [InlineData("HIMPORT NOSUCH", "ERR unknown subcommand 'NOSUCH'. Try HIMPORT HELP.")]
    [InlineData("HIMPORT PREPARE u", "ERR wrong number of arguments for 'himport|prepare' command")]
    [InlineData("HIMPORT PREPARE u a b a", "ERR duplicate field name in fieldset")]
    [InlineData("HIMPORT SET k f 1", "ERR number of values does not match the number of fields in the fieldset")]
    [InlineData("HIMPORT SET k f 1 2 3", "ERR number of values does not match the number of fields in the fieldset")]
    public void Errors_are_reported(string line, string error)
    {
        Run("HIMPORT PREPARE f a b").IsOk();
        Run(line).IsError(error);
        Run("EXISTS k").IsInteger(0);
    }

    [Fact]
    public void Lists_count_for_the_limit_of_a_clients_state()
    {
        Run("CONFIG SET max-client-state-bytes 1mb").IsOk();
        string name = new('x', 300_000);
        Run($"HIMPORT PREPARE a {name}").IsOk();
        Run($"HIMPORT PREPARE b {name}").IsOk();
        Run($"HIMPORT PREPARE c {name}").IsOk();
        Run($"HIMPORT PREPARE d {name}").IsError("ERR too many bytes of watched keys, subscriptions, prefixes and lists of fields, max-client-state-bytes is 1048576");
        Run("HIMPORT DISCARD a").IsInteger(1);
        Run($"HIMPORT PREPARE d {name}").IsOk();
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
