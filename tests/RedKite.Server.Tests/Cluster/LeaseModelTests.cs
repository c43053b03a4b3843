using System.Net;
using RedKite.Net;
using RedKite.Server.Cluster;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Cluster;

/// <summary>No order of a lease's renewals, its end, the clock and another node's takeover lets a reply leave behind one; and the checker would see it.</summary>
public sealed class LeaseModelTests
{
    private const int Schedules = 3000;

    [Fact]
    public void A_reply_that_leaves_was_executed_while_no_other_node_could_serve()
    {
        int left = 0, late = 0, without = 0, begun = 0;
        LeaseModel? last = null;
        Explore(LeaseFault.None, model =>
        {
            (left, late, without, begun) = (left + (last?.Left ?? 0), late + (last?.Late ?? 0), without + (last?.LeftWithout ?? 0), begun + (last?.LeftBegun ?? 0));
            last = model;
        });
        Assert.True(left > 100 && late > 100 && without > 100 && begun > 100, $"{left} replies left, {late} did not; {without} without a lease, {begun} of batches in which it began");
    }

    [Theory]
    [InlineData(LeaseFault.ForgetsTerm)]
    [InlineData(LeaseFault.ForgetsQueued)]
    [InlineData(LeaseFault.ForgetsBegun)]
    [InlineData(LeaseFault.ClosesWithout)]
    public void The_checker_finds(LeaseFault fault) => Assert.Throws<ModelViolationException>(() => Explore(fault, static _ => { }));

    private static void Explore(LeaseFault fault, Action<LeaseModel> began) => Interleavings.ExploreRandomly(Schedules, (schedule, _) =>
    {
        var model = new LeaseModel(schedule, fault);
        began(model);
        return model;
    });
}

/// <summary>What a model does wrong.</summary>
public enum LeaseFault
{
    None,

    /// <summary>It looks at the lease of now, not the one by which the command was executed.</summary>
    ForgetsTerm,

    /// <summary>What is queued for a served client is not looked at again.</summary>
    ForgetsQueued,

    /// <summary>A batch that begins without a lease has no deadline.</summary>
    ForgetsBegun,

    /// <summary>The deadline of work in slices is the term of now, which has ended.</summary>
    ClosesWithout,
}

/// <summary>
/// The real <see cref="LeaseDeadline"/> between an agent that renews it, loses it and gets it anew, time that passes, a node that takes over as soon as the store allows it, and a client, whose replies leave
/// by a real <see cref="Connection"/>. Whenever the clock is read, the others may get on before and behind that.
/// </summary>
internal sealed class LeaseModel : ThreadModel
{
    private const int Lease = 4;
    private const int Registrations = 2;
    private const int Renewals = 2;
    private const int Requests = 4;
    private const int CommandsMax = 3;

    private readonly LeaseDeadline _lease;
    private readonly LeaseFault _fault;
    private readonly IEnumerator<Step> _agent;
    private long _now = 1;
    private long _storeUntil; // of the lease in the store; 0: there is none
    private int _takeovers;
    private int _seen; // takeovers when the clock was read last
    private int _terms; // begins and extensions of them
    private bool _hasLooked; // since a reply was about to leave
    private bool _isNested;
    private bool _clientEnded;

    internal LeaseModel(Schedule schedule, LeaseFault fault)
        : base(schedule)
    {
        _fault = fault;
        _lease = new LeaseDeadline(new Clock(this));
        _agent = Agent();
        Threads.Add(_agent);
        Threads.Add(Client());
        Background.Add(Time());
        Background.Add(Other());
    }

    internal int Left { get; private set; }

    internal int Late { get; private set; }

    /// <summary>Replies that left although there was no lease, as nothing was executed by one.</summary>
    internal int LeftWithout { get; private set; }

    /// <summary>Those of batches in which the lease began.</summary>
    internal int LeftBegun { get; private set; }

    private IEnumerator<Step> Agent()
    {
        for (int registration = 0; registration < Registrations && !_clientEnded; registration++)
        {
            for (int renewal = 0; renewal <= Renewals; renewal++)
            {
                yield return Now;
                long sent = _now;
                yield return Now;
                if (renewal > 0 && _now >= _storeUntil) break; // the store says that it has ended
                _storeUntil = _now + Lease;
                yield return Now;
                _lease.Extend(sent, TimeSpan.FromSeconds(Lease));
                _terms++;
            }

            yield return Now;
            _lease.End();
            yield return Now;
            _storeUntil = 0; // given back
        }
    }

    private IEnumerator<Step> Client()
    {
        for (int i = 0; i < Requests; i++)
        {
            yield return Now;
            var request = new Request(this);
            int kind = Choose(3);
            for (int steps = Choose(CommandsMax) + 1; steps > 0; steps--)
            {
                yield return Now;
                if (kind == 0) request.Admit(); // each command of a batch
            }

            if (kind == 1)
            {
                if (!request.Admit()) continue; // another client's command, which serves this one
                yield return Now;
                request.Deadline = _lease.Term;
                request.IsWithout = false;
            }

            if (kind == 2)
            {
                if (Maybe()) request.Admit(); // work that has a key: it is admitted again
                if (_fault == LeaseFault.ClosesWithout) request.Deadline = _lease.Term;
            }

            yield return Now;
            if (kind == 0) request.Send();
            else request.Queue();
            yield return Now;
            if (kind != 0) request.Flush();
        }

        _clientEnded = true;
    }

