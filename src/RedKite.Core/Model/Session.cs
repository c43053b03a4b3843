using System.Collections.Concurrent;
using RedKite.Net;
using RedKite.Protocol;
using RedKite.Server.Metrics;

namespace RedKite.Server.Model;

/// <summary>Which replies a client wants.</summary>
internal enum ReplyMode : byte
{
    On,
    Off,

    /// <summary>Not the next command's.</summary>
    SkipNext,

    /// <summary>Not that of the command that executes.</summary>
    SkipThis,
}

/// <summary>A client as the commands see it. It belongs to its connection's loop, or to the caller in the process: its own thread.</summary>
/// <remarks>
/// <para><see cref="Own"/> is the own thread's alone. <see cref="Counts"/> it writes, and others read them. What any thread may change says so at its method:
/// <see cref="TryMarkEvicted"/>, <see cref="Deliver"/>, <see cref="BeginServing"/>.</para>
/// <para>The properties with setters are what commands of the client change, on its own thread; others read them for CLIENT LIST, where a value may be a moment old.</para>
/// </remarks>
internal sealed class Session
{
    internal SessionOwn Own;
    internal SessionCounts Counts;

    private User _user = null!;
    private Extras? _extras; // created when one of them is set
    private int _commandsToTime;
    private int _servingThread; // which executes the client's blocked command; 0: none
    private bool _resp3;
    private ReplyMode _replyMode;
    private long _countedKeptBytes;
    private bool _isOverrun; // more was posted than may wait, the connection is about to be closed
    private bool _isExecuting;

    internal Session(long id, Connection? connection, long nowMs, User user, bool authenticated)
    {
        Id = id;
        User = user;
        Connection = connection;
        CreatedMs = Counts.LastInteractionMs = nowMs;
        Authenticated = authenticated;
    }

    internal long Id { get; }

    /// <summary>The connection; null for a caller in the process.</summary>
    internal Connection? Connection { get; }

    /// <summary>The server's own connection to its primary, for the session that executes the primary's stream; null for all others.</summary>
    internal OutgoingEnd? Outgoing { get; init; }

    /// <summary>Called when the blocked command of a caller in the process has ended, from any thread; null: its thread sleeps meanwhile. Set before the command.</summary>
    internal Action? Woken { get; init; }

    /// <summary>Called when something was delivered to a caller in the process, from any thread that holds no stripe or any. It must not wait.</summary>
    internal Action<int>? Delivered { get; init; }

    /// <summary>The client's end, as CLIENT LIST and KILL write it.</summary>
    internal string Address => Connection?.RemoteAddress.ToString() ?? Outgoing?.RemoteAddress ?? "?:0";

    /// <summary>The server's end, as CLIENT LIST and KILL write it.</summary>
    internal string LocalAddress => Connection?.LocalAddress.ToString() ?? Outgoing?.LocalAddress ?? "?:0";

    /// <summary>What CLIENT LIST and KILL take the client for.</summary>
    internal ClientType Type { get; set; }

    internal long CreatedMs { get; }

    internal int DatabaseIndex { get; set; }

    internal bool Resp3
    {
        get => _resp3;
        set
        {
            _resp3 = value;
            NoteSubscriptions();
        }
    }

    /// <summary>What the client asked for with CLIENT TRACKING; null: nothing.</summary>
    internal ClientTracking? Tracking
    {
        get => _extras?.Tracking;
        set
        {
            if (value is not null || _extras is not null) Other.Tracking = value;
            SetAttention(SessionAttention.Tracks, value is { Broadcasts: false });
        }
    }

    /// <summary>The client's subscriptions; null: it never had any.</summary>
    internal ClientSubscriptions? Subscriptions
    {
        get => _extras?.Subscriptions;
        set => Other.Subscriptions = value;
    }

    /// <summary>Whether the client may only change its subscriptions: over RESP2 it could not tell messages from replies.</summary>
    internal bool IsSubscriber => (Attention & SessionAttention.Subscriber) != 0;

    internal string Name { get; set; } = "";

    internal string LibraryName { get; set; } = "";

    internal string LibraryVersion { get; set; } = "";

    /// <summary>Who the client is. Other threads see a change a moment later.</summary>
    internal User User
    {
        get => _user;
        set
        {
            _user = value;
            NoteUser();
        }
    }

    /// <summary>What is kept beside the bytes of a watched key's, channel's or prefix's name, roughly.</summary>
    internal const int NameOverhead = 128;

    /// <summary>The lists of field names that HIMPORT has prepared; null: none.</summary>
    internal ClientFieldSets? FieldSets
    {
        get => _extras?.FieldSets;
        set
        {
            if (value is not null || _extras is not null) Other.FieldSets = value;
        }
    }

