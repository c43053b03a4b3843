using System.Diagnostics;
using RedKite.Figures.Types;

namespace RedKite.Figures.Durability;

/// <summary>Writes of random keys at a steady rate, in batches, and single reads at a steady rate whose latencies are kept. Each has a thread and a connection.</summary>
internal sealed class SteadyLoad : IDisposable
{
    private const int WritesPerBatch = 64;
    private const int ReadsPerSecond = 1000;
    private const int Seed = 11;

    private readonly CommandPipe _writes;
    private readonly CommandPipe _reads;
    private readonly List<double> _latenciesMs = [];
    private readonly Thread _writer;
    private readonly Thread _reader;
    private volatile bool _hasEnded;
    private long _written;
    private readonly long _start = Stopwatch.GetTimestamp();

    internal SteadyLoad(ServerUnderTest server, int keys, int valueBytes, int writesPerSecond)
    {
        _writes = new CommandPipe(server.Port);
        _reads = new CommandPipe(server.Port);
        byte[] value = new byte[valueBytes];
        value.AsSpan().Fill((byte)'v');
        _writer = Begin(() => Write(keys, value, writesPerSecond));
        _reader = Begin(() => Read(keys));
    }

    /// <summary>The latencies of reads, each from when it was due.</summary>
    internal sealed record Result(double P999Ms, double LongestMs, double WritesPerSecond);

    internal Result End()
    {
        double seconds = Stopwatch.GetElapsedTime(_start).TotalSeconds;
        long written = Volatile.Read(ref _written);
        Stop();
        _latenciesMs.Sort();
        return new Result(_latenciesMs[(int)(0.999 * _latenciesMs.Count)], _latenciesMs[^1], written / seconds);
    }

    public void Dispose()
    {
        Stop();
        _writes.Dispose();
        _reads.Dispose();
    }

    private static Thread Begin(Action run)
    {
        var thread = new Thread(() => run()) { IsBackground = true };
        thread.Start();
        return thread;
    }

    private void Stop()
    {
        _hasEnded = true;
        _writer.Join();
        _reader.Join();
    }

    private void Write(int keys, byte[] value, int perSecond)
    {
        var random = new Random(Seed);
        long start = Stopwatch.GetTimestamp();
        for (long batches = 0; !_hasEnded; batches++)
        {
            WaitUntil(start, batches * WritesPerBatch / (double)perSecond);
            for (int i = 0; i < WritesPerBatch; i++) _writes.Begin(3, "SET"u8).AddNumbered("memtier-"u8, random.Next(keys)).Add(value);
            _writes.Flush();
            Volatile.Write(ref _written, (batches + 1) * WritesPerBatch);
        }
    }

    private void Read(int keys)
    {
        var random = new Random(Seed + 1);
        long start = Stopwatch.GetTimestamp();
        for (long reads = 0; !_hasEnded; reads++)
        {
            double due = reads / (double)ReadsPerSecond;
            // A read that the one before it has delayed counts from when it was due. Otherwise it counts from when it is sent: that this thread woke up late is not the server's fault.
            bool isLate = Stopwatch.GetElapsedTime(start).TotalSeconds > due;
            WaitUntil(start, due);
            double begins = isLate ? due : Stopwatch.GetElapsedTime(start).TotalSeconds;
            _reads.Begin(2, "GET"u8).AddNumbered("memtier-"u8, random.Next(keys));
            _reads.Flush();
            _latenciesMs.Add(1000 * (Stopwatch.GetElapsedTime(start).TotalSeconds - begins));
        }
    }

    private static void WaitUntil(long start, double seconds)
    {
        double rest = seconds - Stopwatch.GetElapsedTime(start).TotalSeconds;
        if (rest > 0) Thread.Sleep(TimeSpan.FromSeconds(rest));
    }
}
