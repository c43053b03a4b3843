using BenchmarkDotNet.Attributes;
using RedKite.Protocol;

namespace RedKite.Microbenchmarks;

/// <summary>Parsing and formatting integers and floating-point numbers; the error path is text that is no number.</summary>
public class RespNumberBenchmarks
{
    private readonly byte[] _text = new byte[RespDouble.TextMax];
    private readonly byte[] _short = "42"u8.ToArray();
    private readonly byte[] _long = "-9223372036854775808"u8.ToArray();
    private readonly byte[] _notANumber = "12345678x"u8.ToArray();
    private readonly byte[] _tooLarge = "9223372036854775808"u8.ToArray();

    [Benchmark(Baseline = true)]
    public long ParseShort() => RespNumber.TryParseInt64(_short, out long value) ? value : -1;

    [Benchmark]
    public long ParseLong() => RespNumber.TryParseInt64(_long, out long value) ? value : -1;

    [Benchmark]
    public bool ParseNotANumber() => RespNumber.TryParseInt64(_notANumber, out _);

    [Benchmark]
    public bool ParseTooLarge() => RespNumber.TryParseInt64(_tooLarge, out _);

    [Benchmark]
    public int FormatShort() => RespNumber.Format(42, _text);

    [Benchmark]
    public int FormatLong() => RespNumber.Format(long.MinValue, _text);

    [Benchmark]
    public int FormatDouble() => RespDouble.Format(3.14159, _text);

    [Benchmark]
    public int FormatInfinity() => RespDouble.Format(double.PositiveInfinity, _text);
}