    /// <summary>Bytes of the watched keys, subscriptions, prefixes and lists of fields. A moment old when another thread reads it.</summary>
    internal long StateBytes => (Watch?.Bytes ?? 0) + (Subscriptions?.Bytes ?? 0) + (Tracking?.Bytes ?? 0) + (FieldSets?.Bytes ?? 0);

    /// <summary>Whether commands have set something that decides what later ones do: the database, the user, a transaction, subscriptions, ...</summary>
    internal bool HasOwnState(User initial) =>
        DatabaseIndex != 0 || User != initial || Resp3 || ReplyMode != ReplyMode.On || IsMonitor || Transaction is not null || Tracking is not null || StateBytes > 0 || (Attention & (SessionAttention.ReadsReplica | SessionAttention.Asks)) != 0;

    /// <summary>Memory that the client occupies beside its connection's buffers. A moment old when another thread reads it.</summary>
    internal long KeptBytes => StateBytes + (Transaction?.KeptBytes ?? 0) + (Blocked?.KeptBytes ?? 0) + (Partial?.ArgumentBytes ?? 0) + NamesBytes;

    private long NamesBytes => (long)(Name.Length + LibraryName.Length + LibraryVersion.Length) * sizeof(char);

    /// <summary>
    /// Counts <see cref="KeptBytes"/> for the limit of memory: a large change at once, any other with the loop's next look at its clients. On the client's thread.
    /// </summary>
    /// <param name="kept">Where it is counted.</param>
    /// <param name="exactly">Whether small changes count, too.</param>
    internal void CountKept(KeptMemory kept, bool exactly = false)
    {
        long change = KeptBytes - _countedKeptBytes;
        if (exactly ? change == 0 : Math.Abs(change) < KeptMemory.StepBytes) return;
        _countedKeptBytes += change;
        kept.Add(Kept.Clients, change);
    }

    /// <summary>The client is gone: nothing of it counts any more. On the client's thread.</summary>
    internal void EndCountingKept(KeptMemory kept)
    {
        kept.Add(Kept.Clients, -_countedKeptBytes);
        _countedKeptBytes = 0;
    }

    /// <summary>CLIENT NO-EVICT.</summary>
    internal bool NoEvict { get; set; }

    /// <summary>CLIENT NO-TOUCH: commands do not note accesses.</summary>
    internal bool NoTouch { get; set; }

    /// <summary>What the host's behaviors keep of this client.</summary>
    internal object? HostTag
    {
        get => _extras?.HostTag;
        set => Other.HostTag = value;
    }

    /// <summary>Bytes that the client counts against maxmemory-clients, as its loop last counted them.</summary>
    internal long CountedClientBytes { get; set; }

    private int _isEvicted;

    /// <summary>Whether the client is about to be closed because of maxmemory-clients. From any thread.</summary>
    internal bool IsEvicted => Volatile.Read(ref _isEvicted) != 0;

    /// <summary>Marks the client as evicted. From any thread.</summary>
    /// <returns>False if it was already.</returns>
    internal bool TryMarkEvicted() => Interlocked.Exchange(ref _isEvicted, 1) == 0;

    /// <summary>What about the client keeps its commands off the batch's short path.</summary>
    internal SessionAttention Attention { get; private set; }

    /// <summary>The number of commands that are still to be timed one by one.</summary>
    internal int CommandsToTime
    {
        get => _commandsToTime;
        set
        {
            _commandsToTime = value;
            SetAttention(SessionAttention.TimedIndividually, value > 0);
        }
    }

    /// <summary>MONITOR: the client is shown all commands.</summary>
    internal bool IsMonitor
    {
        get => (Attention & SessionAttention.Monitors) != 0;
        set => SetAttention(SessionAttention.Monitors, value);
    }

    /// <summary>The commands that are queued since MULTI; null: the client is in no transaction. Setting it releases those before. On the client's thread.</summary>
    internal Transaction? Transaction
    {
        get => _extras?.Transaction;
        set
        {
            Transaction?.Dispose();
            if (value is not null || _extras is not null) Other.Transaction = value;
            SetAttention(SessionAttention.InTransaction, value is not null);
        }
    }

    /// <summary>The keys that the client watches; null: it never has.</summary>
    internal ClientWatch? Watch
    {
        get => _extras?.Watch;
        set => Other.Watch = value;
    }

    internal bool Authenticated
    {
        get => (Attention & SessionAttention.NotAuthenticated) == 0;
        set => SetAttention(SessionAttention.NotAuthenticated, !value);
    }

