using System.Text.RegularExpressions;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// rename-command: what a command is called from where, byte by byte as in Redis. Right behind a call by the new name Redis 8 also accepts
/// the original one, because it compares a request with the last command's own name before it looks it up. RedKite does not: these
/// transcripts have another command in between.
/// </summary>
public sealed class RenamedCommandTests
{
    [Fact]
    public void Renamed_and_removed_commands()
    {
        using ServerPair pair = Start("get fetch", "set \"\"", "keys abc");
        using PairedConnection client = new(pair);
        foreach (string line in (string[])
            [
                "GET a", "get a", "FETCH a", "fetch a", "FETCH", "fetch a b", "SET a b", "SET", "keys *", "ABC *", "ABC", "MSET a 1", "FETCH a",
                "COMMAND INFO get", "COMMAND INFO fetch", "COMMAND INFO set", "COMMAND INFO FETCH abc", "COMMAND DOCS get set", "COMMAND GETKEYS get a", "COMMAND GETKEYS fetch a", "COMMAND GETKEYS set a b",
                "COMMAND GETKEYSANDFLAGS fetch a", "COMMAND LIST FILTERBY PATTERN *etch*", "COMMAND LIST FILTERBY PATTERN get", "COMMAND LIST FILTERBY PATTERN set", "COMMAND LIST FILTERBY PATTERN ab?",
                "CONFIG GET rename-command", "CONFIG SET rename-command \"a b\"", "CONFIG SET rename-command a", "LATENCY HISTOGRAM get", "LATENCY HISTOGRAM nope",
            ])
        {
            client.Run(line);
        }
    }

    [Fact]
    public void Rules_of_users_have_the_original_names()
    {
        using ServerPair pair = Start("get fetch", "set \"\"", "config cfg");
        using PairedConnection client = new(pair);
        foreach (string line in (string[])
            [
                "ACL SETUSER u on nopass ~a* +get +set +config|get", "ACL SETUSER u +fetch", "ACL SETUSER u +cfg|get", "ACL SETUSER u +cfg", "ACL GETUSER u", "ACL LIST", "ACL DRYRUN u get a", "ACL DRYRUN u fetch a", "ACL DRYRUN u fetch x",
                "ACL DRYRUN u set a b", "ACL DRYRUN u cfg get port", "ACL DRYRUN u cfg set a b", "ACL DRYRUN u config get port", "AUTH u x", "FETCH a", "FETCH x", "MSET a b", "GET a", "SET a b", "CFG SET a b", "CFG GET databases", "CFG RESETSTAT", "CFG", "CFG NOPE",
                "RESET", "ACL SETUSER u -get", "AUTH u x", "FETCH a", "RESET",
            ])
        {
            client.Run(line);
        }

        Assert.Equal(Acl.AclLogText.Of(pair.Oracle.Control), Acl.AclLogText.Of(pair.Subject.Control));
    }

    [Fact]
    public void Transactions_and_scripts_know_only_the_new_names()
    {
        using ServerPair pair = Start("get fetch", "set \"\"", "exec go", "multi begin", "watch look");
        using PairedConnection client = new(pair);
        foreach (string line in (string[])
            [
                "MULTI", "begin", "FETCH a", "SET a b", "EXEC", "go", "go", "PING", "EXEC", "BEGIN", "fetch a", "GO", "begin", "GET a", "DISCARD", "LOOK a", "PING", "WATCH a", "begin", "LOOK b", "go",
                "EVAL \"return redis.call('fetch','a')\" 0", "EVAL \"return redis.pcall('get','a')\" 0", "EVAL \"return redis.pcall('set','a','b')\" 0", "EVAL \"return redis.call('set','a','b')\" 0", "EVAL \"return redis.pcall('fetch')\" 0",
                "EVAL \"return redis.pcall('begin')\" 0", "EVAL \"return redis.acl_check_cmd('fetch', 'a')\" 0", "EVAL \"return redis.pcall('mset', 'a', '1', 'b')\" 0",
            ])
        {
            client.Run(line);
        }
    }

    [Fact]
    public void Containers_and_messages_use_the_configured_name()
    {
        using ServerPair pair = Start("config cfg", "client cl", "acl rights", "debug dbg", "module mod", "slowlog sl", "pubsub ps", "function fn", "object ob", "xinfo xi");
        using PairedConnection client = new(pair);
        foreach (string line in (string[])
            [
                "cfg nope", "CFG", "CFG get", "cfg GET databases", "Cl NOPE", "cl pause 1 2 3", "cl unblock 1 2 3", "rights nope", "rights log 1 2", "rights genpass 1 2", "DBG", "DBG SLEEP 0", "dbg sleep 0", "mod load x", "mod loadex x", "mod unload x", "mod nope", "MODULE LIST",
                "sl get 1 2", "ps channels a b", "PS NOPE", "fn flush a b", "fn restore a b c", "ob nope", "ob", "xi nope", "COMMAND INFO config|get cfg|get cfg|nope", "COMMAND GETKEYS ob encoding k", "COMMAND INFO mod|load",
            ])
        {
            client.Run(line);
        }

        foreach (string container in (string[])["cfg", "CL", "rights", "mod", "sl", "ps", "fn", "ob", "xi"])
        {
            Assert.Equal(pair.Oracle.Control.Run(container + " HELP").Items[0].Text, pair.Subject.Control.Run(container + " HELP").Items[0].Text);
        }
    }

