using RedKite.Server.Migration;

namespace RedKite.Server.Commands.Keys;

/// <summary>How far a MIGRATE command is. It belongs to one execution or round at a time, and changes with the stripes of its keys locked.</summary>
internal sealed class MigrationProgress(MigrationService service, MigrationTarget target, MigrateOptions options, bool isOfReplica)
{
    internal MigrationTarget Target => target;

    internal MigrateOptions Options => options;

    /// <summary>Whether the server was a replica when it began.</summary>
    internal bool IsOfReplica => isOfReplica;

    internal MigrationTicket Ticket { get; } = new();

    /// <summary>The argument of the next key that was not sent yet.</summary>
    internal int NextKey { get; private set; } = options.FirstKey;

    /// <summary>Whether any key was sent.</summary>
    internal bool HasSent { get; private set; }

    /// <summary>Whether the target is sent payloads that older servers read.</summary>
    internal bool SendsOldPayloads { get; private set; } = service.TakesOnlyOldPayloads(target);

    /// <summary>Keys to be sent again: they changed before they could be removed, or the target did not read their version.</summary>
    internal Queue<MigratedKey> Again { get; } = new();

    /// <summary>How often keys changed while they were sent.</summary>
    internal int Restarts { get; private set; }

    /// <summary>The error of the reply: the first one that occurs; null: none.</summary>
    internal string? Error { get; private set; }

    /// <summary>Whether the command ends now: the target cannot be used any more.</summary>
    internal bool HasFailed { get; private set; }

    /// <summary>The next key is sent, or is not there.</summary>
    internal void PassKey() => NextKey++;

    /// <summary>A transfer has begun.</summary>
    internal void BeginTransfer() => HasSent = true;

    /// <summary>The target does not read the version of a key's payload. The key is sent again in an older one, if it was not.</summary>
    internal void SendOlder(MigratedKey key, bool wasOld, string? error)
    {
        if (wasOld) Fail(error);
        else Again.Enqueue(key);
        SendsOldPayloads = true;
    }

    /// <summary>A transfer is over.</summary>
    /// <param name="hasChanged">Whether keys changed meanwhile.</param>
    /// <param name="restartsMax">How often they may in sequence.</param>
    /// <returns>False if they have too often; none is sent again then.</returns>
    internal bool TryGoOn(bool hasChanged, int restartsMax)
    {
        Restarts = hasChanged ? Restarts + 1 : 0;
        if (Restarts <= restartsMax) return true;
        Again.Clear();
        Restarts = 0;
        return false;
    }

    /// <summary>Notes an error (null: none), behind which the command goes on with its other keys.</summary>
    internal void Fail(string? error) => Error ??= error;

    /// <summary>Notes an error (null: none), and ends the command.</summary>
    internal void GiveUp(string? error)
    {
        Error ??= error;
        HasFailed = true;
    }

    /// <summary>Ends its ticket.</summary>
    internal void End() => service.End(Ticket);

    /// <summary>Makes other commands that write wait.</summary>
    internal MigrationHold HoldWrites() => service.HoldWrites();

    /// <summary>Claims a key, or waits for it.</summary>
    internal bool TryClaim(ulong key, bool waits) => service.TryClaim(Ticket, key, waits, target.Timeout);

    /// <summary>Ends the claims of all keys that are not sent again.</summary>
    internal void ReleaseSent() => service.Release(Ticket, Again.Select(static key => key.Identity.Hash));
}