    internal ReplyMode ReplyMode
    {
        get => _replyMode;
        set
        {
            _replyMode = value;
            SetAttention(SessionAttention.RepliesSelectively, value != ReplyMode.On);
        }
    }

    /// <summary>The connection is to end once the replies so far are sent.</summary>
    internal bool ClosesAfterReply { get; private set; }

    /// <summary>Whether the server ends the connection, not the client.</summary>
    internal bool IsClosedByServer { get; set; }

    /// <summary>This client's next command waits: for the end of CLIENT PAUSE, or until it may write.</summary>
    internal bool IsPaused { get; set; }

    /// <summary>
    /// Whether commands of the client are executing, whose replies are not sent yet. Set on the executing thread. Another one that reads it before
    /// <see cref="Blocked"/> finds the one or the other set for as long as a command executes and then waits.
    /// </summary>
    internal bool IsExecuting
    {
        get => Volatile.Read(ref _isExecuting);
        set => Volatile.Write(ref _isExecuting, value);
    }

    /// <summary>The client's blocked command; its loop or caller sets it to null again.</summary>
    internal BlockedClient? Blocked
    {
        get => _extras?.Blocked;
        set => Other.Blocked = value;
    }

    /// <summary>When the output went over its soft limit; 0 = it is under it.</summary>
    internal long OverSoftLimitSinceMs
    {
        get => _extras?.OverSoftLimitSinceMs ?? 0;
        set
        {
            if (value != 0 || _extras is not null) Other.OverSoftLimitSinceMs = value;
        }
    }

    /// <summary>A request of which a part has arrived; null: there is none.</summary>
    internal PartialRequest? Partial;

    /// <summary>
    /// The one address for bytes to a client, from any thread: its connection, or the inbox of a caller in the process. What
    /// arrives while a command of the client is executing follows that command's reply. Sent at the end of the loop's iteration,
    /// with everything else that waits by then. The sender keeps its own reference.
    /// </summary>
    internal void Deliver(Payload payload)
    {
        if (payload.Length == 0) return;
        if (Connection is not { } connection)
        {
            payload.Buffer.AddReference();
            Other.Inbox.Enqueue(payload);
            Delivered?.Invoke(payload.Length);
        }
        else if (_servingThread == Environment.CurrentManagedThreadId)
        {
            payload.Buffer.AddReference();
            Other.DeferServed(payload);
        }
        else if (connection.Loop.IsCurrent)
        {
            connection.Loop.Handler.Deliver(connection, payload.Buffer, payload.Start, payload.Length);
        }
        else
        {
            if (Volatile.Read(ref _isOverrun)) return;
            payload.Buffer.AddReference();
            connection.Loop.Post(connection, payload.Buffer, payload.Start, payload.Length);
            if (connection.Loop.Handler.IsOverLimit(connection, connection.PostedBytes) && !Interlocked.Exchange(ref _isOverrun, true))
            {
                EventLoop.Post(connection, () => connection.Loop.Handler.OnLimitExceeded(connection));
            }
        }
    }

    /// <summary>Bytes of the deliveries that wait for the reply of the client's command.</summary>
    internal long DeferredBytes => _extras?.DeferredBytes ?? 0;

    /// <summary>
    /// A thread executes the blocked command of the client, perhaps beside its loop: what the command causes to be delivered to the client
    /// is held back until its reply.
    /// </summary>
    internal void BeginServing() => _servingThread = Environment.CurrentManagedThreadId;

    /// <summary>The command was executed. If it waits on, it has no reply, and what was held back is delivered.</summary>
    internal void EndServing(bool hasReply)
    {
        _servingThread = 0;
        if (!hasReply) DeliverAll(_extras?.TakeDeferredServed());
    }

    /// <summary>Delivers what was held back behind a reply that was delivered. On the client's loop.</summary>
    internal void DeliverDeferred()
    {
        if (_extras is not { } extras) return;
        DeliverAll(extras.TakeDeferred());
        DeliverAll(extras.TakeDeferredServed());
    }

    private void DeliverAll(List<Payload>? payloads)
    {
        foreach (Payload payload in payloads ?? [])
        {
            Deliver(payload);
            payload.Buffer.Release();
        }
    }

    /// <summary>Keeps a delivery until the reply of the client's command is written. On the thread that executes it.</summary>
    internal void Defer(Payload payload)
    {
        payload.Buffer.AddReference();
        Other.Defer(payload);
    }

    /// <summary>Writes what was delivered while the client's command was executing behind the command's reply.</summary>
    internal void WriteDeferred(ReplyWriter reply)
    {
        if (_extras?.TakeDeferred() is not { } payloads) return;
        foreach (Payload payload in payloads)
        {
            reply.Raw(payload.Bytes);
            payload.Buffer.Release();
        }
    }

