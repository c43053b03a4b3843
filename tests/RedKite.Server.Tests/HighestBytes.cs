namespace RedKite.Server.Tests;

/// <summary>Reads a number all the time, on a thread of its own, and keeps the highest.</summary>
internal sealed class HighestBytes : IDisposable
{
    private readonly Thread _thread;
    private readonly ManualResetEventSlim _hasBegun = new();
    private volatile bool _ended;
    private long _highest;

    internal HighestBytes(Func<long> read)
    {
        _thread = new Thread(() =>
        {
            while (!_ended)
            {
                _highest = Math.Max(_highest, read());
                _hasBegun.Set();
            }
        });
        _thread.Start();
        _hasBegun.Wait();
    }

    internal long End()
    {
        _ended = true;
        _thread.Join();
        return _highest;
    }

    public void Dispose()
    {
        End();
        _hasBegun.Dispose();
    }
}
