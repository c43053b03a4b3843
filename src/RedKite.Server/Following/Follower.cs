using System.Globalization;
using RedKite.Persistence.Rdb;
using RedKite.Server.Execution;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Following;

/// <summary>
/// Changes the server's role: it follows a primary by one <see cref="ReplicaLink"/>, another one, or none. One change at a time.
/// </summary>
internal sealed class Follower : IDisposable
{
    private readonly Engine _engine;
    private readonly LinkServices _services;
    private readonly Action<CancellationToken> _waitForLoops;
    private readonly LinkHistory _history = new();
    private readonly Lock _changing = new();
    private ReplicaLink? _link;
    private bool _isPrimary; // as far as the links are concerned: the role is taken before one begins
    private int _changes; // that were asked for
    private bool _endsWaits; // when the loops have ended what they executed
    private bool _hasEnded;
    private readonly SyncedOffset _synced = new();

    /// <param name="engine">The server.</param>
    /// <param name="waitForLoops">See <see cref="LinkServices"/>.</param>
    /// <param name="tls">See <see cref="LinkServices"/>.</param>
    internal Follower(Engine engine, Action<CancellationToken> waitForLoops, ClientTls tls)
    {
        _engine = engine;
        _waitForLoops = waitForLoops;
        _services = new LinkServices(WaitForLoops, tls, SyncedOffset);
        engine.Replicas.OffsetRequested = () => _link?.AcknowledgeSoon();
        engine.Replicas.TakeOver = () => Change(null);
        engine.Replicas.PlaceOfReplica = PlaceOfNow;

        _isPrimary = engine.Settings.ReplicaOf.Length == 0;

        // The role is taken before the first client connects: clients see a replica while the data is loaded, and none can write between loading and connecting.
        if (AddressOf(engine.Settings.ReplicaOf) is { } primary) TakeRole(primary);
    }

    /// <summary>What its links use of the server; for tests.</summary>
    internal LinkServices Services => _services;

    /// <summary>Full and partial synchronizations so far.</summary>
    internal LinkHistory History => _history;

    /// <summary>Connects to the primary that the settings name, if they do. At the start, when the data is loaded.</summary>
    internal void Begin() => Resume();

    /// <summary>
    /// The place in the primary's stream of the data that was loaded at the start: the link goes on there. Before <see cref="Begin"/>.
    /// </summary>
    internal void Continue(RdbReplication place)
    {
        _engine.Replication.AdoptHistory(place.Id);
        _engine.ReplicaStream.Reset(place.Offset);
        (_history.IsKnown, _history.Database) = (true, place.Database);
    }

    /// <summary>
    /// Ends the link for the last save: the data is then that of one place in the stream, which the file names. The current thread has no stripe locked.
    /// </summary>
    /// <returns>Whether the data may be saved: it is not in the middle of being loaded.</returns>
    internal bool Suspend()
    {
        ThrowIfOfLink();
        lock (_changing) EndLink();
        return !_history.IsIncomplete;
    }

    /// <summary>Connects to the primary, if the server follows one: at the start, or because it does not stop after all.</summary>
    internal void Resume()
    {
        lock (_changing)
        {
            if (!_hasEnded && _link is null && _engine.Replication.Primary is { } primary) BeginLink(primary);
        }
    }

    /// <summary>Follows a primary from now on, or becomes one: null. The current thread has no stripe locked.</summary>
    internal void Change(PrimaryAddress? primary) => Change(primary, Interlocked.Increment(ref _changes));

    /// <summary>
    /// The same by a command, which must not wait for the link. A primary becomes a replica at once, so that nothing is written behind the command that the
    /// other data replaces.
    /// </summary>
    /// <returns>The rest, for a thread that has no stripe locked and serves no clients.</returns>
    internal Action BeginChange(PrimaryAddress? primary)
    {
        if (primary is not null) TakeRole(primary); // before the number: a later change takes the role behind it
        int number = Interlocked.Increment(ref _changes);
        return () => Change(primary, number);
    }

    private void Change(PrimaryAddress? primary, int number)
    {
        ThrowIfOfLink();
        lock (_changing)
        {
            if (_hasEnded || number != Volatile.Read(ref _changes)) return; // another one was asked for behind it
            bool wasUp = _engine.Replication.LinkCounts.UpMs(Environment.TickCount64) >= 0;
            EndLink();
            if (primary is not null || _engine.Replication.IsReplica) _engine.Replication.LinkCounts.NoteChange(becomesPrimary: primary is null, wasUp);
            if (primary is null) Promote();
            else Follow(primary);
        }
    }

