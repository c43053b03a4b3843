namespace RedKite;

/// <summary>One line of a server's log, as a host receives it (<c>RedKiteOptions.Log</c>).</summary>
/// <param name="Level">How important it is.</param>
/// <param name="Category">The part of the server that wrote it: <c>RedKite.Server</c>, <c>RedKite.Clients</c>, <c>RedKite.Persistence</c>, ...</param>
/// <param name="EventId">The number of its kind, which never changes; docs/hosting.md lists them.</param>
/// <param name="EventName">The name of its kind, e.g. <c>SaveDone</c>.</param>
/// <param name="Message">The text: one line, without keys, values and passwords. Only what scripts and clients log themselves may hold them.</param>
public readonly record struct RedKiteLogEntry(RedKiteLogLevel Level, string Category, int EventId, string EventName, string Message);

/// <summary>How important a log line is. The numbers are those of Microsoft.Extensions.Logging.</summary>
public enum RedKiteLogLevel
{
    /// <summary>For diagnosis. The setting <c>loglevel</c> leaves it out unless it is <c>debug</c> or <c>verbose</c>.</summary>
    Debug = 1,

    /// <summary>Part of normal operation.</summary>
    Information = 2,

    /// <summary>Something that an operator should know of; the server copes with it.</summary>
    Warning = 3,

    /// <summary>Something failed: data was not saved, or an address is not listened on.</summary>
    Error = 4,

    /// <summary>The server ends because of a bug.</summary>
    Critical = 5,
}
