using System.Text;
using RedKite.Server.Changes;
using RedKite.Store.Memory;

namespace RedKite.Server.Tests.Changes;

/// <summary>The pieces in which a command's bytes are kept until they are published.</summary>
public sealed class EffectWriterTests
{
    private readonly EffectWriter _writer = new();

    public EffectWriterTests() => _writer.Reset(recording: true);

    [Fact]
    public void Short_arguments_are_one_piece()
    {
        _writer.Begin(3, 2, "DEL"u8).Argument("key"u8);
        var record = new EffectRecord(_writer, null, []);
        Assert.Equal("*2\r\n$3\r\nDEL\r\n$3\r\nkey\r\n", TextOf(record, 0));
        Assert.Equal(1, _writer.PiecesOf(0).Length);
        Assert.Equal((1, 3, 22L, 22L, false), (record.Count, record[0].Database, record[0].Bytes, record.Bytes, record.IsFramed));
    }

    [Fact]
    public void Long_argument_of_the_request_is_referenced()
    {
        byte[] request = [.. "SETk"u8, .. Enumerable.Repeat((byte)'v', 1_000_000)];
        long before = GC.GetAllocatedBytesForCurrentThread();
        new EffectArguments(_writer.Begin(0, 3, "SET"u8), request).Argument(request.AsSpan(3, 1)).Argument(request.AsSpan(4));
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 10_000);
        var record = new EffectRecord(_writer, null, request);
        Assert.Equal($"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n{new string('v', 1_000_000)}\r\n", TextOf(record, 0));
        Assert.Null(_writer.PiecesOf(0)[1].Owner);
    }

    [Fact]
    public void Unit_copies_what_its_command_does_not_keep()
    {
        using var records = new NativeRecords();
        Span<byte> request = records.Add(10_000);
        request.Fill((byte)'v');
        var unit = new EffectWriter();
        unit.Reset(recording: true);
        foreach (bool isKept in new[] { false, true })
        {
            _writer.Reset(recording: true);
            new EffectArguments(_writer.Begin(0, 2, "ECHO"u8), request).Argument(request);
            _writer.Begin(1, 1, "PING"u8);
            unit.Append(_writer, request, isKept ? new NativeSpan(request) : default);
        }

        request.Fill((byte)'w');
        var record = new EffectRecord(unit, null, []);
        Assert.Equal($"*2\r\n$4\r\nECHO\r\n$10000\r\n{new string('v', 10_000)}\r\n", TextOf(record, 0));
        Assert.Equal("*1\r\n$4\r\nPING\r\n", TextOf(record, 1));
        Assert.Equal($"*2\r\n$4\r\nECHO\r\n$10000\r\n{new string('w', 10_000)}\r\n", TextOf(record, 2)); // the caller kept it, and this test did not
        Assert.Equal((4, true, 1), (record.Count, record.IsFramed, record[3].Database));
    }

    [Fact]
    public void Unit_keeps_long_values_that_a_command_wrote()
    {
        byte[] value = [.. Enumerable.Repeat((byte)'v', 200_000)];
        var unit = new EffectWriter();
        unit.Reset(recording: true);
        _writer.Begin(0, 2, "ECHO"u8).Argument(value);
        unit.Append(_writer, [], default);
        _writer.Reset(recording: true);
        _writer.Begin(0, 2, "ECHO"u8).Argument(value.AsSpan(1));
        unit.Append(_writer, [], default);
        _writer.Reset(recording: true);
        var record = new EffectRecord(unit, null, []);
        Assert.Equal($"*2\r\n$4\r\nECHO\r\n$200000\r\n{new string('v', 200_000)}\r\n", TextOf(record, 0));
        Assert.Equal($"*2\r\n$4\r\nECHO\r\n$199999\r\n{new string('v', 199_999)}\r\n", TextOf(record, 1));
    }

    [Fact]
    public void Record_may_be_longer_than_2_GiB()
    {
        byte[] value = new byte[64 * 1024 * 1024];
        EffectArguments arguments = new(_writer.Begin(0, 51, "SADD"u8), value);
        for (int i = 0; i < 50; i++) arguments.Argument(value);
        var record = new EffectRecord(_writer, null, value);
        Assert.InRange(record.Bytes, 50L * value.Length, (50L * value.Length) + 2000);
        long bytes = 0;
        foreach (ReadOnlySpan<byte> part in record[0]) bytes += part.Length;
        Assert.Equal(record.Bytes, bytes);
    }

    [Fact]
    public void Chunks_of_a_long_record_are_dropped_after_it()
    {
        byte[] value = new byte[10_000_000];
        WeakReference chunk = Write();
        _writer.Reset(recording: true);
        GC.Collect();
        Assert.False(chunk.IsAlive);

        WeakReference Write()
        {
            _writer.Begin(0, 2, "ECHO"u8).Argument(value);
            _writer.End();
            return new WeakReference(_writer.PiecesOf(0)[^1].Owner);
        }
    }

    [Fact]
    public void Recording_allocates_nothing_in_the_steady_state()
    {
        Write();
        Write();
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 1000; i++) Write();
        Assert.Equal(before, GC.GetAllocatedBytesForCurrentThread());

        void Write()
        {
            _writer.Reset(recording: true);
            _writer.Begin(0, 3, "SET"u8).Argument("key"u8).Argument(1_000_000);
            _writer.Begin(0, 3, "SET"u8).Argument("key"u8).Argument(1_000_000);
            _writer.End();
        }
    }

    private static string TextOf(in EffectRecord record, int index)
    {
        var text = new StringBuilder();
        foreach (ReadOnlySpan<byte> part in record[index]) text.Append(Encoding.Latin1.GetString(part));
        return text.ToString();
    }
}
