using RedKite.Net;

namespace RedKite.Server.Metrics;

/// <summary>
/// What one loop's connections hold in buffers, counted in the loop's look at its clients once a second: others then read
/// three numbers instead of walking over connections that are not theirs.
/// </summary>
internal sealed class BufferWatch
{
    private const int Passes = 8;

    private readonly long[] _input = new long[Passes];
    private readonly long[] _output = new long[Passes];
    private int _pass;
    private long _bytes;
    private long _outputBytes;

    /// <summary>Bytes of all buffers at the last look.</summary>
    internal long Bytes { get; private set; }

    /// <summary>Bytes that waited to be sent at the last look.</summary>
    internal long OutputBytes { get; private set; }

    /// <summary>The largest unfinished request of the last looks.</summary>
    internal long RecentInputBytesMax => _input.Max();

    /// <summary>The most that waited to be sent to one client in the last looks.</summary>
    internal long RecentOutputBytesMax => _output.Max();

    internal void Begin()
    {
        _pass = (_pass + 1) % Passes;
        _input[_pass] = _output[_pass] = _bytes = _outputBytes = 0;
    }

    internal void Note(Connection connection)
    {
        _bytes += connection.BufferBytes;
        _outputBytes += connection.OutputBytes;
        _input[_pass] = Math.Max(_input[_pass], connection.InputBytes);
        _output[_pass] = Math.Max(_output[_pass], connection.OutputBytes);
    }

    internal void End() => (Bytes, OutputBytes) = (_bytes, _outputBytes);
}
