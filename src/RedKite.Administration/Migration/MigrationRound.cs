using RedKite.Server.Migration;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Keys;

/// <summary>
/// What a client waits for whose MIGRATE goes on when it has ended: the command's ticket, a key that another command sends, or a transfer of some of its keys. The command executes
/// again then, with the stripes of its keys locked.
/// </summary>
/// <remarks>
/// While a transfer is on its way, no stripe is locked, and any client may change the keys. Their stripes report that
/// (<see cref="KeyWatch"/>): only a key that is as it was sent is removed.
/// </remarks>
internal sealed class MigrationRound : PendingWork
{
    private readonly Keyspace _keyspace;
    private readonly KeyWatch?[] _watches;
    private readonly List<MigratedKey> _keys = [];
    private Transfer? _transfer;
    private MigrationHold? _hold;

    internal MigrationRound(MigrationProgress migration, Keyspace keyspace)
    {
        Migration = migration;
        _keyspace = keyspace;
        _watches = new KeyWatch?[keyspace.Stripes.Length];
    }

    internal MigrationProgress Migration { get; }

    /// <summary>The requests of the transfer, in order.</summary>
    internal IReadOnlyList<MigratedKey> Keys => _keys;

    /// <summary>How the transfer ended; null: the round was a wait for the command's ticket or for a key.</summary>
    internal TransferResult? Result => _transfer?.Completion.Result;

    internal override Task Pending => _transfer?.Completion ?? Migration.Ticket.Come;

    /// <summary>Adds a key that was read just now. Its stripe is locked.</summary>
    internal void Add(MigratedKey key)
    {
        _keys.Add(key);
        if (Migration.Options.Copies || key.IsRemoval) return; // a copy is of the moment at which it was made
        int stripe = _keyspace.StripeOf(key.Identity.Hash);
        if (_watches[stripe] is not { } watch)
        {
            watch = _watches[stripe] = new KeyWatch();
            _keyspace.Stripes[stripe].BeginWatch(watch);
        }

        watch.Add(key.Identity);
    }

    /// <summary>Whether a key is as it was sent. Its stripe is locked.</summary>
    internal bool IsUnchanged(KeyIdentity key) => _watches[_keyspace.StripeOf(key.Hash)]?.IsUnchanged(key) == true;

    /// <summary>Whether the round waits for a key that another command sends.</summary>
    internal bool WaitsForKey { get; private set; }

    /// <summary>The key that would be sent next is another command's, and nothing else can be sent.</summary>
    internal void WaitForKey() => WaitsForKey = true;

    /// <summary>Whether commands that write wait until the round has ended, or for a second.</summary>
    internal bool PausesWrites => _hold is not null;

    /// <summary>Makes them wait.</summary>
    internal void Hold() => _hold = Migration.HoldWrites();

    /// <summary>Begins the transfer of the keys that were added.</summary>
    internal void Send(Transfer transfer) => _transfer = transfer;

    /// <summary>Ends its watches and its hold. The stripes of the command's keys are locked.</summary>
    internal void End()
    {
        _hold?.Dispose();
        _hold = null;
        for (int i = 0; i < _watches.Length; i++)
        {
            if (_watches[i] is { } watch) _keyspace.Stripes[i].EndWatch(watch);
            _watches[i] = null;
        }
    }

    internal override bool RunSlice() => IsComplete = Pending.IsCompleted;

    internal override void Abandon()
    {
        if (_transfer is { } transfer) transfer.Cancel();
        else Migration.Ticket.Abandon();
    }

    /// <summary>Called when the command has ended with this round, or its client has gone.</summary>
    internal override void Discard()
    {
        Abandon();
        End();
        Migration.End();
    }
}

/// <summary>A request of a transfer.</summary>
/// <param name="Argument">The key's argument.</param>
/// <param name="Identity">The key.</param>
/// <param name="ExpiryMs">The expiry that was sent with it; <see cref="Database.NoExpiry"/>: none.</param>
internal readonly record struct MigratedKey(int Argument, KeyIdentity Identity, long ExpiryMs = Database.NoExpiry)
{
    /// <summary>Whether the target has an earlier value of the key, which this request replaces or removes.</summary>
    internal bool WasAccepted { get; init; }

    /// <summary>Whether it removes the key there.</summary>
    internal bool IsRemoval { get; init; }
}
