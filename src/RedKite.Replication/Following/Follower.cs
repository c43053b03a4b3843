using System.Globalization;
using RedKite.Persistence.Rdb;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Following;

/// <summary>
/// Changes the server's role: it follows a primary by one <see cref="ReplicaLink"/>, another one, or none. One change at a time.
/// </summary>
internal sealed class Follower : IDisposable
{
    private readonly ServerCore _core;
    private readonly LinkServices _services;
    private readonly LinkHistory _history = new();
    private readonly Lock _changing = new();
    private ReplicaLink? _link;
    private bool _isPrimary; // as far as the links are concerned: the role is taken before one begins
    private int _changes; // that were asked for
    private bool _endsWaits; // when the loops have ended what they executed
    private bool _hasEnded;
    private bool _isDetached; // there is a primary, and no link to it
    private readonly SyncedOffset _synced = new();

    internal Follower(ServerCore core, LinkServices services)
    {
        _core = core;
        Action<CancellationToken> waitForLoops = services.WaitForLoops;
        _services = services with { WaitForLoops = WaitForLoops, SyncedOffset = SyncedOffset };

        _isPrimary = core.Settings.ReplicaOf.Length == 0;

        // The role is taken before the first client connects: clients see a replica while the data is loaded, and none can write between loading and connecting.
        if (AddressOf(core.Settings.ReplicaOf) is { } primary) TakeRole(primary);

        // What was admitted before the role changed may have blocked since.
        void WaitForLoops(CancellationToken cancellation)
        {
            waitForLoops(cancellation);
            core.Replication.Acks.Retire();
            if (Interlocked.Exchange(ref _endsWaits, false)) services.EndWaits(true);
        }
    }

    /// <summary>What its links use of the server; for tests.</summary>
    internal LinkServices Services => _services;

    /// <summary>Full and partial synchronizations so far.</summary>
    internal LinkHistory History => _history;

    /// <summary>Connects to the primary that the settings name, if they do. At the start, when the data is loaded.</summary>
    internal void Begin() => Resume();

    /// <summary>
    /// The position in the primary's stream of the data that was loaded at the start: the link goes on there. Before <see cref="Begin"/>.
    /// </summary>
    internal void Continue(RdbReplication position)
    {
        _core.Replication.AdoptHistory(position.Id);
        _services.Replicas.Stream.Reset(position.Offset);
        _history.Know(position.Database);
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

    /// <summary>Has no link from now on, whatever the role is, until <see cref="Attach"/>: the position in the stream does not move. The current thread has no stripe locked.</summary>
    internal void Detach()
    {
        ThrowIfOfLink();
        lock (_changing)
        {
            _isDetached = true;
            EndLink();
        }
    }

    /// <summary>Ends that.</summary>
    internal void Attach()
    {
        lock (_changing) _isDetached = false;
        Resume();
    }

    /// <summary>Connects to the primary, if the server follows one: at the start, or because it does not stop after all.</summary>
    internal void Resume()
    {
        lock (_changing)
        {
            if (!_hasEnded && !_isDetached && _link is null && _core.Replication.Primary is { } primary) BeginLink(primary);
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
            bool wasUp = _core.Replication.LinkCounts.UpMs(Environment.TickCount64) >= 0;
            EndLink();
            if (primary is not null || _core.Replication.IsReplica) _core.Replication.LinkCounts.NoteChange(becomesPrimary: primary is null, wasUp);
            if (primary is null) Promote();
            else Follow(primary);
        }
    }

    /// <summary>Acknowledges the offset when what was received is executed. On the link's thread.</summary>
    internal void AcknowledgeSoon() => _link?.AcknowledgeSoon();

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

    /// <summary>The position in the primary's stream that the data of now belongs to; null: there is none. The stream's offset names the data while nothing of the stream is executed.</summary>
    internal RdbReplication? CurrentPosition() => !_history.IsKnown ? null
        : _link is null ? new RdbReplication(_history.Database, _core.Replication.Id, _services.Replicas.Stream.Offset)
        : _core.Replication.Applying.IsHeldByCurrentThread ? new RdbReplication(_core.Replication.StreamDatabase, _core.Replication.Id, _services.Replicas.Stream.Offset) : null;

    /// <summary>The history of the data, and the offset in it; null: it is not whole, or of no history. As a replica, of what was executed: it moves on.</summary>
    internal (string History, long Offset)? Position =>
        _core.Replication.IsReplica && (!_history.IsKnown || _history.IsIncomplete) ? null : (_core.Replication.Id, _services.Replicas.Stream.Offset);

    private void Follow(PrimaryAddress primary)
    {
        bool wasPrimary = _isPrimary;
        _isPrimary = false;
        if (wasPrimary) _history.BeginToFollow(_services.Replicas.Stream.HasBacklog); // without one its offset stood still
        TakeRole(primary);
        if (wasPrimary) _services.EndWaits(false);
        _endsWaits = wasPrimary;
        _services.Replicas.CloseAll();
        if (!_isDetached) BeginLink(primary);
    }

    private void TakeRole(PrimaryAddress primary)
    {
        _core.Settings.ReplicaOf = string.Create(CultureInfo.InvariantCulture, $"{primary.Host} {primary.Port}"); // a transaction that changes the role may go on with CONFIG REWRITE
        _core.Attention.Set(ServerAttention.IsReplica, on: true);
        _core.Replication.FollowNew(primary.Host, primary.Port);
    }

    private void BeginLink(PrimaryAddress primary)
    {
        var link = new ReplicaLink(_core, primary, _services, _history);
        _core.Replication.Use(link);
        _link = link;
        _core.Log.Notice(LogEvents.RoleChanged, $"Connecting to MASTER {primary.Host}:{primary.Port}");
        link.Start();
    }

    private void Promote()
    {
        if (!_core.Replication.IsReplica) return;
        bool isKnown = _isPrimary ? _services.Replicas.Stream.HasBacklog : _history.IsKnown;
        _isPrimary = true;
        _core.Settings.ReplicaOf = "";
        long offset = _services.Replicas.Stream.Offset; // a client of a replica that may be written is in the new history from the next line on
        if (_services.Replicas.Stream.HasBacklog) _core.Changes.SubscribeToEffects(_services.Replicas.Stream);
        _core.Replication.Promote(offset, isKnown);
        _core.Attention.Set(ServerAttention.IsReplica, on: false);
        _core.LocalExpiries.Clear();
        _services.Replicas.CloseAll(); // they ask again, and learn the new id
        _core.Log.Notice(LogEvents.RoleChanged, "MASTER MODE enabled");
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
        _core.Replication.Use((IReplicaLink?)null);
    }

    // On the link's thread and its timer's.
    private long? SyncedOffset(long offset) => _core.SyncedLog.Log is { } log ? _synced.At(offset, _core.Replication.Id, _services.Data, log) : null;
}
