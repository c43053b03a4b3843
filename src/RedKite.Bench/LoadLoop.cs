using System.Text;
using RedKite.Net;
using RedKite.Net.Interop;
using RedKite.Protocol;

namespace RedKite.Bench;

/// <summary>
/// One thread's load: an event loop and its clients. Without pacing, a client sends a batch of the pipeline's length, and the
/// next batch after all replies have arrived: one send, one receive and one clock reading per batch. With pacing, each client
/// has its own times at which requests are due, and sends due requests as far as the pipeline allows.
/// </summary>
internal sealed class LoadLoop : IConnectionHandler
{
    private const int IdleTickMs = 100;

    // A rate-limited client that fell behind may catch up this far; without it, every late timer would lower the rate.
    private const long CatchUpNsMax = 10_000_000;

    // A batch of large values is sent in parts rather than buffered completely.
    private const int SendBytesMax = 1 << 20;

    private const int ErrorCharactersMax = 200;

    private readonly BenchOptions _options;
    private readonly RequestWriter _writer;
    private readonly RandomSource _arrivals;
    private readonly byte[] _greeting;
    private readonly int _greetingReplies;
    private readonly PriorityQueue<LoadClient, long> _due = new();
    private readonly double _intervalNs; // between the requests of one client, if paced
    private readonly LoadEvents _events;
    private long _deadlineNs = long.MaxValue;
    private long _timerNs = long.MaxValue;
    private int _greeted;
    private int _finishedClients;
    private bool _hasBegun;

    internal LoadLoop(BenchOptions options, RequestMix mix, LoadClient[] clients, int index, ulong seed, LoadEvents events)
    {
        _options = options;
        _events = events;
        Clients = clients;
        Rows = [.. mix.Rows.Select(name => new CommandStatistics(name, options.IsOpenLoop))];
        _arrivals = new RandomSource(~seed + (ulong)index);
        _writer = new RequestWriter(options, new RandomSource(seed ^ ((ulong)(index + 1) << 50)));
        (_greeting, _greetingReplies) = ServerGreeting.For(options);
        if (options.IsPaced)
        {
            double rate = options.IsOpenLoop ? options.TargetRate / options.Connections : options.RateLimit;
            _intervalNs = LoadClock.NsPerSecond / rate;
        }

        Loop = new EventLoop($"bench-{index}", useSockets: options.Transport == "sockets") { Crashed = failure => events.Fail(failure.ToString()) };
        Loop.Serve(this);
    }

    internal EventLoop Loop { get; }

    internal LoadClient[] Clients { get; }

    internal CommandStatistics[] Rows { get; }

    /// <summary>The text of the first error reply.</summary>
    internal string? FirstError { get; private set; }

    /// <summary>Requests of an open loop that were due but not sent before the end.</summary>
    internal long Unsent { get; private set; }

    /// <summary>The time of the last reply.</summary>
    internal long LastReplyNs { get; private set; }

    /// <summary>Starts the load. Called on the loop's thread once it is ready.</summary>
    internal void Begin(long startNs, long deadlineNs)
    {
        _deadlineNs = Math.Min(_deadlineNs, deadlineNs); // the run may already be interrupted
        _hasBegun = true;
        foreach (LoadClient client in Clients)
        {
            client.SendAt(startNs + (long)FirstDelayNs(client));
            SendMore(client, LoadClock.NowNs());
        }
    }

    /// <summary>Stops sending; outstanding replies are still awaited. Called on the loop's thread.</summary>
    internal void EndEarly()
    {
        _deadlineNs = Math.Min(_deadlineNs, LoadClock.NowNs());
        FinishIdle();
    }

    public void Opened(Connection connection)
    {
        var client = (LoadClient)connection.State!;
        client.Open(connection);
        Greet(client);
    }

    /// <summary>Called when a client is connected, with or without encryption.</summary>
    internal void Greet(LoadClient client)
    {
        client.Greet(_greeting, _greetingReplies);
        if (_greetingReplies == 0) Greeted();
    }

    public int Received(Connection connection, Span<byte> input) => Receive((LoadClient)connection.State!, input);

    public long BytesExpected(Connection connection) => 0;

    public void OnOutputBuffered(Connection connection)
    {
        // The transport sends the rest when the server accepts it; latency counts from before.
    }

    public void OnOutputDrained(Connection connection)
    {
        // It is never requested.
    }

    public void Deliver(Connection connection, SharedBuffer buffer, int start, int length) => connection.Queue(buffer, start, length);

    public void Closed(Connection connection) => Disconnected((LoadClient)connection.State!);

    internal void Disconnected(LoadClient client)
    {
        if (!client.HasFinished) _events.Fail("the server closed a connection");
    }

    public int Tick()
    {
        _timerNs = long.MaxValue;
        if (!_hasBegun) return IdleTickMs;
        long now = LoadClock.NowNs();
        if (now >= _deadlineNs) FinishIdle();
        while (_due.TryPeek(out LoadClient? client, out long due) && due <= now)
        {
            _due.Dequeue();
            client.IsQueued = false;
            SendMore(client, now);
        }

        SetTimer(now);
        return IdleTickMs;
    }

