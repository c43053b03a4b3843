using BenchmarkDotNet.Attributes;
using RedKite.Protocol;

namespace RedKite.Microbenchmarks;

/// <summary>Replies of each common type, and errors with literal and with formatted text.</summary>
public class ReplyWriterBenchmarks
{
    private readonly ReplyWriter _writer = new();
    private readonly byte[] _value = new byte[256];
    private readonly byte[] _largeValue = new byte[4 * 1024 * 1024];

    [Benchmark(Baseline = true)]
    public long Ok()
    {
        _writer.Clear();
        _writer.Ok();
        return _writer.Length;
    }

    [Benchmark]
    public long Bulk256Bytes()
    {
        _writer.Clear();
        _writer.Bulk(_value);
        return _writer.Length;
    }

    [Benchmark]
    public long LargeBulk4MiB()
    {
        _writer.Clear();
        _writer.Bulk(_largeValue);
        return _writer.Length;
    }

    [Benchmark]
    public long Null()
    {
        _writer.Clear();
        _writer.Null();
        return _writer.Length;
    }

    [Benchmark]
    public long Integer()
    {
        _writer.Clear();
        _writer.Integer(1234567);
        return _writer.Length;
    }

    [Benchmark]
    public long Double()
    {
        _writer.Clear();
        _writer.Double(3.14159);
        return _writer.Length;
    }

    [Benchmark]
    public long LiteralError()
    {
        _writer.Clear();
        _writer.Error("ERR value is not an integer or out of range"u8);
        return _writer.Length;
    }

    [Benchmark]
    public long ComposedError()
    {
        _writer.Clear();
        _writer.Error($"ERR unknown subcommand '{_writer.Length}'. Try CLIENT HELP.");
        return _writer.Length;
    }
}
