using BenchmarkDotNet.Attributes;
using RedKite.Protocol;

namespace RedKite.Microbenchmarks;

/// <summary>Typical requests: complete, incomplete, and malformed.</summary>
public class RequestParserBenchmarks
{
    private readonly RequestParser _parser = new();
    private readonly RequestLimits _limits = new(512 * 1024 * 1024, true);
    private readonly byte[] _get = "*2\r\n$3\r\nGET\r\n$15\r\nkey:00000000001\r\n"u8.ToArray();
    private readonly byte[] _set = "*5\r\n$3\r\nSET\r\n$15\r\nkey:00000000001\r\n$5\r\nvalue\r\n$2\r\nEX\r\n$3\r\n100\r\n"u8.ToArray();
    private readonly byte[] _inline = "GET key:00000000001\r\n"u8.ToArray();
    private readonly byte[] _cut = "*2\r\n$3\r\nGET\r\n$15\r\nkey:0000"u8.ToArray();
    private readonly byte[] _malformed = "*2\r\n$3\r\nGET\r\n#15\r\nkey:00000000001\r\n"u8.ToArray();

    [Benchmark(Baseline = true)]
    public int Get() => (int)Parse(_get);

    [Benchmark]
    public int SetWithExpiry() => (int)Parse(_set);

    [Benchmark]
    public int Inline() => (int)Parse(_inline);

    [Benchmark]
    public int CutOff() => (int)Parse(_cut);

    [Benchmark]
    public int Malformed() => (int)Parse(_malformed);

    private ParseStatus Parse(byte[] input)
    {
        _parser.Clear();
        int position = 0;
        PartialRequest? partial = null;
        return _parser.Parse(input, ref position, _limits, ref partial, out _, out _);
    }
}
