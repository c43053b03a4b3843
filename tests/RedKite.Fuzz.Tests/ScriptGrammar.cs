using System.Text;

namespace RedKite.Fuzz.Tests;

/// <summary>Random Lua texts: valid ones that use what scripts have, damaged ones, and noise. None runs for long.</summary>
internal static class ScriptGrammar
{
    private static readonly string[] Atoms =
    [
        "nil", "true", "false", "0", "-1", "1e308", "0/0", "1/0", "2^53", "'a'", "'\\0\\255'", "''", "{}", "{1, 2, 3}", "{ok = 'x'}", "{err = 'E x'}", "{double = 1.5}", "{map = {a = 1}}", "{set = {a = true}}", "{big_number = '1'}",
        "KEYS", "ARGV", "KEYS[1]", "ARGV[1]", "_G", "redis", "string", "cjson.null", "redis.REDIS_VERSION", "x", "select('#', x)", "function() return x end", "(function(...) return ... end)(1, 2)", "setmetatable({}, {__index = function() return 1 end})",
        "string.rep('a', 70000)", "coroutine.create(function() end)", "getmetatable('')", "newproxy", "debug", "os.clock()",
    ];

    private static readonly string[] Calls =
    [
        "redis.call", "redis.pcall", "redis.error_reply", "redis.status_reply", "redis.sha1hex", "redis.log", "redis.setresp", "redis.acl_check_cmd", "redis.set_repl", "redis.replicate_commands", "redis.breakpoint", "redis.debug", "redis.register_function",
        "cjson.encode", "cjson.decode", "cjson.encode_max_depth", "cjson.decode_max_depth", "cjson.encode_sparse_array", "cjson.encode_number_precision", "cmsgpack.pack", "cmsgpack.unpack", "cmsgpack.unpack_one", "cmsgpack.unpack_limit",
        "struct.pack", "struct.unpack", "struct.size", "bit.band", "bit.tohex", "bit.lshift", "bit.tobit", "string.format", "string.sub", "string.byte", "string.char", "string.gsub", "string.find", "string.gmatch", "string.rep", "string.dump",
        "table.concat", "table.sort", "table.insert", "table.remove", "table.getn", "table.maxn", "unpack", "pcall", "xpcall", "error", "assert", "tostring", "tonumber", "type", "next", "pairs", "ipairs", "rawget", "rawset", "rawequal", "setmetatable",
        "getmetatable", "setfenv", "getfenv", "loadstring", "load", "select", "math.floor", "math.random", "math.randomseed", "math.max", "math.fmod", "coroutine.wrap", "coroutine.resume", "coroutine.yield", "collectgarbage", "gcinfo",
    ];

    private static readonly string[] Texts =
    [
        "'>I4 <d s z'", "'%d %s %5.3f %q'", "'%99d'", "'(a*(.)%w%1)'", "'[[:^a-z]%b()%f[%a]'", "'{\"a\":[1,null,{}]}'", "'[[[[[[1]]]]]]'", "'\\x93\\1\\2\\3'", "'\\xdd\\xff\\xff\\xff\\xff'", "'GET'", "'SET'", "'LPUSH'", "'EVAL'", "'return 1'", "'('", "'!4i16'", "'%1000s'",
    ];

    private static readonly string[] Commands = ["'GET', 'k'", "'SET', 'k', 'v'", "'HGETALL', 'h'", "'INCR', KEYS[1]", "'ZRANGE', 'z', '0', '-1', 'WITHSCORES'", "'PUBLISH', 'c', 'x'", "'NOSUCH'", "'XADD', 's', '*', 'a', ARGV[1]", "'SELECT', '3'", "'DEL', unpack(KEYS)", "x", "'BLPOP', 'l', '0'", "'FLUSHALL'"];

    private static readonly string[] Damages = ["end", "(", ")", "{", "]]", "--[[", "[==[", "\"", "'", "\\", "..", "...", "function", "local", "goto x", "::x::", "\0", "\xff", "\x1bLua", "#!lua", "\n", "//", "~=", "0x", "1e", "%", "<const>"];

