using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>redis.set_repl: where the effects of a script's commands go, as redis-server 8.0.2 has it.</summary>
public class ScriptTargetsTests
{
    private const string Script =
        "redis.set_repl(redis.REPL_AOF) redis.call('SET','aof','1') redis.set_repl(redis.REPL_REPLICA) redis.call('SET','repl','1') " +
        "redis.set_repl(redis.REPL_NONE) redis.call('SET','none','1') redis.set_repl(redis.REPL_ALL) redis.call('SET','all','1') redis.set_repl(redis.REPL_NONE)";

    private static string Eval => $"EVAL \"{Script}\" 0";

    [Fact]
    public async Task Replicas_get_what_is_for_them()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.BecomeOnline(primary, offset);
        primary.Client.Run(Eval);
        Assert.Equal("1", primary.Client.Run("GET none").Text);
        string expected = Encode("SELECT 0") + Encode("MULTI") + Encode("SET repl 1") + Encode("SET all 1") + Encode("EXEC");
        string alone = Encode("SET a 1"); // all again behind the script
        primary.Client.Run("EVAL \"redis.set_repl(redis.REPL_NONE) redis.call('SET','b','1')\" 0");
        primary.Client.Run("MULTI").IsOk();
        primary.Client.Run("EVAL \"redis.set_repl(redis.REPL_NONE)\" 0");
        primary.Client.Run("SET a 1");
        primary.Client.Run("EXEC");
        string stream = replica.ReadText(expected.Length + alone.Length);
        Assert.Equal(Encode("MULTI") + Encode("SELECT 0") + expected[Encode("SELECT 0").Length..][Encode("MULTI").Length..] + alone, Normalized(stream));

        // SELECT may precede MULTI or follow it.
        static string Normalized(string text) => text.StartsWith(Encode("SELECT 0"), StringComparison.Ordinal) ? Encode("MULTI") + Encode("SELECT 0") + text[(Encode("SELECT 0").Length + Encode("MULTI").Length)..] : text;
    }

    [Fact]
    public async Task The_log_gets_what_is_for_it()
    {
        await using DiskServer server = await DiskServer.StartAsync("appendonly", "yes", "save", "");
        server.Server.Execute("EVAL", Script, "0");
        Assert.Equal("4", server.Run("DBSIZE").ToString());
        server.Run("SET after 1");
        await server.RestartAsync();
        Assert.Equal("0", server.Run("EXISTS repl none").ToString());
        Assert.Equal("3", server.Run("EXISTS aof all after").ToString());
    }

    // As in Redis: some members that SPOP removes are gone everywhere, whatever the script has chosen; a single one, and all, are not.
    [Theory]
    [InlineData("SPOP s 2", 8, 8)]
    [InlineData("SPOP s 9", 1, 1)]
    [InlineData("SPOP s", 9, 10)]
    [InlineData("SPOP s 10", 0, 10)]
    public async Task Some_members_that_are_popped_go_everywhere(string pop, int left, int logged)
    {
        await using DiskServer server = await DiskServer.StartAsync("appendonly", "yes", "save", "");
        server.Run("SADD s 0 1 2 3 4 5 6 7 8 9");
        string[] words = pop.Split(' ');
        foreach (string targets in (string[])["NONE", "REPLICA"])
        {
            server.Server.Execute("EVAL", $"redis.set_repl(redis.REPL_{targets}) return redis.call('{string.Join("','", words)}')", "0");
            Assert.Equal(left, server.Run("SCARD s").Integer);
            server.Run("SET after 1");
            await server.RestartAsync();
            Assert.Equal(logged, server.Run("SCARD s").Integer);
            server.Run("SADD s 0 1 2 3 4 5 6 7 8 9");
        }
    }

    // As in Redis: a script that may write counts as a write that was queued.
    [Theory]
    [InlineData("#!lua\\nreturn redis.call('set','q','1')")]
    [InlineData("#!lua flags=allow-oom\\nreturn 1")]
    [InlineData("#!lua flags=no-writes\\nreturn 1")]
    [InlineData("return redis.call('set','q','1')")]
    public async Task A_script_that_was_queued_before_the_role_changed(string script)
    {
        using Oracle oracle = Oracle.Of(OracleProgram.Redis8, "--save", "");
        await using ReplicatedServer server = await ReplicatedServer.StartAsync();
        string[] replies = [.. new[] { oracle.Port, server.Server.Port }.Select(port =>
        {
            using RespConnection client = RespConnection.Connect(port), other = RespConnection.Connect(port);
            client.Run("MULTI").IsOk();
            client.Run($"EVAL \"{script}\" 0");
            other.Run("REPLICAOF 127.0.0.1 1").IsOk();
            return client.Run("EXEC").ToString();
        })];
        Assert.Equal(replies[0], replies[1]);
    }

    private static string Encode(string command) => System.Text.Encoding.Latin1.GetString(CommandLine.Encode(CommandLine.Split(command)));
}
