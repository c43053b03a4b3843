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
    internal int NextKey { get; set; } = options.FirstKey;

    /// <summary>Whether any key was sent.</summary>
    internal bool HasSent { get; set; }

    /// <summary>Whether the target is sent payloads that older servers read.</summary>
    internal bool SendsOldPayloads { get; set; } = service.TakesOnlyOldPayloads(target);

    /// <summary>Keys to be sent again: they changed before they could be removed, or the target did not read their version.</summary>
    internal Queue<MigratedKey> Again { get; } = new();

    /// <summary>How often keys changed while they were sent.</summary>
    internal int Restarts { get; set; }

    /// <summary>The error of the reply: the first one that occurs; null: none.</summary>
    internal string? Error { get; set; }

    /// <summary>Whether the command ends now: the target cannot be used any more.</summary>
    internal bool HasFailed { get; set; }

    /// <summary>Ends its ticket.</summary>
    internal void End() => service.End(Ticket);

    /// <summary>Makes other commands that write wait.</summary>
    internal MigrationHold HoldWrites() => service.HoldWrites();

    /// <summary>Claims a key, or waits for it.</summary>
    internal bool TryClaim(ulong key, bool waits) => service.TryClaim(Ticket, key, waits, target.Timeout);

    /// <summary>Ends the claims of all keys that are not sent again.</summary>
    internal void ReleaseSent() => service.Release(Ticket, Again.Select(static key => key.Identity.Hash));
}
