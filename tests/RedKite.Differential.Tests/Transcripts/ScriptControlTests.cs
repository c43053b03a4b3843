using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>What the server does around scripts: pauses, sorting for them, commands that they may not call; and details of other commands.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class ScriptControlTests(TranscriptServers servers) : TranscriptTests(servers)
{
    [Theory]
    [InlineData("EVAL", "#!lua flags=no-writes\nreturn 1", "0")]
    [InlineData("EVALSHA", "ae33f9227913b24d053a555637f98260b23bd3a3", "0")]
    [InlineData("FCALL", "reads", "0")]
    public void Read_only_script_in_a_transaction_runs_in_a_pause_of_writes(params string[] command)
    {
        PairedConnection client = Open(), admin = Open();
        Run(admin, "FUNCTION", "LOAD", "REPLACE", "#!lua name=pause\nredis.register_function{function_name='reads',callback=function() return 1 end,flags={'no-writes'}}");
        Run(admin, "SCRIPT", "LOAD", "#!lua flags=no-writes\nreturn 2");
        client.Run("MULTI");
        Run(client, command);
        admin.Run("CLIENT PAUSE 100000 WRITE");
        Assert.Single(client.Run("EXEC").Items);
        client.Run("MULTI");
        Run(client, command);
        Assert.Single(client.Run("EXEC").Items);
        admin.Run("CLIENT UNPAUSE");
        admin.Run("FUNCTION FLUSH");
    }

    [Fact]
    public void Sort_in_a_script_orders_a_set()
    {
        PairedConnection client = Open();
        client.Run("SADD set b aa a ` z 10 9");
        client.Run("RPUSH list b aa a z");
        client.Run("ZADD zset 1 b 2 aa 0 z");
        foreach (string command in (string[])["sort", "sort_ro"])
        {
            foreach (string key in (string[])["set", "list", "zset"])
            {
                foreach (string options in (string[])["", ",'desc'", ",'limit',1,2", ",'desc','limit',1,2", ",'get','#','get','x*'"])
                {
                    Run(client, "EVAL", $"return redis.call('{command}','{key}','by','nosort'{options})", "0");
                }
            }
        }
    }

    [Theory]
    [InlineData("local c = redis.call\nreturn c('nosuch')")]
    [InlineData("local c = redis.call\nlocal function f()\n return c('hset','a')\nend\nreturn f()")]
    [InlineData("local c = redis.call\nlocal function f()\n return c('hset','a')\nend\nlocal x = f()\nreturn x")]
    [InlineData("local r = redis\nlocal function f()\n return r.call('hset','a')\nend\nlocal x = f()\nreturn x")]
    [InlineData("local call = redis.call\nlocal function g()\n return call('incr','a','b')\nend\nlocal a,b = pcall(g)\nreturn b")]
    [InlineData("local s = 'x'\nlocal function f()\n return s:rep({})\nend\nlocal x = f()\nreturn x")]
    [InlineData("local function loop(i)\n if i == 0 then return 'end' end\n return loop(i - 1)\nend\nreturn loop(1000000)")]
    [InlineData("return redis.call('set',\n'x')")]
    [InlineData("local co = coroutine.create(function()\n error('x') end)\nlocal ok, e = coroutine.resume(co)\nreturn e")]
    [InlineData("local f = coroutine.wrap(function()\n local x = 'q' + 1 end)\nf()")]
    public void Failing_calls_have_the_same_places(string script)
    {
        PairedConnection client = Open();
        Run(client, "EVAL", script, "0");
    }

    [Fact]
    public void Debug_lets_scripts_call_what_is_denied()
    {
        PairedConnection client = Open();
        foreach (string value in (string[])["", " x", " 1", " 0", " 1"])
        {
            client.Run("DEBUG SET-DISABLE-DENY-SCRIPTS" + value);
            foreach (string call in (string[])["'client','setname','me'", "'client','getname'", "'config','get','databases'", "'client','reply','off'", "'client','reply','on'", "'ping'"]) Run(client, "EVAL", $"return redis.call({call})", "0");
        }

        client.Run("DEBUG SET-DISABLE-DENY-SCRIPTS 0");
    }

    [Fact]
    public void Debug_sees_an_expired_key()
    {
        PairedConnection client = Open();
        client.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        client.Run("SET k value PX 1");
        client.Run("SET s value PX 1");
        Thread.Sleep(20);
        client.Run("DEBUG DIGEST-VALUE k nosuch");
        foreach (RespConnection control in (RespConnection[])[Pair.Oracle.Control, Pair.Subject.Control]) Assert.Matches("^Value at:0x[0-9a-f]+ refcount:1 encoding:embstr serializedlength:6 ", control.Run("DEBUG OBJECT s").Text);
        client.Run("GET k");
        client.Run("DEBUG OBJECT k");
        client.Run("DEBUG SET-ACTIVE-EXPIRE 1");
    }

    [Fact]
    public void Pfadd_to_a_corrupt_value_touches_no_watch()
    {
        PairedConnection watcher = Open(), client = Open();
        Run(client, "SET", "k", "HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80");
        watcher.Run("WATCH k");
        client.Run("PFADD k a b c");
        watcher.Run("MULTI");
        watcher.Run("PING");
        watcher.Run("EXEC");
    }

    [Theory]
    [InlineData(999)]
    [InlineData(1000)]
    [InlineData(1001)]
    [InlineData(5000)]
    public void Patterns_may_have_a_thousand_asterisks(int asterisks)
    {
        PairedConnection client = Open();
        Run(client, "SET", new string('a', 5000), "v");
        foreach (string element in (string[])["?", "a", "[a-b]", "\\a"])
        {
            string pattern = string.Concat(Enumerable.Repeat("*" + element, asterisks));
            foreach (string whole in (string[])[pattern, pattern + "*", "a" + pattern, string.Concat(Enumerable.Repeat(element + "*", asterisks))]) Run(client, "KEYS", whole);
        }
    }

    // Which key is forgotten is random.
    [Fact]
    public void Tracked_keys_beyond_the_limit_are_forgotten_at_once()
    {
        foreach (RespConnection control in (RespConnection[])[Pair.Oracle.Control, Pair.Subject.Control])
        {
            control.Run("CLIENT TRACKING ON");
            control.Run("CONFIG SET tracking-table-max-keys 2");
            for (int i = 0; i < 20; i++) control.Run($"GET key:{i}");
            control.Run("PING");
            Assert.Contains("tracking_total_keys:2\r\n", control.Run("INFO stats").Text, StringComparison.Ordinal);
            control.Run("CONFIG SET tracking-table-max-keys 1");
            control.Run("PING");
            Assert.Contains("tracking_total_keys:1\r\n", control.Run("INFO stats").Text, StringComparison.Ordinal);
            control.Run("CONFIG SET tracking-table-max-keys 1000000");
            control.Run("CLIENT TRACKING OFF");
        }
    }

    private static void Run(PairedConnection client, params string[] words) => client.Run(CommandLine.Format([.. words.Select(Encoding.Latin1.GetBytes)]));
}
