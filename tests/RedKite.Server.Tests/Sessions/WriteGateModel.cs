using RedKite.Server.Durability;
using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Sessions;

/// <summary>
/// The real gate between two executors that change what a real snapshot has not written, its walk, another holder that looks again and again, and clients that wait. Before each
/// change of the gate any other thread may get on. In the end nothing holds the gate, it is open, its flag is down, and who waited was told.
/// </summary>
internal sealed class WriteGateModel : ThreadModel, IDisposable
{
    private const int Bytes = (int)SnapshotState.SideBytesMax + 1;
    private const int Turns = 2;

    private readonly AttentionWord _attention = new();
    private readonly WriteGate _gate;
    private readonly SnapshotState _snapshot;
    private readonly bool _flagsFirst;
    private readonly Queue<int> _written = new(); // entries of the side buffers
    private bool _flag; // of the faulty order
    private long _sideBytes; // and its count
    private bool _isHolding; // the other holder's cause
    private int _executors = 2;
    private int _waiting; // clients
    private int _nested;

    internal WriteGateModel(Schedule schedule, Engine engine, bool flagsFirst = false)
        : base(schedule)
    {
        _flagsFirst = flagsFirst;
        _gate = new WriteGate(_attention, Others);
        _snapshot = new SnapshotState(engine.Keyspace, _gate, SnapshotBounds.Default);
        _gate.Opened += () => _waiting = 0;
        for (int i = 0; i < 2; i++) Threads.Add(Executor());
        Threads.Add(Walk());
        Threads.Add(OtherHolder());
        Threads.Add(Client());
    }

    internal override void CheckEnd()
    {
        Check(!_gate.Waits, "writes are held for ever");
        Check(_attention.Flags == ServerAttention.None, "the flag is up and nothing is held");
        Check(_waiting == 0, "a client waits that nobody resumes");
    }

    public void Dispose() => _gate.Dispose();

    private IEnumerator<Step> Executor()
    {
        for (int turn = 0; turn < Turns; turn++)
        {
            yield return When(() => !_gate.Waits);
            NoteSide();
        }

        _executors--;
    }

    private IEnumerator<Step> Walk()
    {
        while (_executors > 0 || _written.Count > 0)
        {
            yield return When(() => _written.Count > 0 || _executors == 0);
            if (_written.TryDequeue(out int bytes)) ReleaseSide(bytes);
        }
    }

    // As the log's writer, which looks at each of its turns.
    private IEnumerator<Step> OtherHolder()
    {
        yield return Now;
        _isHolding = true;
        _gate.Close(WriteHold.Log);
        yield return Now;
        _isHolding = false;
        _gate.Open(WriteHold.Log);
    }

    private IEnumerator<Step> Client()
    {
        for (int turn = 0; turn < Turns; turn++)
        {
            yield return Now;
            if (!_gate.Waits) continue;
            _waiting++;
            Check(_isHolding || _flag || _snapshot.SideBytes > 0 || _nested > 0, "a client waits for nothing");
            yield return When(() => _waiting == 0);
        }
    }

    // Between the cause and the gate: the walk alone can get on there, as the other threads' steps begin with looks of their own.
    private void Others()
    {
        if (_nested > 0) return;
        _nested++;
        while (Maybe() && _written.TryDequeue(out int bytes)) ReleaseSide(bytes);
        _nested--;
    }

    private void NoteSide()
    {
        _written.Enqueue(Bytes);
        if (!_flagsFirst)
        {
            _snapshot.NoteSide(Bytes);
        }
        else if ((_sideBytes += Bytes) > SnapshotState.SideBytesMax && !_flag)
        {
            // The order that held writes for ever: a flag of the holder's, and then the gate.
            _flag = true;
            _gate.Close(WriteHold.Snapshot);
        }
    }

    private void ReleaseSide(int bytes)
    {
        if (!_flagsFirst)
        {
            _snapshot.ReleaseSide(bytes);
        }
        else if ((_sideBytes -= bytes) < SnapshotState.SideBytesMax / 2 && _flag)
        {
            _flag = false;
            _gate.Open(WriteHold.Snapshot);
        }
    }
}
