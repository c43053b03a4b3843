using RedKite.Net;

namespace RedKite.Server.Metrics;

/// <summary>
/// The buffers of one loop's connections, summed by the loop once a second and without those that were closed since, so that other
/// threads read a few numbers and leave its connections alone.
/// </summary>
internal sealed class BufferWatch
{
    private const int Passes = 8;

    private readonly long[] _input = new long[Passes];
    private readonly long[] _output = new long[Passes];
    private int _pass;
    private long _bytes;
    private long _outputBytes;

    /// <summary>Bytes of all buffers as of the last pass, without those of connections that have closed since.</summary>
    internal long Bytes { get; private set; }

    /// <summary>Bytes waiting to be sent, as of the last pass.</summary>
    internal long OutputBytes { get; private set; }

    /// <summary>The largest incomplete request in the last passes.</summary>
    internal long RecentInputBytesMax => Largest(_input);

    /// <summary>The largest output that waited for one client in the last passes.</summary>
    internal long RecentOutputBytesMax => Largest(_output);

    internal void Begin()
    {
        _pass = (_pass + 1) % Passes;
        _input[_pass] = _output[_pass] = _bytes = _outputBytes = 0;
    }

    /// <summary>Adds a connection.</summary>
    /// <returns>The bytes of its buffers, which <see cref="NoteReleased"/> gets when it closes.</returns>
    internal long Note(Connection connection)
    {
        long bytes = connection.BufferBytes;
        _bytes += bytes;
        _outputBytes += connection.OutputBytes;
        _input[_pass] = Math.Max(_input[_pass], connection.InputBytes);
        _output[_pass] = Math.Max(_output[_pass], connection.OutputBytes);
        return bytes;
    }

    internal void NoteReleased(long bytes) => Bytes -= bytes;

    internal void End() => (Bytes, OutputBytes) = (_bytes, _outputBytes);

    // Not LINQ's, of which the JIT compiles vectors of every width before the first client is served.
    private static long Largest(long[] values)
    {
        long largest = 0;
        foreach (long value in values) largest = Math.Max(largest, value);
        return largest;
    }
}
