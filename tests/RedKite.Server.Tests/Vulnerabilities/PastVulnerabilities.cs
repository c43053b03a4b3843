namespace RedKite.Server.Tests.Vulnerabilities;

/// <summary>A published vulnerability of Redis and what triggered it.</summary>
/// <param name="Names">The CVE numbers.</param>
/// <param name="Lines">Requests as redis-cli has them, each with the start of its reply behind the arrow: `-` for an error, `:` for a number, `$` for text.</param>
internal sealed record PastVulnerability(string Names, params string[] Lines)
{
    /// <summary>The user that sends them; null: the default one.</summary>
    internal string? Rules { get; init; }
}

/// <summary>
/// The published vulnerabilities of Redis since 2015 that commands can reach, with requests of the published shape. What does not
/// concern a server like this is named with the reason.
/// </summary>
internal static class PastVulnerabilities
{
    internal const string Arrow = " -> ";

    private static readonly string Long = new('a', 1 << 20);
    private static readonly string Stars = string.Concat(Enumerable.Repeat("a*", 100_000));
    private static readonly string Equals70000 = new('=', 70_000);
    private static readonly string ManyIds = string.Join(' ', Enumerable.Range(1, 3000).Select(i => $"{i}-1"));
    private static readonly string ManyKeys = string.Join(' ', Enumerable.Range(0, 1000).Select(i => $"key:{i} v"));

    // A sparse HyperLogLog whose runs of zeros add up to more than 32 bits.
    private static readonly string OverflowingSparse = "\"HYLL\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80" + string.Concat(Enumerable.Repeat("\\x7f\\xff", 140_000)) + "\\x80\"";

