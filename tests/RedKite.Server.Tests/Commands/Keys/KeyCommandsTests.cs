using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Commands;

/// <summary>Every test runs with one stripe, where all keys share one table, and with 64.</summary>
public abstract class KeyCommandsTests : TranscriptTests
{
    [Fact]
    public void Del_and_unlink_count_a_repeated_key_once()
    {
        Run("SET a 1").IsOk();
        Run("SET b 2").IsOk();
        Run("DEL a a nope b a").IsInteger(2);
        Run("EXISTS a b").IsInteger(0);
        Run("SET a 1").IsOk();
        Run("UNLINK a a").IsInteger(1);
        Run("UNLINK a").IsInteger(0);
    }

    [Fact]
    public void Exists_and_touch_count_a_repeated_key_each_time()
    {
        Run("SET a 1").IsOk();
        Run("EXISTS a a nope a").IsInteger(3);
        Run("TOUCH a a nope a").IsInteger(3);
    }

    [Fact]
    public void Type_of_a_missing_key_is_none()
    {
        Run("SET a 1").IsOk();
        Run("TYPE a").IsStatus("string");
        Run("TYPE nope").IsStatus("none");
    }

    [Fact]
    public void Rename_transfers_value_and_expiry_and_overwrites()
    {
        Run("SET a one").IsOk();
        Run("SET b two").IsOk();
        Run("EXPIRE a 100").IsInteger(1);
        Run("EXPIRE b 500").IsInteger(1);
        Run("RENAME a b").IsOk();
        Run("GET b").IsText("one");
        Run("TTL b").IsInteger(100);
        Run("EXISTS a").IsInteger(0);
        Run("SET plain x").IsOk();
        Run("RENAME plain b").IsOk();
        Run("TTL b").IsInteger(-1);
    }

    [Fact]
    public void Rename_to_the_same_name_changes_nothing()
    {
        Run("SET a 1").IsOk();
        Run("RENAME a a").IsOk();
        Run("RENAMENX a a").IsInteger(0);
        Run("GET a").IsText("1");
        Run("RENAME nope nope").IsError("ERR no such key");
        Run("RENAMENX nope nope").IsError("ERR no such key");
    }

    [Fact]
    public void Renamenx_refuses_an_existing_but_not_an_expired_key()
    {
        Run("SET a 1").IsOk();
        Run("SET b 2").IsOk();
        Run("RENAMENX a b").IsInteger(0);
        Run("GET b").IsText("2");
        Run("PEXPIRE b 10").IsInteger(1);
        Clock.Advance(10);
        Run("RENAMENX a b").IsInteger(1);
        Run("GET b").IsText("1");
    }

    [Fact]
    public void Rename_of_many_keys_loses_none_while_tables_split()
    {
        for (int i = 0; i < 5000; i++) Run($"SET k{i} {i}").IsOk();
        for (int i = 0; i < 5000; i++) Run($"RENAME k{i} renamed-to-a-longer-name-{i}").IsOk();
        for (int i = 0; i < 5000; i++) Run($"GET renamed-to-a-longer-name-{i}").IsText($"{i}");
        Assert.Equal(5000, Server.Engine.Keyspace.Databases[0].Count);
    }

    [Fact]
    public void Copy_copies_value_and_expiry_and_replaces_only_with_REPLACE()
    {
        Run("SET a one").IsOk();
        Run("EXPIRE a 100").IsInteger(1);
        Run("COPY a b").IsInteger(1);
        Run("GET b").IsText("one");
        Run("TTL b").IsInteger(100);
        Run("SET a two").IsOk();
        Run("COPY a b").IsInteger(0);
        Run("GET b").IsText("one");
        Run("COPY a b REPLACE").IsInteger(1);
        Run("GET b").IsText("two");
        Run("TTL b").IsInteger(-1);
        Run("COPY nope b REPLACE").IsInteger(0);
        Run("GET b").IsText("two");
    }

    [Fact]
    public void Copy_to_another_database_may_keep_the_name()
    {
        Run("SET a one").IsOk();
        Run("COPY a a").IsError("ERR source and destination objects are the same");
        Run("COPY nope nope DB 0").IsError("ERR source and destination objects are the same");
        Run("COPY a a DB 3").IsInteger(1);
        Run("COPY a a DB 3").IsInteger(0);
        Run("COPY a a db 3 replace").IsInteger(1);
        Assert.Equal(1, Server.Engine.Keyspace.Databases[3].Count);
        Assert.Equal(1, Server.Engine.Keyspace.Databases[0].Count);
    }

    [Fact]
    public void Copy_refuses_invalid_options_and_databases()
    {
        Run("SET a one").IsOk();
        Run("COPY a b DB 16").IsError("ERR DB index is out of range");
        Run("COPY a b DB -1").IsError("ERR DB index is out of range");
        Run("COPY a b DB x").IsError("ERR value is not an integer or out of range");
        Run("COPY a b DB 2147483648").IsError("ERR value is out of range, value must between -2147483648 and 2147483647");
        Run("COPY a b DB").IsError("ERR syntax error");
        Run("COPY a b FOO").IsError("ERR syntax error");
        Run("EXISTS b").IsInteger(0);
    }

    [Fact]
    public void Move_transfers_the_expiry_and_refuses_an_existing_key()
    {
        Run("SET a one").IsOk();
        Run("EXPIRE a 100").IsInteger(1);
        Run("MOVE a 0").IsError("ERR source and destination objects are the same");
        Run("MOVE a 99").IsError("ERR DB index is out of range");
        Run("MOVE a x").IsError("ERR value is not an integer or out of range");
        Run("MOVE nope 1").IsInteger(0);
        Run("MOVE a 1").IsInteger(1);
        Run("EXISTS a").IsInteger(0);
        Assert.Equal((1L, 1L), (Server.Engine.Keyspace.Databases[1].Count, Server.Engine.Keyspace.Databases[1].Expiring));
        Assert.Equal((0L, 0L), (Server.Engine.Keyspace.Databases[0].Count, Server.Engine.Keyspace.Databases[0].Expiring));
        Run("SET a two").IsOk();
        Run("MOVE a 1").IsInteger(0);
        Run("GET a").IsText("two");
        Clock.Advance(100_000);
        Run("MOVE a 1").IsInteger(1);
    }

    [Fact]
    public void Moved_copied_and_renamed_keys_release_their_memory()
    {
        long before = EntryBytes();
        Run("SET a " + new string('v', 100_000)).IsOk();
        Run("COPY a b").IsInteger(1);
        Run("RENAME b a").IsOk();
        Run("MOVE a 1").IsInteger(1);
        Assert.InRange(EntryBytes() - before, 100_000, 150_000);
        Run("SET a small").IsOk();
        Run("COPY a a DB 1 REPLACE").IsInteger(1);
        Run("PEXPIREAT a 1").IsInteger(1);
        Assert.InRange(EntryBytes() - before, 1, 64); // the small value in database 1
    }

    private long EntryBytes()
    {
        long bytes = 0;
        foreach (Stripe stripe in Server.Engine.Keyspace.Stripes) bytes += stripe.Arena.UsedBytes;
        return bytes;
    }

    public sealed class WithOneStripe : KeyCommandsTests
    {
        protected override int Stripes => 1;
    }

    public sealed class WithManyStripes : KeyCommandsTests;
}