    // A command, or several, and their reply.
    private sealed class Request
    {
        private readonly LeaseModel _model;
        private readonly Connection _connection;
        private readonly List<int> _executed = []; // how many takeovers had been when they were admitted
        private readonly int _terms;
        private bool _hasLeft;

        internal Request(LeaseModel model)
        {
            _model = model;
            _connection = new Connection(-1, null, Peer.End, Peer.End, null) { Loop = Peer.Loop, State = this };
            OutputDeadline deadline = Deadline = model._lease.DeadlineOfNow();
            IsWithout = deadline != model._lease.Term;
            _terms = model._terms;
            if (IsWithout && model._fault == LeaseFault.ForgetsBegun) Deadline = null;
        }

        internal OutputDeadline? Deadline { get; set; }

        /// <summary>Whether there was no lease when it began.</summary>
        internal bool IsWithout { get; set; }

        internal bool Admit()
        {
            bool isAdmitted = !_model._lease.HasEnded;
            if (isAdmitted) _executed.Add(_model._seen);
            return isAdmitted;
        }

        internal void Send()
        {
            if (_model._fault == LeaseFault.ForgetsTerm) Deadline = _model._lease.Term;
            _model._hasLooked = false;
            _connection.BeginReplies(Deadline);
            _connection.Send("+"u8);
            _connection.EndReplies();
            End();
        }

        internal void Queue()
        {
            _connection.BeginReplies(Deadline);
            _connection.Queue("+"u8);
            if (_model._fault == LeaseFault.ForgetsQueued) _connection.Flush();
            _connection.EndReplies();
        }

        internal void Flush()
        {
            _model._hasLooked = false;
            if (_model._fault != LeaseFault.ForgetsQueued) _connection.FlushQueued();
            End();
        }

        /// <summary>The system is given the reply.</summary>
        internal void Leave() => _hasLeft = true;

        private void End()
        {
            int takeovers = _model._hasLooked ? _model._seen : _model._takeovers; // it looks last
            Check(!_hasLeft || _executed.TrueForAll(before => before == takeovers), "a reply leaves although another node has taken over");
            Check(_hasLeft || !IsWithout || _terms != _model._terms, "a reply does not leave although nothing was executed by a lease");
            _connection.ReleaseBuffers();
            if (!_hasLeft) _model.Late++;
            else if (!IsWithout) _model.Left++;
            else if (_executed.Count == 0) _model.LeftWithout++;
            else _model.LeftBegun++;
        }
    }

    private IEnumerator<Step> Time()
    {
        while (true)
        {
            yield return When(() => _now < 40);
            _now++;
        }
    }

    private IEnumerator<Step> Other()
    {
        while (true)
        {
            yield return When(() => _now >= _storeUntil && _takeovers < 40);
            _takeovers++;
        }
    }

    private long Look()
    {
        Others();
        long now = _now;
        _seen = _takeovers;
        _hasLooked = true;
        Others();
        return now;
    }

    private void Others()
    {
        if (_isNested) return;
        _isNested = true;
        while (Maybe())
        {
            if (Maybe()) _now += Choose(Lease);
            if (Maybe()) _agent.MoveNext(); // its steps read no clock
            if (_now >= _storeUntil && Maybe()) _takeovers++;
        }

        _isNested = false;
    }

    private sealed class Clock(LeaseModel model) : TimeProvider
    {
        public override long TimestampFrequency => 1;

        public override long GetTimestamp() => model.Look();
    }

    /// <summary>What replies leave to, at once.</summary>
    private sealed class Peer : Transport
    {
        internal static PeerAddress End { get; } = new(IPAddress.Loopback, 1);

        internal static EventLoop Loop { get; } = new("model", pool: null, static _ => new Peer());

        internal override int Send(Connection connection, ReadOnlySpan<byte> bytes)
        {
            ((Request)connection.State!).Leave();
            return bytes.Length;
        }

        internal override int Receive(Connection connection, Span<byte> buffer) => WouldBlock;

        internal override void Wait(EventLoop loop)
        {
        }

        internal override void Wake()
        {
        }

        internal override void SetInterest(Connection connection, bool read, bool write)
        {
        }

        internal override void Register(Connection connection)
        {
        }

        internal override void Close(Connection connection)
        {
        }

        internal override void Listen(ListeningSocket listener)
        {
        }

        internal override void StopListening()
        {
        }

        internal override void StopListening(ListeningSocket listener)
        {
        }

        internal override void ResumeAccepting()
        {
        }

        internal override void SetTimer(long microseconds)
        {
        }

        internal override void SetKeepAlive(Connection connection, int seconds)
        {
        }

        internal override void SetNoDelay(Connection connection, bool on)
        {
        }

        internal override void ShutdownSend(Connection connection)
        {
        }

        public override void Dispose()
        {
        }
    }
}