    internal static PastVulnerability[] Rows { get; } =
    [
        // Scripts
        new("CVE-2015-4335", "EVAL \"return loadstring(string.char(27) .. 'Lua')()\" 0 -> -ERR", "EVAL \"return string.dump(function() end)\" 0 -> -ERR", "EVAL \"\\x1bLua\" 0 -> -ERR"),
        new("CVE-2015-8080, CVE-2020-14147", "EVAL \"return struct.pack('>I2147483648', '10')\" 0 -> -ERR", "EVAL \"return struct.unpack('>I2147483648', '10')\" 0 -> -ERR", "EVAL \"return struct.size('i99999999999999999999')\" 0 -> -ERR"),
        new("CVE-2018-11218", "EVAL \"local t = {} for i = 1, 7000 do t[i] = i end return #cmsgpack.pack(unpack(t))\" 0 -> :", "EVAL \"local t = {} for i = 1, 100000 do t = {t} end return #cmsgpack.pack(t)\" 0 -> ", "EVAL \"return cmsgpack.unpack(string.rep('\\x91', 100000))\" 0 -> -ERR"),
        new("CVE-2018-11219", "EVAL \"return struct.unpack('c2147483647', 'x')\" 0 -> -ERR", "EVAL \"return struct.unpack('s', 'x', 2147483647)\" 0 -> -ERR", "EVAL \"return struct.unpack('I4', 'xxxx', 4294967295)\" 0 -> -ERR", "EVAL \"return struct.unpack('c0', 'x')\" 0 -> -ERR"),
        new("CVE-2021-32626", "EVAL \"local function f(...) local x = f(1, ...) return x end return f()\" 0 -> -ERR", "EVAL \"local t = {} for i = 1, 200000 do t = {t} end return t\" 0 -> ", "EVAL \"local t = {} for i = 1, 20000 do t = {t} end return cjson.encode(t)\" 0 -> -ERR", "EVAL \"return redis.call(unpack({'echo'}, 1, 1000000))\" 0 -> -ERR"),
        new("CVE-2021-32672", "SCRIPT DEBUG YES -> -ERR RedKite has no debugger for scripts", "SCRIPT DEBUG SYNC -> -ERR", "EVAL \"return 1\" 0 -> :1"),
        new("CVE-2022-0543", "EVAL \"return package.loadlib('/usr/lib/x86_64-linux-gnu/liblua5.1.so.0', 'luaopen_io')\" 0 -> -ERR", "EVAL \"return require('io')\" 0 -> -ERR", "EVAL \"return io.popen('id')\" 0 -> -ERR"),
        new(
            "CVE-2022-24735, CVE-2025-46818",
            "EVAL \"getmetatable('').__index = function() redis.call('set', 'kept', 'stolen') end\" 0 -> -ERR",
            "EVAL \"getmetatable('').__add = function() end\" 0 -> -ERR",
            "EVAL \"local m = getmetatable(0) or getmetatable(nil) or getmetatable(true) or getmetatable(tostring) if m then m.__index = 1 end return 'none'\" 0 -> $none",
            "EVAL \"string.upper = nil\" 0 -> -ERR",
            "EVAL \"redis.call = nil\" 0 -> -ERR",
            "EVAL \"setmetatable(_G, {})\" 0 -> -ERR",
            "EVAL \"return ('x'):upper()\" 0 -> $X"),
        new("CVE-2022-24736", "EVAL \"\" 0 -> $(null)", "EVAL \"#!\" 0 -> -ERR", "EVAL \"#!lua\" 0 -> -ERR", "EVAL \"#!lua \\x00\\n\" 0 -> -ERR", "EVAL \"return function\" 0 -> -ERR", "EVAL \"return 'a\" 0 -> -ERR", "SCRIPT LOAD \"\\x00\" -> -ERR", "FUNCTION LOAD \"#!lua name=\" -> -ERR"),
        new("CVE-2022-24834", "EVAL \"return #cjson.encode(string.rep(string.char(0), 3000000))\" 0 -> :18000002", "EVAL \"return #cmsgpack.pack(string.rep('a', 3000000))\" 0 -> :3000005"),
        new("CVE-2024-31449", "EVAL \"return bit.tohex(65535, -2147483648)\" 0 -> $0000FFFF", "EVAL \"return bit.tohex(65535, 2147483647)\" 0 -> $0000ffff", "EVAL \"return bit.tohex(65535, -4)\" 0 -> $FFFF"),
        new(
            "CVE-2024-46981, CVE-2025-49844",
            "EVAL \"for i = 1, 3000 do loadstring('local a = ' .. i .. ' return function() return a, {' .. string.rep('a,', 50) .. '} end')() if i % 100 == 0 then collectgarbage() end end return 1\" 0 -> :1",
            "EVAL \"local t = setmetatable({}, {__mode = 'k', __gc = function() redis.call('del', 'kept') end}) t = nil collectgarbage() collectgarbage() return 1\" 0 -> :1",
            "SCRIPT FLUSH SYNC -> +OK",
            "EVAL \"return 1\" 0 -> :1"),
        new("CVE-2025-46817", "EVAL \"return {unpack({1, 2, 3}, -2, 2147483647)}\" 0 -> -ERR", "EVAL \"return {unpack({0}, 2147483647, 2147483648)}\" 0 -> ", "EVAL \"return {unpack({}, -9223372036854775808, 9223372036854775807)}\" 0 -> *[]", "EVAL \"return table.concat({'a'}, 'b', 1, 2147483647)\" 0 -> -ERR", "EVAL \"return string.rep('a', 2147483648)\" 0 -> -ERR", "EVAL \"return ('a'):rep(1e18)\" 0 -> -ERR"),
        new("CVE-2025-46819", "EVAL \"return [=\" 0 -> -ERR", $"EVAL \"return [{Equals70000}\" 0 -> -ERR", $"EVAL \"return [{Equals70000}[a]{Equals70000}]\" 0 -> $a", "EVAL \"--[==[\" 0 -> -ERR", "EVAL \"return [==[a\" 0 -> -ERR"),

        // Sizes and counts
        new("CVE-2016-8339", "CONFIG SET client-output-buffer-limit \"master 3735928559 3405691582 373529054\" -> -ERR", "CONFIG SET client-output-buffer-limit \"nope 1 2 3\" -> -ERR"),
        new(
            "CVE-2021-21309, CVE-2021-41099, CVE-2022-35977",
            "SETRANGE k 9223372036854775807 x -> -ERR",
            "SETRANGE k 9223372036854775806 xx -> -ERR",
            "SETRANGE k 536870912 x -> -ERR",
            "APPEND k x -> :1",
            "CONFIG SET proto-max-bulk-len 9223372036854775807 -> +OK",
            "SETRANGE k 9223372036854775807 x -> -",
            "SETRANGE k 4611686018427387904 x -> -",
            "CONFIG SET proto-max-bulk-len 512mb -> +OK",
            "RPUSH l 3 1 2 -> :3",
            "SORT l LIMIT 1 9223372036854775807 -> *[$2 $3]",
            "SORT l LIMIT 9223372036854775807 9223372036854775807 -> *[]",
            "SORT_RO l LIMIT -9223372036854775808 9223372036854775807 -> *[",
            "SORT l LIMIT 2 -9223372036854775808 -> *["),
        new("CVE-2021-29477, CVE-2021-32625", "SETRANGE a 299999 x -> :300000", "SETRANGE b 299999 y -> :300000", "LCS a b LEN -> -ERR", "LCS a b IDX MINMATCHLEN 9223372036854775807 -> -ERR", "SET c ohmytext -> +OK", "SET d mynewtext -> +OK", "LCS c d -> $mytext"),
        new("CVE-2021-29478, CVE-2021-32687", "CONFIG SET set-max-intset-entries 9223372036854775807 -> +OK", "SADD s 1 2 3 9223372036854775807 -> :4", "SUNIONSTORE t s s -> :4", "COPY s u -> :1", "SISMEMBER u 9223372036854775807 -> :1", "SADD s 4294967296 -> :1", "SCARD s -> :5"),
        new(
            "CVE-2021-32627, CVE-2021-32628",
            "CONFIG SET proto-max-bulk-len 9223372036854775807 client-query-buffer-limit 9223372036854775807 -> +OK",
            "CONFIG SET stream-node-max-bytes 9223372036854775807 stream-node-max-entries 9223372036854775807 -> +OK",
            "CONFIG SET hash-max-listpack-entries 9223372036854775807 hash-max-listpack-value 9223372036854775807 -> +OK",
            "CONFIG SET zset-max-listpack-entries 9223372036854775807 zset-max-listpack-value 9223372036854775807 -> +OK",
            "CONFIG SET list-max-listpack-size 2147483647 -> +OK",
            $"XADD s * f {Long} -> $",
            $"XADD s * f {Long} -> $",
            $"HSET h f {Long} g {Long} -> :2",
            $"ZADD z 1 {Long} -> :1",
            $"RPUSH l {Long} {Long} -> :2",
            "HSTRLEN h g -> :1048576",
            "XLEN s -> :2"),
        new("CVE-2021-32761", "SETBIT k 4294967296 1 -> -ERR", "GETBIT k 9223372036854775807 -> -ERR", "BITFIELD k GET u63 18446744073709551615 -> -ERR", "BITFIELD k INCRBY i64 #4611686018427387904 1 -> -ERR", "SET b x -> +OK", "BITPOS b 1 9223372036854775807 -> :-1", "BITCOUNT b -9223372036854775808 9223372036854775807 -> :4", "GETRANGE b -9223372036854775808 9223372036854775807 -> $x"),
        new(
            "CVE-2023-22458, CVE-2023-25155",
            "HSET h a 1 b 2 -> :2",
            "HRANDFIELD h -9223372036854775808 -> -ERR",
            "HRANDFIELD h -9223372036854775808 WITHVALUES -> -ERR",
            "HRANDFIELD h 9223372036854775807 WITHVALUES -> -ERR",
            "ZADD z 1 a 2 b -> :2",
            "ZRANDMEMBER z -9223372036854775808 WITHSCORES -> -ERR",
            "ZRANDMEMBER z -4611686018427387905 WITHSCORES -> -ERR",
            "SADD s a b -> :2",
            "SRANDMEMBER s -9223372036854775808 -> -ERR",
            "SRANDMEMBER s 9223372036854775807 -> *["),
        new("CVE-2023-28425", "MSETNX a 1 a 2 -> :1", "GET a -> $2", "MSETNX b 1 a 2 b 3 -> :0"),
        new("CVE-2023-28856", "HINCRBYFLOAT h f nan -> -ERR", "HINCRBYFLOAT h f inf -> -ERR", "HINCRBYFLOAT h f 1e17000 -> -ERR", "EXISTS h -> :0", "HSET h f 1e308 -> :1", "HINCRBYFLOAT h f 1.7e308 -> ", "HGETALL h -> *[$f "),
        new(
            "CVE-2018-12453",
            "SET s x -> +OK",
            "XGROUP CREATE s g 0 -> -WRONGTYPE",
            "XGROUP CREATE s g $ MKSTREAM -> -WRONGTYPE",
            "XGROUP SETID s g 0 -> -WRONGTYPE",
            "XGROUP DESTROY s g -> -WRONGTYPE",
            "XGROUP DELCONSUMER s g c -> -WRONGTYPE",
            "XREADGROUP GROUP g c STREAMS s > -> -"),
        new(
            "CVE-2022-31144, CVE-2022-35951",
            "XADD s 1-1 f v -> $1-1",
            "XADD s 2-1 f v -> $2-1",
            "XADD s 3-1 f v -> $3-1",
            "XGROUP CREATE s g 0 -> +OK",
            "XREADGROUP GROUP g c STREAMS s > -> *[",
            "XDEL s 1-1 3-1 -> :2",
            "XAUTOCLAIM s g d 0 0 COUNT 4611686018427387904 -> -ERR",
            "XAUTOCLAIM s g d 0 0 COUNT 9223372036854775807 -> -ERR",
            "XAUTOCLAIM s g d 0 0 COUNT 1 -> *[",
            "XAUTOCLAIM s g d 0 0 -> *[",
            "XPENDING s g -> *[:1 "),
        new(
            "CVE-2019-10192, CVE-2019-10193, CVE-2025-32023",
            "PFADD h a b c -> :1",
            "SETRANGE h 15 \"\\x80\\xff\\xff\\xff\\xff\\xff\\xff\\xff\" -> :",
            "PFCOUNT h -> -",
            "PFADD h d -> -",
            "PFMERGE d h -> -",
            "SET h \"HYLL\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\" -> +OK",
            "PFCOUNT h -> -",
            $"SET h {OverflowingSparse} -> +OK",
            "PFCOUNT h -> -",
            "PFADD h a -> -",
            "PFADD e x y z -> :1",
            "PFMERGE e h -> -",
            "PFCOUNT e h -> -",
            "PFCOUNT e -> :3"),

        // Patterns
        new("CVE-2022-36021", "SET aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1 -> +OK", "KEYS a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b -> *[]", "SCAN 0 MATCH a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b COUNT 100 -> *["),
        new(
            "CVE-2024-31228",
            $"KEYS {Stars}b -> *[]",
            $"SCAN 0 MATCH {Stars} COUNT 1000 -> *[",
            $"COMMAND LIST FILTERBY PATTERN {Stars} -> *[]",
            $"FUNCTION LIST LIBRARYNAME {Stars} -> *[]",
            $"CONFIG GET {Stars} -> *[]",
            $"PUBSUB CHANNELS {Stars} -> *[]",
            $"ACL SETUSER u on nopass +@all ~{Stars} &{Stars} -> +OK",
            "ACL DRYRUN u GET aaaa -> $"),

        // Users
        new("CVE-2023-36824", "COMMAND GETKEYS EVAL \"return 1\" 2147483647 a b -> ", "COMMAND GETKEYS ZUNIONSTORE d 2147483647 a -> -ERR", "COMMAND GETKEYSANDFLAGS ZUNION 4294967297 a -> -ERR", $"COMMAND GETKEYS MSET {ManyKeys} -> *[$key:0 ", $"MSET {ManyKeys} -> +OK", $"MSET {ManyKeys} other v -> -NOPERM") { Rules = "+@all ~key:* ~kept" },
        new("CVE-2023-41053", "SORT_RO mine BY secret* -> -ERR BY option of SORT denied due to insufficient ACL permissions.", "SORT_RO mine BY nosort GET secret* -> -ERR GET option of SORT denied", "SORT mine GET secret* -> -", "SORT_RO mine GET # -> -", "SORT_RO mine -> *[]") { Rules = "+@all %R~mine ~kept" },
        new("CVE-2024-31227, CVE-2024-51741", "ACL SETUSER u %~ -> -ERR Error in ACL SETUSER modifier '%~': Syntax error", "ACL SETUSER u % -> -ERR", "ACL SETUSER u (%~) -> -ERR", "ACL SETUSER u (%R) -> +OK", "ACL SETUSER u \"(~a\" -> -ERR", "ACL SETUSER u %RW~a (%W~b) on -> +OK", "ACL LIST -> *[", "ACL GETUSER u -> *[", "ACL DRYRUN u GET a -> $"),

        // Commands of newer versions
        new("CVE-2025-62507", "XADD s 1-1 f v -> $", "XGROUP CREATE s g 0 -> +OK", $"XACKDEL s g IDS 3000 {ManyIds} -> *[", "XACKDEL s g IDS 9223372036854775807 1-1 -> -ERR", "XACKDEL s g IDS 4294967297 1-1 -> -ERR"),
    ];

    /// <summary>Those whose trigger is not a command: tests of their own, below or elsewhere.</summary>
    internal static string[] OfConnections { get; } = ["CVE-2016-10517", "CVE-2021-31294", "CVE-2021-32675", "CVE-2023-41056", "CVE-2023-45145", "CVE-2025-21605", "CVE-2025-48367"];

    /// <summary>Those of programs or parts that RedKite does not have.</summary>
    internal static string[] OfOthers { get; } = ["CVE-2017-15047", "CVE-2018-12326", "CVE-2021-3470", "CVE-2021-32762", "CVE-2025-27151"];
}
