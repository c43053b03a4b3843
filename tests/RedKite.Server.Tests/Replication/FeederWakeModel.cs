using RedKite.Server.Replication;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Replication;

/// <summary>Faults of a feeder's wake-up, each of which the checker must find.</summary>
public enum FeederFault
{
    None,

    /// <summary>Who appends looks at the feeder's flag before its record is visible.</summary>
    NoFenceBehindRecord,

    /// <summary>The loop looks at the stream before others see that it must be woken.</summary>
    NoFenceBeforeLook,

    /// <summary>The loop looks at the stream, and then says that it must be woken.</summary>
    LooksBeforeFlag,
}

/// <summary>
/// The atomic operations of <see cref="ReplicaService.Appended"/>, <see cref="ReplicaFeeder.Wake"/> and <see cref="ReplicaFeeder.Feed"/> on a machine with store buffers, as in
/// the model of a stripe's lock: threads that append, and the loop that sends what it sees.
/// </summary>
internal sealed class FeederWakeModel : ThreadModel
{
    private const int Awake = 0; // and behind it a word for each thread that appends: its records

    private readonly FeederFault _fault;
    private readonly int _appenders;
    private readonly Queue<(int Word, int Value)>[] _buffers; // the loop's is the last one
    private readonly int[] _memory;
    private readonly int[] _appended;
    private readonly int[] _sent;
    private int _posts = 1;
    private int _appending;

    internal FeederWakeModel(Schedule schedule, FeederFault fault, int appenders, int records)
        : base(schedule)
    {
        _fault = fault;
        _appenders = _appending = appenders;
        _buffers = [.. Enumerable.Range(0, appenders + 1).Select(static _ => new Queue<(int, int)>())];
        _memory = new int[appenders + 1];
        _memory[Awake] = 1;
        _appended = new int[appenders];
        _sent = new int[appenders];
        for (int i = 0; i < appenders; i++) Threads.Add(Append(i, records).GetEnumerator());
        Threads.Add(Feed(appenders).GetEnumerator());
        for (int i = 0; i <= appenders; i++) Background.Add(StoresBecomeVisible(_buffers[i]).GetEnumerator());
    }

    internal override void CheckEnd() => Check(_sent.SequenceEqual(_appended), "A record is not sent, and the loop sleeps.");

    private IEnumerable<Step> Append(int me, int records)
    {
        for (int record = 1; record <= records; record++)
        {
            yield return Now;
            _appended[me] = record;
            _buffers[me].Enqueue((me + 1, record));
            yield return When(() => _fault == FeederFault.NoFenceBehindRecord || _buffers[me].Count == 0);
            if (_memory[Awake] != 0) continue;
            yield return When(() => _buffers[me].Count == 0);
            int before = _memory[Awake];
            _memory[Awake] = 1;
            yield return Now;
            if (before == 0) _posts++;
        }

        _appending--;
    }

    private IEnumerable<Step> Feed(int me)
    {
        while (true)
        {
            // The loop sleeps until it is woken, and ends when nothing wakes it any more.
            yield return When(() => _posts > 0 || _appending == 0);
            if (_posts == 0) break;
            _posts = 0;
            yield return Now;
            if (_fault == FeederFault.LooksBeforeFlag)
            {
                Look();
                yield return Now;
            }

            _buffers[me].Enqueue((Awake, 0));
            yield return When(() => _fault == FeederFault.NoFenceBeforeLook || _buffers[me].Count == 0);
            if (_fault != FeederFault.LooksBeforeFlag) Look();
        }

        void Look()
        {
            for (int i = 0; i < _appenders; i++) _sent[i] = _memory[i + 1];
        }
    }

    private static IEnumerable<Step> StoresBecomeVisible(Queue<(int Word, int Value)> buffer, int[] memory)
    {
        while (true)
        {
            yield return When(() => buffer.Count > 0);
            (int word, int value) = buffer.Dequeue();
            memory[word] = value;
        }
    }

    private IEnumerable<Step> StoresBecomeVisible(Queue<(int Word, int Value)> buffer) => StoresBecomeVisible(buffer, _memory);
}