    /// <summary>Takes the oldest delivery to a caller in the process. The taker releases it.</summary>
    internal bool TryTakeDelivery(out Payload payload)
    {
        payload = default;
        return _extras is { } extras && extras.Inbox.TryDequeue(out payload);
    }

    /// <summary>Ends the connection once the replies so far are sent. A caller in the process has none to end.</summary>
    internal void CloseAfterReply() => ClosesAfterReply = Connection is not null || Outgoing is not null;

    /// <summary>Takes notice of a change of the user's permissions. On the session's thread.</summary>
    internal void NoteUser() => SetAttention(SessionAttention.IsRestricted, _user.Permissions is not null);

    /// <summary>READONLY and READWRITE. On the client's thread.</summary>
    internal void UseReplicas(bool on) => SetAttention(SessionAttention.ReadsReplica, on);

    /// <summary>ASKING, or the end of what it allows. On the client's thread.</summary>
    internal void Ask(bool on) => SetAttention(SessionAttention.Asks, on);

    /// <summary>What is received of the slots of another node, which is the client; null: it is none that sends some.</summary>
    internal SlotReception? Reception => _extras?.Reception;

    /// <summary>Makes the client one that sends slots. On the client's thread.</summary>
    internal void Receive(SlotReception reception)
    {
        Other.Reception = reception;
        SetAttention(SessionAttention.ReceivesSlots, on: true);
    }

    /// <summary>What RESET does besides the database and the protocol. The library's name stays: it is still the same.</summary>
    internal void Reset(User user, bool authenticated)
    {
        User = user;
        Subscriptions?.End(this);
        Tracking?.End(this);
        Authenticated = authenticated;
        Name = "";
        NoEvict = NoTouch = IsMonitor = false;
        UseReplicas(false);
        Ask(false);
        Transaction = null;
        FieldSets = null;
        if (ReplyMode != ReplyMode.SkipThis) ReplyMode = ReplyMode.On;
    }

    /// <summary>After a change of the subscriptions or the protocol.</summary>
    internal void NoteSubscriptions()
    {
        bool subscribes = Subscriptions is { Count: > 0 };
        if (subscribes) Type = ClientType.PubSub;
        else if (Type == ClientType.PubSub) Type = ClientType.Normal;
        SetAttention(SessionAttention.Subscriber, subscribes && !Resp3);
    }

    // Two threads may need them first at the same time.
    private Extras Other => _extras ?? Interlocked.CompareExchange(ref _extras, new Extras(Connection is null), null) ?? _extras;

    private void SetAttention(SessionAttention flag, bool on) => Attention = on ? Attention | flag : Attention & ~flag;

    /// <summary>What few clients have: an idle connection should hold almost no memory.</summary>
    private sealed class Extras(bool isInProcess)
    {
        private readonly ConcurrentQueue<Payload>? _inbox = isInProcess ? new() : null;
        private List<Payload>? _deferred; // delivered while a command of the client runs; its loop's
        private List<Payload>? _deferredServed; // while another thread executes the blocked command: that thread's, which passes it to the loop with the end of the wait
        private volatile ClientTracking? _tracking;
        private volatile BlockedClient? _blocked;

        /// <summary>Deliveries to a caller in the process.</summary>
        internal ConcurrentQueue<Payload> Inbox => _inbox!;

        internal ClientTracking? Tracking
        {
            get => _tracking;
            set => _tracking = value;
        }

        internal BlockedClient? Blocked
        {
            get => _blocked;
            set => _blocked = value;
        }

        internal ClientSubscriptions? Subscriptions { get; set; }

        internal SlotReception? Reception;

        internal ClientFieldSets? FieldSets { get; set; }

        internal Transaction? Transaction { get; set; }

        internal ClientWatch? Watch { get; set; }

        internal object? HostTag { get; set; }

        internal long OverSoftLimitSinceMs { get; set; }

        internal long DeferredBytes { get; private set; }

        internal void Defer(Payload payload)
        {
            (_deferred ??= []).Add(payload);
            DeferredBytes += payload.Length;
        }

        internal void DeferServed(Payload payload) => (_deferredServed ??= []).Add(payload);

        internal List<Payload>? TakeDeferredServed()
        {
            List<Payload>? payloads = _deferredServed;
            _deferredServed = null;
            return payloads;
        }

        internal List<Payload>? TakeDeferred()
        {
            List<Payload>? payloads = _deferred;
            _deferred = null;
            DeferredBytes = 0;
            return payloads;
        }
    }
}
