namespace RedKite.Server.Migration;

/// <summary>What became of a request of a transfer.</summary>
internal enum TransferOutcome : byte
{
    /// <summary>Not known: the transfer ended before its reply.</summary>
    Unknown,

    /// <summary>The target has executed it.</summary>
    Accepted,

    /// <summary>The target has refused it.</summary>
    Refused,

    /// <summary>The target does not read payloads of this version.</summary>
    RefusedVersion,
}

/// <summary>Where a transfer failed.</summary>
internal enum TransferFailure
{
    None,
    Connecting,
    Writing,
    Reading,
}

/// <summary>How a transfer ended.</summary>
/// <param name="requests">The number of its requests.</param>
internal sealed class TransferResult(int requests)
{
    /// <summary>What became of each request.</summary>
    internal TransferOutcome[] Outcomes { get; } = new TransferOutcome[requests];

    /// <summary>The first error that the target replied, without its mark, apart from those of a version; null: none.</summary>
    internal string? Error { get; private set; }

    /// <summary>The error of a refused version, without its mark; null: none.</summary>
    internal string? VersionError { get; private set; }

    /// <summary>Whether the target refused the login or the database, so that it was sent nothing else.</summary>
    internal bool IsRefused { get; private set; }

    internal TransferFailure Failure { get; private set; }

    /// <summary>The target has executed a request.</summary>
    internal void Accept(int request) => Outcomes[request] = TransferOutcome.Accepted;

    /// <summary>The target has refused a request with an error.</summary>
    internal void Refuse(int request, string error)
    {
        Outcomes[request] = TransferOutcome.Refused;
        Error ??= error;
    }

    /// <summary>The target does not read the payload of a request.</summary>
    internal void RefuseVersion(int request, string error)
    {
        Outcomes[request] = TransferOutcome.RefusedVersion;
        VersionError = error;
    }

    /// <summary>The target has refused the login or the database with an error.</summary>
    internal void RefuseAll(string error)
    {
        Error ??= error;
        IsRefused = true;
    }

    /// <summary>The transfer begins anew, on another connection.</summary>
    internal void BeginAgain() => Failure = TransferFailure.None;

    /// <summary>The transfer failed there.</summary>
    internal void Fail(TransferFailure failure) => Failure = failure;
}