    /// <summary>A script for EVAL.</summary>
    internal static byte[] Script(Random random)
    {
        string head = random.Next(6) switch { 0 => "#!lua\n", 1 => "#!lua flags=no-writes,allow-oom\n", 2 when random.Next(4) == 0 => "#!lua flags=" + Pick(Damages, random) + "\n", _ => "" };
        return Damaged(head + Block(random, depth: 3) + " return " + Expression(random, 3), random);
    }

    /// <summary>A library for FUNCTION LOAD.</summary>
    internal static byte[] Library(Random random)
    {
        var text = new StringBuilder($"#!lua name=lib{random.Next(5)}\n");
        if (random.Next(4) == 0) text.Append(Block(random, 2)).Append('\n');
        for (int functions = random.Next(1, 4); functions > 0; functions--)
        {
            string function = $"function(KEYS, ARGV) {Block(random, 2)} return {Expression(random, 2)} end";
            text.Append(random.Next(2) == 0
                ? $"redis.register_function('f{random.Next(8)}', {function})\n"
                : $"redis.register_function{{function_name = 'f{random.Next(8)}', callback = {function}, flags = {{'{Pick(["no-writes", "allow-oom", "allow-stale", "zz"], random)}'}}}}\n");
        }

        return Damaged(text.ToString(), random);
    }

    // Loops are short and recursion ends by itself: a script that never ends is another test's.
    private static string Block(Random random, int depth)
    {
        var text = new StringBuilder("local x = " + Expression(random, depth));
        for (int statements = random.Next(4); statements > 0; statements--)
        {
            text.Append(' ').Append(random.Next(8) switch
            {
                0 => $"for i = 1, {random.Next(20)} do x = {Expression(random, depth - 1)} end",
                1 => $"for k, v in pairs({{{Expression(random, depth - 1)}}}) do x = v end",
                2 => $"if {Expression(random, depth - 1)} then x = {Expression(random, depth - 1)} end",
                3 => $"local function f(n) if n > {random.Next(300)} then return n end return f(n + 1) end x = f(0)",
                4 => $"pcall(function() x = {Expression(random, depth - 1)} end)",
                5 => $"y = {Expression(random, depth - 1)}",
                6 => $"local t = {{}} t[{Expression(random, 1)} or 1] = {Expression(random, 1)} x = t",
                _ => $"x = {Expression(random, depth - 1)}",
            });
        }

        return text.ToString();
    }

    private static string Expression(Random random, int depth)
    {
        if (depth <= 0) return random.Next(3) == 0 ? Pick(Texts, random) : Pick(Atoms, random);
        return random.Next(9) switch
        {
            0 => $"{Pick(["redis.call", "redis.pcall"], random)}({Pick(Commands, random)})",
            < 4 => $"{Pick(Calls, random)}({string.Join(", ", Enumerable.Range(0, random.Next(4)).Select(_ => Expression(random, depth - 1)))})",
            4 => $"({Expression(random, depth - 1)}) {Pick(["+", "-", "*", "/", "%", "^", "..", "==", "<", "and", "or"], random)} ({Expression(random, depth - 1)})",
            5 => $"select(2, pcall({Pick(Calls, random)}, {Expression(random, depth - 1)}, {Expression(random, depth - 1)}))",
            6 => $"{{{Expression(random, depth - 1)}, a = {Expression(random, depth - 1)}}}",
            7 => $"#({Expression(random, depth - 1)})",
            _ => Expression(random, 0),
        };
    }

    private static byte[] Damaged(string text, Random random)
    {
        if (random.Next(40) == 0) return StreamMutation.RandomBytes(random);
        for (int damages = random.Next(3) == 0 ? random.Next(1, 4) : 0; damages > 0; damages--)
        {
            int at = random.Next(text.Length);
            text = random.Next(3) switch
            {
                0 => text.Insert(at, Pick(Damages, random)),
                1 => text.Remove(at, Math.Min(text.Length - at, random.Next(1, 10))),
                _ => text[..at] + (char)random.Next(256) + text[(at + 1)..],
            };
            if (text.Length == 0) text = " ";
        }

        return Encoding.Latin1.GetBytes(text);
    }

    private static T Pick<T>(T[] choices, Random random) => choices[random.Next(choices.Length)];
}
