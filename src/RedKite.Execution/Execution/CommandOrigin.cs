namespace RedKite.Server.Execution;

/// <summary>Where the commands of an executor come from.</summary>
internal enum CommandOrigin
{
    /// <summary>A connection, or a caller in the process.</summary>
    Client,

    /// <summary>A file that is being loaded.</summary>
    Log,

    /// <summary>The stream of the primary that the server follows.</summary>
    Primary,
}
