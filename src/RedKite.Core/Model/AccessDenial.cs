namespace RedKite.Server.Model;

/// <summary>Why a user may not execute a request. Of several reasons the highest is reported.</summary>
internal enum DenialReason
{
    None,
    Command,
    Key,

    /// <summary>A failed login.</summary>
    Authentication,
    Channel,
}

/// <summary>The origin of a denied request.</summary>
internal enum DenialContext
{
    TopLevel,
    Transaction,
    Script,
}

/// <summary>The result of a check: nothing is denied by default.</summary>
/// <param name="Reason">Why.</param>
/// <param name="Argument">The key or channel that is denied.</param>
internal readonly record struct AccessDenial(DenialReason Reason, int Argument)
{
    internal bool IsDenied => Reason != DenialReason.None;
}
