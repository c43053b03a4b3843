using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography;
using RedKite.Net;

namespace RedKite.Bench;

/// <summary>One run from the first connection to the last reply: starts the loops, waits, sums up.</summary>
internal sealed class BenchRun : IDisposable
{
    // The time limit for greeting all connections, and for outstanding replies at the end of the run.
    private const int PatienceMs = 30_000;
    private const ulong FixedSeed = 0x5EED;

    private readonly BenchOptions _options;
    private readonly RequestMix _mix;
    private readonly LoadLoop[] _loops;
    private readonly CountdownEvent _ready;
    private readonly CountdownEvent _running;
    private readonly TaskCompletionSource<string> _failure = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _allReady = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _allFinished = new(TaskCreationOptions.RunContinuationsAsynchronously);

    internal BenchRun(BenchOptions options)
    {
        _options = options;
        _mix = new RequestMix(options);
        _ready = new CountdownEvent(options.Threads);
        _running = new CountdownEvent(options.Threads);
        ulong seed = options.Randomize ? BitConverter.ToUInt64(RandomNumberGenerator.GetBytes(sizeof(ulong))) : FixedSeed;
        var events = new LoadEvents(Ready, Finished, failure => _failure.TrySetResult(failure));
        _loops = [.. Enumerable.Range(0, options.Threads).Select(index => new LoadLoop(options, _mix, Clients(index, seed), index, seed, events))];
    }

    /// <summary>Replies so far. Callable from any thread.</summary>
    internal long Replies => _loops.Sum(loop => loop.Rows.Sum(row => row.Count));

    /// <summary>Progress from 0 to 1. Callable from any thread.</summary>
    internal double Progress(TimeSpan elapsed) => Math.Min(1, _options.TestTime > 0
        ? elapsed.TotalSeconds / _options.TestTime
        : (double)Replies / ((double)_options.RequestsPerClient * _options.Connections));

    /// <summary>Runs the load and waits for its end.</summary>
    /// <param name="progress">Called each second with the time since the start.</param>
    /// <exception cref="BenchException">The server cannot be reached, refuses, or disconnects.</exception>
    internal BenchResult Execute(Action<TimeSpan> progress)
    {
        Connect();
        Wait(_allReady.Task, PatienceMs, "the server does not answer");

        DateTimeOffset started = DateTimeOffset.UtcNow;
        long startNs = LoadClock.NowNs();
        long deadlineNs = _options.TestTime > 0 ? startNs + (_options.TestTime * LoadClock.NsPerSecond) : long.MaxValue;
        foreach (LoadLoop loop in _loops) loop.Loop.Post(() => loop.Begin(startNs, deadlineNs));

        var elapsed = Stopwatch.StartNew();
        long timeoutMs = _options.TestTime > 0 ? (_options.TestTime * 1000L) + PatienceMs : long.MaxValue;
        while (Task.WaitAny([_allFinished.Task, _failure.Task], millisecondsTimeout: 1000) < 0)
        {
            if (elapsed.ElapsedMilliseconds > timeoutMs) throw Failed("the server does not answer");
            progress(elapsed.Elapsed);
        }

        Wait(_allFinished.Task, PatienceMs, "the server does not answer");
        Stop();

        double seconds = (_loops.Max(loop => loop.LastReplyNs) - startNs) / (double)LoadClock.NsPerSecond;
        CommandStatistics[] rows = [.. _mix.Rows.Select(name => new CommandStatistics(name, _options.IsOpenLoop))];
        foreach (LoadLoop loop in _loops)
        {
            for (int i = 0; i < rows.Length; i++) loop.Rows[i].AddTo(rows[i]);
        }

        return new BenchResult(rows, started, seconds, _options.IsOpenLoop)
        {
            Unsent = _loops.Sum(loop => loop.Unsent),
            FirstError = _loops.Select(loop => loop.FirstError).FirstOrDefault(error => error is not null),
            HasSetsAndGets = _mix.HasSetsAndGets,
        };
    }

    /// <summary>Ends the run early; its result covers the time so far. Callable from any thread.</summary>
    internal void EndEarly()
    {
        foreach (LoadLoop loop in _loops) loop.Loop.Post(loop.EndEarly);
    }

    public void Dispose()
    {
        Stop();
        foreach (LoadLoop loop in _loops) loop.Loop.Dispose();
        _ready.Dispose();
        _running.Dispose();
    }

    private LoadClient[] Clients(int loop, ulong seed) =>
    [
        .. Enumerable.Range(loop * _options.Clients, _options.Clients)
            .Select(index => new LoadClient(_options, _mix, index, _options.DistinctClientSeed ? seed + ((ulong)index << 20) : seed)),
    ];

    private void Connect()
    {
        try
        {
            EndPoint server = FindServer();
            foreach (LoadLoop loop in _loops)
            {
                loop.Loop.Start();
                foreach (LoadClient client in loop.Clients)
                {
                    if (!_options.Tls)
                    {
                        loop.Loop.Connect(server, client);
                        continue;
                    }

                    TlsLink link = TlsLink.Connect(server, _options);
                    client.Open(link);
                    loop.Loop.Post(() =>
                    {
                        loop.Greet(client);
                        _ = link.ReceiveAsync(loop, client);
                    });
                }
            }
        }
        catch (Exception failure) when (failure is SocketException or AuthenticationException or IOException or CryptographicException)
        {
            throw Failed($"cannot connect to {_options.UnixSocket ?? $"{_options.Server}:{_options.Port}"}: {SocketFailure.ReasonOf(failure)}");
        }
    }

    private EndPoint FindServer()
    {
        if (_options.UnixSocket is { } path) return new UnixDomainSocketEndPoint(path);
        if (IPAddress.TryParse(_options.Server, out IPAddress? given)) return new IPEndPoint(given, _options.Port);
        IPAddress[] found = Dns.GetHostAddresses(_options.Server);
        IPAddress address = Array.Find(found, candidate => candidate.AddressFamily == AddressFamily.InterNetwork) ?? found[0];
        return new IPEndPoint(address, _options.Port);
    }

    private void Wait(Task task, int timeoutMs, string otherwise)
    {
        int first = Task.WaitAny([_failure.Task, task], timeoutMs);
        if (first < 0) throw Failed(otherwise);
        if (first == 0) throw Failed(_failure.Task.Result);
    }

    private void Ready()
    {
        if (_ready.Signal()) _allReady.SetResult();
    }

    private void Finished()
    {
        if (_running.Signal()) _allFinished.SetResult();
    }

    private void Stop()
    {
        foreach (LoadLoop loop in _loops)
        {
            loop.Loop.Stop();
            foreach (LoadClient client in loop.Clients) client.Tls?.Dispose();
        }
    }

    private static BenchException Failed(string reason) => new($"redkite bench: {reason}", BenchException.RunFailed);
}