    /// <summary>Ends the link with the server.</summary>
    public void Dispose()
    {
        lock (_changing)
        {
            _hasEnded = true;
            EndLink();
        }
    }

    /// <summary>The address in the setting replicaof; null: it is empty.</summary>
    internal static PrimaryAddress? AddressOf(string setting)
    {
        int space = setting.LastIndexOf(' ');
        return space < 0 ? null : new PrimaryAddress(setting[..space], int.Parse(setting.AsSpan(space + 1), CultureInfo.InvariantCulture));
    }

    // The stream's offset names the data while nothing of the stream is executed.
    private RdbReplication? PlaceOfNow() => !_history.IsKnown ? null
        : _link is null ? new RdbReplication(_history.Database, _engine.Replication.Id, _engine.ReplicaStream.Offset)
        : _engine.Replication.Applying.IsHeldByCurrentThread ? new RdbReplication(_engine.Replication.StreamDatabase, _engine.Replication.Id, _engine.ReplicaStream.Offset) : null;

    private void Follow(PrimaryAddress primary)
    {
        bool wasPrimary = _isPrimary;
        _isPrimary = false;
        if (wasPrimary) _history.IsKnown = _engine.ReplicaStream.HasBacklog; // without one its offset stood still
        _engine.Settings.ReplicaOf = string.Create(CultureInfo.InvariantCulture, $"{primary.Host} {primary.Port}");
        TakeRole(primary);
        _engine.Memory.Apply(_engine.Metrics, reports: false);
        if (wasPrimary) EndWaits();
        _endsWaits = wasPrimary;
        _engine.Replicas.CloseAll();
        BeginLink(primary);
    }

    private void TakeRole(PrimaryAddress primary)
    {
        _engine.Attention.Set(ServerAttention.IsReplica, on: true);
        _engine.Replication.FollowNew(primary.Host, primary.Port);
    }

    private void BeginLink(PrimaryAddress primary)
    {
        var link = new ReplicaLink(_engine, primary, _services, _history);
        _engine.Replication.Link = () => link.Status();
        _link = link;
        _engine.Log.Notice(LogEvents.RoleChanged, $"Connecting to MASTER {primary.Host}:{primary.Port}");
        link.Start();
    }

    private void Promote()
    {
        if (!_engine.Replication.IsReplica) return;
        bool isKnown = _isPrimary ? _engine.ReplicaStream.HasBacklog : _history.IsKnown;
        _isPrimary = true;
        _engine.Settings.ReplicaOf = "";
        long offset = _engine.ReplicaStream.Offset; // a client of a replica that may be written is in the new history from the next line on
        if (_engine.ReplicaStream.HasBacklog) _engine.Changes.SubscribeToEffects(_engine.ReplicaStream);
        _engine.Replication.Promote(offset, isKnown);
        _engine.Attention.Set(ServerAttention.IsReplica, on: false);
        _engine.LocalExpiries.Clear();
        _engine.Memory.Apply(_engine.Metrics, reports: false);
        _engine.Replicas.CloseAll(); // they ask again, and learn the new id
        _engine.Log.Notice(LogEvents.RoleChanged, "MASTER MODE enabled");
    }

    // It would wait for itself, and every later change for it. Commands that come to this are refused before (ChangesRole).
    private void ThrowIfOfLink()
    {
        if (_link?.IsCurrentThread == true) throw new InvalidOperationException("a primary's stream cannot change the role of its replica");
    }

    private void EndLink()
    {
        _link?.Dispose();
        _link = null;
        _engine.Replication.Link = static () => null;
    }

    // What was admitted before the role changed may have blocked since.
    private void WaitForLoops(CancellationToken cancellation)
    {
        _waitForLoops(cancellation);
        if (Interlocked.Exchange(ref _endsWaits, false)) EndWaits();
    }

    // What clients wait for may never come to a replica.
    private void EndWaits()
    {
        Interlocked.MemoryBarrier(); // the role, and then the clients: who blocks afterwards sees the role
        foreach (BlockedClient client in _engine.Blocked.All)
        {
            if (!client.Block.IsCertain) _engine.Blocked.EndForRole(client, _engine.Buffers);
        }
    }

    // On the link's thread and its timer's.
    private long? SyncedOffset(long offset) => _engine.Durability.Log is { Log: { } log } keeper ? _synced.At(offset, _engine.Replication.Id, keeper, log) : null;
}
