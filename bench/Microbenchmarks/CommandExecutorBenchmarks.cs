using System.Buffers;
using BenchmarkDotNet.Attributes;

namespace RedKite.Microbenchmarks;

/// <summary>Whole commands in process, from the request's bytes to the reply's: parse, look up, lock, execute, reply, count.</summary>
public class CommandExecutorBenchmarks
{
    private const int Pipeline = 64;

    private readonly ArrayBufferWriter<byte> _replies = new(256 * 1024);
    private RedKiteServer _server = null!;
    private RedKiteSession _client = null!;
    private byte[] _get = [];
    private byte[] _getPipeline = [];
    private byte[] _miss = [];
    private byte[] _set = [];
    private byte[] _wrongType = [];
    private byte[] _unknown = [];

    [GlobalSetup]
    public void Setup()
    {
        _server = RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } }).GetAwaiter().GetResult();
        _client = _server.CreateSession();
        _get = Request("GET", "key:00000000001");
        _getPipeline = [.. Enumerable.Repeat(_get, Pipeline).SelectMany(bytes => bytes)];
        _miss = Request("GET", "missing");
        _set = Request("SET", "key:00000000001", new string('v', 256));
        _wrongType = Request("INCR", "key:00000000001");
        _unknown = Request("GTE", "key:00000000001");
        Set();
    }

    [GlobalCleanup]
    public void Cleanup() => _server.StopAsync().GetAwaiter().GetResult();

    [Benchmark(Baseline = true)]
    public int GetHit() => Execute(_get);

    [Benchmark(OperationsPerInvoke = Pipeline)]
    public int GetHitPipelined() => Execute(_getPipeline);

    [Benchmark]
    public int GetMiss() => Execute(_miss);

    [Benchmark]
    public int Set() => Execute(_set);

    [Benchmark]
    public int IncrOfText() => Execute(_wrongType);

    [Benchmark]
    public int UnknownCommand() => Execute(_unknown);

    private int Execute(byte[] request)
    {
        _replies.ResetWrittenCount();
        return _client.Execute(request, _replies);
    }

    private static byte[] Request(params string[] arguments) => System.Text.Encoding.ASCII.GetBytes(
        $"*{arguments.Length}\r\n" + string.Concat(arguments.Select(argument => $"${argument.Length}\r\n{argument}\r\n")));
}
