using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>Random commands that write, of every type, with transactions, scripts, functions and expiries, sent to a primary.</summary>
/// <param name="seed">The seed of all choices.</param>
/// <param name="run">Executes a command on the primary.</param>
internal sealed class RandomWrites(int seed, Action<string[]> run)
{
    private readonly Random _random = new(seed);

    internal RandomWrites(int seed, Oracle primary)
        : this(seed, words => primary.Run(words))
    {
    }

    internal RandomWrites(int seed, RespConnection primary)
        : this(seed, words => primary.Run([.. words.Select(Encoding.Latin1.GetBytes)]))
    {
    }

    internal void Run(int commands)
    {
        for (int i = 0; i < commands; i++) RunOne();
    }

    private void RunOne()
    {
        switch (_random.Next(12))
        {
            case 0:
                run(["MULTI"]);
                for (int i = _random.Next(1, 6); i > 0; i--) run(Simple());
                run(["EXEC"]);
                break;
            case 1:
                run(["EVAL", "for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1]) redis.call('INCR', 'counter') end", "2", Key("s"), Key("s"), Number()]);
                break;
            case 2:
                run(["FCALL", "f", "2", "counter", Key("s")]);
                break;
            case 3:
                run(["SELECT", _random.Next(2) == 0 ? "0" : "3"]);
                break;
            default:
                run(Simple());
                break;
        }
    }

    private string[] Simple() => _random.Next(40) switch
    {
        0 => ["SET", Key("s"), Text()],
        1 => ["SET", Key("s"), Text(), "PX", _random.Next(1, 50).ToString(CultureInfo.InvariantCulture)],
        2 => ["SET", Key("s"), Number(), "EX", "1000"],
        3 => ["APPEND", Key("s"), Text()],
        4 => ["INCRBYFLOAT", Key("n"), "0.5"],
        5 => ["SETRANGE", Key("s"), Number(), "abc"],
        6 => ["GETDEL", Key("s")],
        7 => ["SETBIT", Key("b"), Number(), "1"],
        8 => ["BITFIELD", Key("b"), "INCRBY", "u8", Number(), "3"],
        9 => ["PFADD", Key("p"), Number(), Number()],
        10 => ["PFMERGE", Key("p"), Key("p"), Key("p")],
        11 => ["LPUSH", Key("l"), Text(), Text()],
        12 => ["RPUSH", Key("l"), Number(), Text()],
        13 => ["LPOP", Key("l"), "2"],
        14 => ["LINSERT", Key("l"), "BEFORE", Number(), "x"],
        15 => ["LMOVE", Key("l"), Key("l"), "LEFT", "RIGHT"],
        16 => ["LTRIM", Key("l"), "0", "50"],
        17 => ["SADD", Key("t"), Number(), Text()],
        18 => ["SPOP", Key("t")],
        19 => ["SMOVE", Key("t"), Key("t"), Number()],
        20 => ["SUNIONSTORE", Key("t"), Key("t"), Key("t")],
        21 => ["HSET", Key("h"), Number(), Text(), Number(), Number()],
        22 => ["HINCRBYFLOAT", Key("hn"), Number(), "1.25"],
        23 => ["HDEL", Key("h"), Number(), Number()],
        24 => ["HPEXPIRE", Key("h"), _random.Next(1, 60).ToString(CultureInfo.InvariantCulture), "FIELDS", "1", Number()],
        25 => ["HEXPIRE", Key("h"), "1000", "FIELDS", "1", Number()],
        26 => ["HPERSIST", Key("h"), "FIELDS", "1", Number()],
        27 => ["ZADD", Key("z"), Number(), Text(), Number(), Number()],
        28 => ["ZINCRBY", Key("z"), "1.5", Number()],
        29 => ["ZPOPMIN", Key("z"), "2"],
        30 => ["ZUNIONSTORE", Key("z"), "2", Key("z"), Key("z")],
        31 => ["GEOADD", Key("g"), "13.361389", "38.115556", Number()],
        32 => ["XADD", Key("x"), "MAXLEN", "~", "100", "*", Number(), Text()],
        33 => ["XGROUP", "CREATE", Key("x"), "g", "0", "MKSTREAM"],
        34 => ["XREADGROUP", "GROUP", "g", Number(), "COUNT", "2", "STREAMS", Key("x"), ">"],
        35 => ["XTRIM", Key("x"), "MAXLEN", "20"],
        36 => ["PEXPIRE", Key("lthsxz"[_random.Next(6)].ToString()), _random.Next(1, 60).ToString(CultureInfo.InvariantCulture)],
        37 => ["COPY", Key("h"), Key("h"), "REPLACE"],
        38 => ["RENAME", Key("z"), Key("z")],
        _ => ["DEL", Key("lthsxz"[_random.Next(6)].ToString())],
    };

    private string Key(string type) => type + _random.Next(8).ToString(CultureInfo.InvariantCulture);

    private string Number() => _random.Next(200).ToString(CultureInfo.InvariantCulture);

    private string Text() => new((char)('a' + _random.Next(26)), _random.Next(10) == 0 ? _random.Next(5000) : _random.Next(30));
}
