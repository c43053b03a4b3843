using BenchmarkDotNet.Attributes;
using RedKite.Store.Values.Packed;

namespace RedKite.Microbenchmarks;

/// <summary>Parsing and formatting canonical integers; the error paths are text that resembles one or does not.</summary>
public class CanonicalIntegerBenchmarks
{
    private readonly byte[] _text = new byte[CanonicalInteger.TextBytesMax];
    private readonly byte[] _short = "42"u8.ToArray();
    private readonly byte[] _long = "-9223372036854775808"u8.ToArray();
    private readonly byte[] _member = "member:0001234"u8.ToArray();
    private readonly byte[] _leadingZero = "0042"u8.ToArray();
    private readonly byte[] _notOnlyDigits = "12345678x"u8.ToArray();
    private readonly byte[] _tooLarge = "9223372036854775808"u8.ToArray();

    [Benchmark(Baseline = true)]
    public long ParseShort() => CanonicalInteger.TryParse(_short, out long value) ? value : -1;

    [Benchmark]
    public long ParseLong() => CanonicalInteger.TryParse(_long, out long value) ? value : -1;

    [Benchmark]
    public bool ParseText() => CanonicalInteger.TryParse(_member, out _);

    [Benchmark]
    public bool ParseLeadingZero() => CanonicalInteger.TryParse(_leadingZero, out _);

    [Benchmark]
    public bool ParseNotOnlyDigits() => CanonicalInteger.TryParse(_notOnlyDigits, out _);

    [Benchmark]
    public bool ParseTooLarge() => CanonicalInteger.TryParse(_tooLarge, out _);

    [Benchmark]
    public int FormatShort() => CanonicalInteger.Format(42, _text);

    [Benchmark]
    public int FormatLong() => CanonicalInteger.Format(long.MinValue, _text);
}