    /// <returns>The number of consumed bytes.</returns>
    internal int Receive(LoadClient client, ReadOnlySpan<byte> input)
    {
        int at = 0, start = 0;
        long now = LoadClock.NowNs();
        while (client.Replies.TrySkip(input, ref at, out ReplyClass kind))
        {
            ReadOnlySpan<byte> reply = input[start..at];
            long bytes = reply.Length + client.PartialReplyBytes;
            client.PartialReplyBytes = 0;
            start = at;
            if (kind == ReplyClass.Push) continue;
            if (client.GreetingRepliesLeft > 0)
            {
                if (!CheckGreeting(client, kind, reply)) return input.Length;
                continue;
            }

            if (kind == ReplyClass.Malformed || client.PendingCount == 0)
            {
                _events.Fail("the server sent an invalid or unexpected reply");
                return input.Length;
            }

            ref readonly PendingRequest request = ref client.TakePending();
            CommandStatistics row = Rows[request.Row];
            row.Record(request.IntendedNs, request.SentNs, now);
            row.CountReceived(bytes);
            if (kind == ReplyClass.Error) CountError(row, reply);
            else if (request.CountsHits) row.CountLookup(found: kind != ReplyClass.Null);
        }

        client.PartialReplyBytes += at - start;
        if (!_hasBegun) return at;
        LastReplyNs = now;
        if (client.PendingCount == 0 || _options.IsPaced) SendMore(client, now);
        return at;
    }

    private void SendMore(LoadClient client, long now)
    {
        if (client.HasFinished) return;
        if (now >= _deadlineNs) EndSending(client);
        if (_options.IsPaced) SendDue(client, now);
        else SendBatch(client, now);
        if (client.Left == 0 && client.PendingCount == 0) Finish(client);
    }

    private void SendBatch(LoadClient client, long now)
    {
        for (long left = Math.Min(_options.Pipeline, client.Left); left > 0; left--) Append(client, now, now);
        Flush(client);
    }

    private void SendDue(LoadClient client, long now)
    {
        while (client.Left > 0 && client.PendingCount < _options.Pipeline && client.DueNs <= now)
        {
            Append(client, _options.IsOpenLoop ? client.DueNs : now, now);
            long next = client.DueNs + (long)NextDelayNs();
            client.SendAt(_options.IsOpenLoop ? next : Math.Max(next, now - CatchUpNsMax));
        }

        Flush(client);
        if (client.IsQueued || client.Left == 0 || client.PendingCount == _options.Pipeline) return;
        client.IsQueued = true;
        _due.Enqueue(client, client.DueNs);
        SetTimer(now);
    }

    private void Append(LoadClient client, long intendedNs, long sentNs)
    {
        MixedRequest request = client.NextRequest(out KeySequence keys);
        Rows[request.Row].CountSent(_writer.Append(request.Template, keys));
        client.AddPending(intendedNs, sentNs, request);
        if (_writer.Bytes.Length >= SendBytesMax) Flush(client);
    }

    private void Flush(LoadClient client)
    {
        client.Send(_writer.Bytes);
        _writer.Clear();
    }

    // The timer fires for the client that is due first; it is only moved forward here, because Tick clears it.
    private void SetTimer(long now)
    {
        if (!_due.TryPeek(out _, out long due)) return;
        due = Math.Min(due, Math.Max(now, _deadlineNs));
        if (due >= _timerNs) return;
        _timerNs = due;
        Loop.TickAfter(Math.Min((due - now) / 1000, IdleTickMs * 1000));
    }

    private double NextDelayNs() => _options.PoissonArrival ? -Math.Log(_arrivals.Fraction()) * _intervalNs : _intervalNs;

    // Evenly: the clients' first requests are spread over one interval. At random: the first gap is random like the others.
    private double FirstDelayNs(LoadClient client)
    {
        if (!_options.IsPaced) return 0;
        return _options.PoissonArrival ? NextDelayNs() : _intervalNs * client.Index / _options.Connections;
    }

    private bool CheckGreeting(LoadClient client, ReplyClass kind, ReadOnlySpan<byte> reply)
    {
        if (kind is ReplyClass.Error or ReplyClass.Malformed)
        {
            _events.Fail($"the server refused the connection: {Text(reply)}");
            return false;
        }

        if (client.TakeGreeting()) Greeted();
        return true;
    }

    private void Greeted()
    {
        if (++_greeted == Clients.Length) _events.Ready();
    }

    private void CountError(CommandStatistics row, ReadOnlySpan<byte> reply)
    {
        row.CountError();
        FirstError ??= Text(reply);
    }

    private static string Text(ReadOnlySpan<byte> reply)
    {
        string text = Encoding.UTF8.GetString(reply).TrimStart('-').TrimEnd();
        return text.Length > ErrorCharactersMax ? text[..ErrorCharactersMax] : text;
    }

    // At the end of the time: clients that only wait for their next request.
    private void FinishIdle()
    {
        foreach (LoadClient client in Clients)
        {
            EndSending(client);
            if (client.PendingCount == 0) Finish(client);
        }
    }

    // An open loop counts the requests that were due before the end.
    private void EndSending(LoadClient client)
    {
        if (_options.IsOpenLoop && client.Left > 0 && client.DueNs < _deadlineNs)
        {
            Unsent += Math.Min(client.Left, 1 + (long)((_deadlineNs - 1 - client.DueNs) / _intervalNs));
        }

        client.StopSending();
    }

    private void Finish(LoadClient client)
    {
        if (client.HasFinished) return;
        client.Finish();
        if (++_finishedClients == Clients.Length) _events.Finished();
    }
}

/// <summary>What a loop reports. On its thread.</summary>
/// <param name="Ready">Every connection is ready for requests.</param>
/// <param name="Finished">Every client has received its last reply.</param>
/// <param name="Fail">Ends the run with a one-line error message.</param>
internal readonly record struct LoadEvents(Action Ready, Action Finished, Action<string> Fail);
