using BenchmarkDotNet.Attributes;
using RedKite.Protocol;

namespace RedKite.Microbenchmarks;

/// <summary>Replies of each common type, and errors with literal and with formatted text.</summary>
public class ReplyWriterBenchmarks
{
    private readonly ReplyWriter _writer = new();
    private readonly byte[] _value = new byte[256];

    [Benchmark(Baseline = true)]
    public int Ok()
    {
        _writer.Clear();
        _writer.Ok();
        return _writer.Length;
    }

    [Benchmark]
    public int Bulk256Bytes()
    {
        _writer.Clear();
        _writer.Bulk(_value);
        return _writer.Length;
    }

    [Benchmark]
    public int Null()
    {
        _writer.Clear();
        _writer.Null();
        return _writer.Length;
    }

    [Benchmark]
    public int Integer()
    {
        _writer.Clear();
        _writer.Integer(1234567);
        return _writer.Length;
    }

    [Benchmark]
    public int Double()
    {
        _writer.Clear();
        _writer.Double(3.14159);
        return _writer.Length;
    }

    [Benchmark]
    public int LiteralError()
    {
        _writer.Clear();
        _writer.Error("ERR value is not an integer or out of range"u8);
        return _writer.Length;
    }

    [Benchmark]
    public int ComposedError()
    {
        _writer.Clear();
        _writer.Error($"ERR unknown subcommand '{_writer.Length}'. Try CLIENT HELP.");
        return _writer.Length;
    }
}
