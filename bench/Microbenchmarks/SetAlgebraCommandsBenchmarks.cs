using System.Buffers;
using System.Globalization;
using BenchmarkDotNet.Attributes;

namespace RedKite.Microbenchmarks;

/// <summary>Commands over two half-overlapping sets of a thousand members in each encoding; the error path is a refused one.</summary>
public class SetAlgebraCommandsBenchmarks
{
    private readonly ArrayBufferWriter<byte> _replies = new(256 * 1024);
    private RedKiteServer _server = null!;
    private RedKiteSession _client = null!;

    /// <summary>Members per set: integers stay packed up to 512, other members up to 128.</summary>
    [Params(100, 1_000)]
    public int Members { get; set; }

    [Params(true, false)]
    public bool Integers { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _server = RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } }).GetAwaiter().GetResult();
        _client = _server.CreateSession();
        for (int i = 0; i < Members; i++)
        {
            _client.Execute("SADD", "first", Member(i));
            _client.Execute("SADD", "second", Member(i + (Members / 2)));
        }

        _client.Execute("SET", "text", "value");
    }

    [GlobalCleanup]
    public void Cleanup() => _server.StopAsync().GetAwaiter().GetResult();

    [Benchmark(Baseline = true)]
    public int Inter() => Execute(_inter);

    [Benchmark]
    public int InterCard() => Execute(_interCard);

    [Benchmark]
    public int Union() => Execute(_union);

    [Benchmark]
    public int Difference() => Execute(_difference);

    [Benchmark]
    public int InterStore() => Execute(_interStore);

    [Benchmark]
    public int WrongType() => Execute(_wrongType);

    private readonly byte[] _inter = Request("SINTER", "first", "second");
    private readonly byte[] _interCard = Request("SINTERCARD", "2", "first", "second");
    private readonly byte[] _union = Request("SUNION", "first", "second");
    private readonly byte[] _difference = Request("SDIFF", "first", "second");
    private readonly byte[] _interStore = Request("SINTERSTORE", "result", "first", "second");
    private readonly byte[] _wrongType = Request("SINTER", "first", "text");

    private string Member(int index) => Integers ? index.ToString(CultureInfo.InvariantCulture) : $"member:{index}";

    private int Execute(byte[] request)
    {
        _replies.ResetWrittenCount();
        return _client.Execute(request, _replies);
    }

    private static byte[] Request(params string[] arguments) => System.Text.Encoding.ASCII.GetBytes(
        $"*{arguments.Length}\r\n" + string.Concat(arguments.Select(argument => $"${argument.Length}\r\n{argument}\r\n")));
}
