namespace RedKite.Server.Durability;

/// <summary>How a request to cancel a save ends.</summary>
internal enum SaveCancellation
{
    /// <summary>There is none to cancel.</summary>
    Nothing,

    /// <summary>The save in progress ends soon.</summary>
    Canceled,

    /// <summary>The one that was scheduled is forgotten.</summary>
    Unscheduled,
}
