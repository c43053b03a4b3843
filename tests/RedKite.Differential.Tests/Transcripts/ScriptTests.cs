using System.Text;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Scripts and functions, on both servers: every reply is compared, texts of errors included.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class ScriptTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private static readonly string[] Libraries =
    [
        "", "#!lua", "#!lua name=", "#!lua name=a b", "#!lua name=a-b\nreturn", "#!py name=a\nreturn", "#!lua foo=bar\nreturn", "#!lua name=a name=b\nreturn", "return 1",
        "#!lua name=a\n", "#!lua name=a\nx=1", "#!lua name=a\nredis.call('get','x')", "#!lua name=a\nredis.register_function('g',1)", "#!lua name=a\nredis.register_function('g')",
        "#!lua name=a\nredis.register_function()", "#!lua name=a\nredis.register_function('g',function() end,1)", "#!lua name=a\nredis.register_function{}",
        "#!lua name=a\nredis.register_function{function_name='x'}", "#!lua name=a\nredis.register_function{callback=1}",
        "#!lua name=a\nredis.register_function{function_name='x',callback=function() end,foo=1}", "#!lua name=a\nredis.register_function{function_name='x',callback=function() end,flags=1}",
        "#!lua name=a\nredis.register_function{function_name='x',callback=function() end,flags={'zz'}}", "#!lua name=a\nredis.register_function('a-b',function() end)",
        "#!lua name=a\nredis.register_function('g',function() end) redis.register_function('g',function() end)", "#!lua name=a\nerror('x')", "#!lua name=a\n(", "#!lua name=a\nredis.setresp(3)",
        "#!lua name=a\nlocal v=redis.REDIS_VERSION redis.register_function('version',function() return v end)", "#!lua name=b\nredis.register_function('undefined',function() return foo end)",
        "#!lua name=c\nredis.register_function('fails',function() error('boom') end)", "#!lua name=d\nredis.register_function('arity',function() return redis.call('get') end)",
        "#!lua name=e\nredis.register_function('global',function() x=1 end)", "#!lua name=f\nredis.register_function('late',function() redis.register_function('q',function() end) end)",
        "#!lua name=g\nredis.register_function('keys',function() return KEYS end)", "#!lua name=h\nredis.register_function('echo',function(keys,args) return {keys,args,#keys} end)",
        "#!lua name=stale\nredis.register_function{function_name='stale',callback=function(k,a) return redis.call(unpack(a)) end,flags={'allow-stale'}}",
        "#!lua name=oom\nredis.register_function{function_name='oom',callback=function(k,a) return redis.call(unpack(a)) end,flags={'allow-oom'}}",
        "#!lua name=single\nredis.register_function{function_name='single',callback=function(k,a) return redis.call(unpack(a)) end,flags={'no-cluster'}}",
        "#!lua name=cross\nredis.register_function{function_name='cross',callback=function(k,a) return redis.call(unpack(a)) end,flags={'allow-cross-slot-keys'}}",
        "#!lua name=all\nredis.register_function{function_name='all',callback=function(k,a) return redis.call(unpack(a)) end,flags={'allow-cross-slot-keys','no-cluster','allow-stale','allow-oom','no-writes'}}",
        "#!lua name=twice\nredis.register_function{function_name='twice',callback=function(k,a) return redis.call(unpack(a)) end,flags={'allow-oom','allow-oom'}}",
        "#!lua name=upper\nredis.register_function{function_name='upper',callback=function() end,flags={'ALLOW-OOM'}}", "#!lua name=map\nredis.register_function{function_name='map',callback=function() end,flags={a='no-writes'}}",
        "#!LUA 'Name=quoted'\nredis.register_function{Function_Name='quoted',CALLBACK=function() return 1 end,FLAGS={'No-Writes'},Description='d'}", "#!lua name='a", "#!lua name=''\nredis.register_function('x',function() end)", "#!lua name=a ''\n",
        "#!lua name=none\nredis.register_function{function_name='none',callback=function() return 1 end,flags={}}", "#!lua name=number\nredis.register_function{function_name='number',callback=function() end,flags={1}}",
        "#!lua name=i\nredis.register_function{function_name='reads',callback=function(k,a) return redis.call(unpack(a)) end,flags={'no-writes'},description='d'}",
        "#!lua name=j\nredis.register_function('runs',function(k,a) return redis.call(unpack(a)) end)", "#!lua name=h\nredis.register_function('other',function() end)",
        "#!lua name=k\nredis.register_function('echo',function() end)", "#!lua name=l\nlocal x=tonumber('5')", "#!lua name=l\nlocal function f(x) return tonumber(x) end f('5')", "#!lua name=l\nlocal x=tonumber('5',10)",
        "#!lua name=l\nredis.register_function('later',function() return {tonumber('7'),type(redis.replicate_commands),type(redis.breakpoint),type(redis.debug)} end)",
        "#!lua name=m\nredis.register_function('members',function() local t={} for k in pairs(redis) do t[#t+1]=k end table.sort(t) return t end)",
    ];

    private static readonly string[] Calls =
    [
        "version 0", "undefined 0", "fails 0", "arity 0", "global 0", "late 0", "keys 0", "echo 1 a b c", "ECHO 0", "nosuch 0", "echo -1", "echo x", "echo 5 a", "reads 0 GET k", "reads 0 SET k v",
        "runs 0 SET k v", "runs 1 k INCR k", "runs 0 LPUSH k x", "runs 0 MONITOR", "runs 0 NOSUCH", "later 0", "members 0",
    ];

    // Each with one function: of several, Redis lists them in the order of a hash table.
    private static readonly string[] Flagged = ["stale", "oom", "single", "cross", "all", "twice", "upper", "quoted", "map", "none"];

    private static readonly string[] Scripts =
    [
        "return redis.call('set',KEYS[1],ARGV[1])", "return redis.call('get',KEYS[1])", "return {KEYS[1],ARGV[1],#KEYS,#ARGV}", "return redis.call('lpush',KEYS[1],'x')", "return redis.pcall('lpush',KEYS[1],'x')",
        "return redis.call('nosuch')", "return redis.call('get')", "return redis.call('monitor')", "return redis.call('object','nosuch')", "return redis.call('object')", "return redis.call('blpop','nosuch',0)",
        "return redis.call('xread','block',0,'streams','s','$')", "return redis.call('wait',0,0)", "return redis.call('select',3)", "redis.call('select',3) return redis.call('set','in3','x')", "return redis.call('get','in3')",
        "local t=redis.call('time') return #t", "redis.call('hset','h','f','v') return redis.call('hgetall','h')", "redis.setresp(3) return redis.call('hgetall','h').map.f", "redis.call('zadd','z',1.5,'m') return redis.call('zscore','z','m')",
        "redis.setresp(3) return redis.call('zscore','z','m')", "redis.call('sadd','s','m') redis.setresp(3) return redis.call('smembers','s')", "redis.setresp(3) return redis.call('get','nosuch')", "redis.setresp(3) return redis.call('lrange','nosuch',0,-1)",
        "return redis.call('incrbyfloat','f','1.5')", "return redis.call('set','n',1e20)", "return redis.call('incrby','c',2.0)", "return redis.call('incrby','c',2.5)", "return redis.sha1hex('')", "return redis.call('ping')", "return redis.call('echo','x')",
        "return redis.acl_check_cmd('get','x')", "return redis.acl_check_cmd('nosuch')", "return redis.call('eval','return 1','0')", "return redis.call('multi')", "return redis.call('client','id')", "return redis.call('config','get','x')",
        "return redis.call('keys','in*')", "return redis.call('dbsize')>0", "return #redis.call('scan','0')", "return redis.call('randomkey')~=nil", "return redis.call('sort','nosuch')", "return redis.call('dump','nosuch')",
        "for i=1,10 do redis.call('rpush','list'..i,i) end local n=0 for i=1,10 do n=n+redis.call('llen','list'..i) end return n", "return redis.call('del','list1','list2','list3')", "return redis.call('flushall')",
        "#!lua\nreturn 1", "#!lua flags=no-writes\nreturn redis.call('set','x',1)", "#!lua flags=no-writes,allow-oom\nreturn redis.call('get','x')", "#!lua flags=zz\nreturn 1", "#!lua name=x\nreturn 1", "#!foo\nreturn 1", "#!lua flags=no-writes",
        "#!lua flags=allow-oom\nreturn redis.call('set','x',1)", "#!lua flags=allow-stale\nreturn redis.call('get','x')", "#!lua flags=no-cluster\nreturn redis.call('get','x')", "#!lua flags=allow-cross-slot-keys\nreturn redis.call('mget','x','y')",
        "#!lua flags=allow-cross-slot-keys,no-cluster,allow-stale,allow-oom,no-writes\nreturn redis.call('get','x')", "#!lua flags=allow-cross-slot-keys,no-cluster,allow-stale,allow-oom,no-writes\nreturn redis.call('set','x',1)",
        "#!lua flags=allow-oom, no-writes\nreturn 1", "#!lua flags=\nreturn 1", "#!lua flags=,\nreturn 1", "#!lua flags=no-writes,\nreturn 1", "#!lua flags=no-writes,no-writes\nreturn 1", "#!lua flags=NO-WRITES\nreturn 1",
        "#!lua  flags=no-writes\nreturn 1", "#!lua flags=no-writes flags=allow-oom\nreturn 1", "#!LUA flags=no-writes\nreturn 1", "#!lua flags='no-writes'\nreturn 1",
        "#!lua flags='no-writes\nreturn 1", "#!\"lua\" \"flags=no-writes\"\r\nreturn redis.call('set','x',1)", "#!\nreturn 1", "#!lua ''\nreturn 1", "#!lua FLAGS=no-writes\nreturn 1", "#!lua flags\nreturn 1", "#!lua\tflags=no-writes,zz\nreturn 1",
        "#!lua\nreturn {1,\n2,error('x')}", "error('a')", "return error({err='MY error'})", "return redis.error_reply('MY error')", "return redis.status_reply('fine')", "return {err='x'}", "return {ok='x'}", "return (",
    ];

    [Fact]
    public void Scripts_have_the_same_replies()
    {
        PairedConnection client = Open();
        foreach (string script in Scripts)
        {
            Run(client, "EVAL", script, "1", "k", "v");
            Run(client, "EVAL_RO", script, "1", "k", "v");
        }

        Run(client, "HELLO", "3");
        foreach (string script in Scripts) Run(client, "EVAL", script, "1", "k", "v");
    }

    private static readonly string[] ErrorScripts =
    [
        "return redis.call('LPUSH','text','x')", "return redis.pcall('LPUSH','text','x')", "redis.pcall('LPUSH','text','x') return 1", "redis.pcall('nosuch') return 1", "return redis.pcall('nosuch')",
        "redis.pcall('GET') return 1", "return redis.pcall('GET')", "redis.pcall('SUBSCRIBE','a') return 1", "redis.pcall('SET','a','b') return 1", "redis.error_reply('MY ERR') return 1", "return {err='MY ERR'}",
        "error('text')", "error({err='MY text'})", "return 1 + nil", "return 1 +", "local e = redis.pcall('LPUSH','text','x') error(e)", "local e = redis.pcall('LPUSH','text','x') redis.pcall('GET') return e",
        "pcall(redis.call,'LPUSH','text','x') return 1", "local ok,e = pcall(redis.call,'LPUSH','text','x') return e", "local e = redis.pcall('LPUSH','text','x') e.err='OTHER text' return e",
        "local e = redis.pcall('LPUSH','text','x') e.ignore_error_stats_update=false return e", "return {err=redis.pcall('LPUSH','text','x').err}", "return {1,redis.pcall('LPUSH','text','x')}",
        "return redis.call()", "redis.pcall() return 1", "return redis.pcall()", "return redis.call('GET',{})", "redis.pcall('GET',{}) return 1", "return redis.call('BLPOP','text','0')", "redis.setresp(9)",
        "return redis.call('OBJECT','nosuch')", "redis.pcall('OBJECT','nosuch') return 1", "local e,t = redis.pcall(),{} for k,v in pairs(e) do t[#t+1] = k end table.sort(t) return t",
        "local e,t = redis.pcall('GET'),{} for k,v in pairs(e) do t[#t+1] = k end table.sort(t) return t",
    ];

    // Once, where they arise: not once more for the script that returns them or ends with them.
    [Fact]
    public void Errors_are_counted_as_in_redis()
    {
        PairedConnection client = Open();
        foreach (string user in (string[])["default", "restricted"])
        {
            Run(client, "SET", "text", "v");
            Run(client, "ACL", "SETUSER", "restricted", "reset", "on", "nopass", "~*", "+@all", "-get", "-object");
            Run(client, "AUTH", user, "x");
            foreach (string script in Scripts.Concat(ErrorScripts))
            {
                foreach (string command in (string[])["EVAL", "EVAL_RO"])
                {
                    Run(client, "CONFIG", "RESETSTAT");
                    Run(client, command, script, "1", "k", "v");
                    Assert.Null(StatisticsComparison.Compare(Pair, 0));
                    Run(client, "MULTI");
                    Run(client, command, script, "1", "k", "v");
                    Run(client, "EXEC");
                    Assert.Null(StatisticsComparison.Compare(Pair, 0));
                }
            }

            foreach (string library in Libraries) Run(client, "FUNCTION", "LOAD", library);
            foreach (string call in Calls) Run(client, ["FCALL", .. call.Split(' ')]);
            Assert.Null(StatisticsComparison.Compare(Pair, 0));
            Run(client, "FUNCTION", "FLUSH");
            Run(client, "AUTH", "default", "x");
        }

        Run(client, "ACL", "DELUSER", "restricted");
    }

    [Fact]
    public void Libraries_and_functions_have_the_same_replies()
    {
        PairedConnection client = Open();
        Run(client, "FUNCTION", "FLUSH");
        foreach (string library in Libraries) Run(client, "FUNCTION", "LOAD", library);
        foreach (string call in Calls)
        {
            Run(client, ["FCALL", .. call.Split(' ')]);
            Run(client, ["FCALL_RO", .. call.Split(' ')]);
        }

        foreach (string name in Flagged)
        {
            Run(client, "FUNCTION", "LIST", "LIBRARYNAME", name);
            foreach (string command in (string[])["FCALL", "FCALL_RO"])
            {
                Run(client, command, name, "0", "GET", "k");
                Run(client, command, name, "0", "SET", "k", "v");
                Run(client, command, name, "2", "k", "l", "MGET", "k", "l");
            }
        }

        Run(client, "FUNCTION", "LOAD", "REPLACE", Libraries[^3]);
        Run(client, "FUNCTION", "STATS");
        Run(client, "FUNCTION", "LIST", "LIBRARYNAME", "a", "WITHCODE");
        Run(client, "FUNCTION", "LIST", "nosuch");
        Run(client, "FUNCTION", "DELETE", "a");
        Run(client, "FUNCTION", "DELETE", "a");
        Run(client, "FUNCTION", "FLUSH", "x");
        Run(client, "FUNCTION", "FLUSH", "ASYNC");
        Run(client, "FUNCTION", "FLUSH", "SYNC", "x");
        Run(client, "FUNCTION", "KILL");
        Run(client, "FUNCTION", "RESTORE", "abc");
        Run(client, "FUNCTION", "RESTORE", "abc", "x");
        Run(client, "FUNCTION", "STATS");
    }

    // Functions that only read their parameters may be given the same tables again and again; what others keep or change stays theirs.
    [Fact]
    public void Parameters_belong_to_their_call()
    {
        const string Library = """
            #!lua name=parameters
            local kept = {{}, {}}
            redis.register_function('keep', function(keys, args)
              kept = {keys, args}
              args[3], keys.extra = 'own', 'own'
              return #args
            end)
            redis.register_function('kept', function(keys, args) return {kept[1][1] or 'none', kept[2][1] or 'none', kept[2][3] or 'none', kept[1].extra or 'none', #kept[2], #keys, #args} end)
            redis.register_function('read', function(keys, args) return {#keys, keys[1] or 'none', keys['extra'] or 'none', #args, args[1] or 'none', args[3] or 'none', args[#args] or 'none'} end)
            redis.register_function('closure', function(keys, args)
              kept = {keys, args}
              return (function() return args[1] end)()
            end)
            """;
        PairedConnection client = Open();
        Run(client, "FUNCTION", "FLUSH");
        Run(client, "FUNCTION", "LOAD", Library);
        string[] calls =
        [
            "read 0", "read 1 k v", "keep 1 a x y", "kept 0", "read 2 k l 1 2 3 4 5", "kept 1 k v", "read 0", "kept 0", "read 1 k 1 2", "closure 1 c 1 2 3", "read 1 k v", "kept 0",
            "read 3 a b c " + string.Join(' ', Enumerable.Range(0, 100)), "read 1 k v", "kept 2 a b c",
        ];
        foreach (string call in calls) Run(client, ["FCALL", .. call.Split(' ')]);
        Run(client, "FUNCTION", "FLUSH");
    }

    [Fact]
    public void Cached_scripts_have_the_same_replies()
    {
        PairedConnection client = Open();
        Run(client, "SCRIPT", "FLUSH");
        Run(client, "SCRIPT", "LOAD", "return 1");
        Run(client, "SCRIPT", "LOAD", "return (");
        Run(client, "SCRIPT", "EXISTS", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "x");
        Run(client, "EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0");
        Run(client, "EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "1", "k");
        Run(client, "EVALSHA", "x", "0");
        Run(client, "EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8da", "x");
        Run(client, "EVAL", "return 1", "x");
        Run(client, "EVAL", "return 1", "-1");
        Run(client, "EVAL", "return 1", "2", "a");
        Run(client, "SCRIPT", "FLUSH", "x");
        Run(client, "SCRIPT", "FLUSH", "SYNC");
        Run(client, "EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0");
        Run(client, "SCRIPT", "KILL");
        Run(client, "SCRIPT", "NOSUCH");
        Run(client, "SCRIPT", "DEBUG", "NO");
        Run(client, "SCRIPT", "DEBUG", "x");
        Run(client, "COMMAND", "GETKEYS", "EVAL", "x", "2", "a", "b", "c");
        Run(client, "COMMAND", "GETKEYS", "FCALL", "x", "1", "a", "b");
        Run(client, "COMMAND", "GETKEYSANDFLAGS", "EVALSHA_RO", "x", "1", "a", "b");
    }

    [Fact]
    public void Scripts_in_transactions_have_the_same_replies()
    {
        PairedConnection client = Open();
        Run(client, "MULTI");
        Run(client, "EVAL", "return redis.call('set','undeclared','x')", "0");
        Run(client, "GET", "undeclared");
        Run(client, "EVAL", "return redis.call('nosuch')", "0");
        Run(client, "EXEC");
        Run(client, "GET", "undeclared");
    }

    private static void Run(PairedConnection client, params string[] words) => client.Run(CommandLine.Format([.. words.Select(Encoding.Latin1.GetBytes)]));
}