    [Fact]
    public void Log_in_can_be_renamed()
    {
        using ServerPair pair = Start(["--requirepass", "p"], "auth login", "hello hi", "reset rs");
        using PairedConnection client = new(pair);
        foreach (string line in (string[])["AUTH p", "HELLO 3", "PING", "login x", "login p", "PING", "hi 4", "PING", "rs", "PING", "RESET", "PING", "hi 3 AUTH default x", "hi 5 AUTH default p", "PING"]) client.Run(line);
    }

    [Theory]
    [InlineData("get get", "GET a|COMMAND INFO get")]
    [InlineData("get GET", "GET a|get a|COMMAND INFO get")]
    [InlineData("get fetch, fetch again", "again a|fetch a|get a|COMMAND INFO again fetch get")]
    [InlineData("set \"\", get set", "SET a|PING|GET a|SET a b|COMMAND INFO set get|COMMAND LIST FILTERBY PATTERN ?et")]
    [InlineData("get \"a b\"", "\"a b\" k|\"A B\" k|COMMAND INFO \"a b\"")]
    [InlineData("config \"\"", "CONFIG GET port|COMMAND INFO config|ACL SETUSER u +config|get|ACL LIST")]
    [InlineData("sort srt, blpop b, expire exp, ping \"\"", "RPUSH l 1|srt l BY nosort GET #|COMMAND GETKEYS srt l STORE x|b l 0|b x|b nope 0.001|SET a b|exp a|exp a x|PING|PING a|exp a 100|PERSIST a")]
    [InlineData("lpush lp, brpoplpush br", "lp|lp a|lp a 1|br a b 0|LRANGE b 0 -1|br|LPUSH a 1")]
    public void New_names(string renames, string lines)
    {
        using ServerPair pair = Start(renames.Split(", "));
        using PairedConnection client = new(pair);
        foreach (string line in lines.Split('|')) client.Run(line);
    }

    [Fact]
    public void Redis_alone_accepts_the_original_name_behind_the_new_one()
    {
        using ServerPair pair = Start("get fetch");
        foreach (ServerPair.Side side in (ServerPair.Side[])[pair.Oracle, pair.Subject])
        {
            side.Control.Run("FETCH a").IsNull();
            if (side == pair.Oracle) side.Control.Run("GET a").IsNull();
            else side.Control.Run("GET a").IsError("ERR unknown command 'GET', with args beginning with: 'a' ");
        }
    }

    [Fact]
    public void Logs_and_statistics_show_what_was_called()
    {
        using ServerPair pair = Start(["--slowlog-log-slower-than", "-1"], "get fetch", "config cfg"); // nothing before the statements below is in it
        string[] shown = [.. ((ServerPair.Side[])[pair.Oracle, pair.Subject]).Select(ShownBy)];
        Assert.Equal(shown[0], shown[1]);
        Assert.Contains("\"FETCH\" \"a\"", shown[1], StringComparison.Ordinal);

        static string ShownBy(ServerPair.Side side)
        {
            using RespConnection monitor = RespConnection.Connect(side.Port);
            monitor.Run("MONITOR").IsOk();
            using RespConnection client = RespConnection.Connect(side.Port);
            client.Run("CFG SET slowlog-log-slower-than 0").IsOk();
            client.Run("FETCH a").IsNull();
            client.Run("FETCH a b");
            client.Run("CFG GET nope");
            client.Run("EVAL \"return redis.call('fetch', 'b')\" 0");
            string[] lines = [.. Enumerable.Range(0, 3).Select(_ => Regex.Replace(monitor.Read().Text, "^[0-9.]+ \\[0 (lua|127)[0-9.:]*\\]", "$1"))];
            string[] slow = [.. client.Run("SLOWLOG GET 10").Items.Select(entry => string.Join(' ', entry.Items[3].Items.Select(item => item.Text)))];
            string[] calls = [.. client.Run("INFO commandstats").Text.Split("\r\n").Where(line => line.StartsWith("cmdstat_", StringComparison.Ordinal)).Select(line => Regex.Replace(line, "usec=[0-9]+,usec_per_call=[0-9.]+,", "")).Order(StringComparer.Ordinal)];
            string[] latency = [.. client.Run("LATENCY HISTOGRAM fetch").Items.Where(item => item.Items.Count == 0).Select(item => item.Text)];
            string name = Regex.Match(client.Run("CLIENT LIST").Text, " flags=O .* cmd=[^ ]+").Value.Split(' ')[^1];
            return string.Join('\n', [.. lines, .. slow, .. calls, .. latency, name]);
        }
    }

    private static ServerPair Start(params string[] renames) => Start([], renames);

    // From a file: Redis reads an empty word of the command line as the end of the options.
    private static ServerPair Start(string[] options, params string[] renames)
    {
        string path = Path.GetTempFileName();
        File.WriteAllLines(path, renames.Select(rename => "rename-command " + rename));
        try
        {
            return ServerPair.Start(["--include", path, .. options]);
        }
        finally
        {
            File.Delete(path);
        }
    }
}
