namespace RedKite.Server.Model;

/// <summary>What a client says to CLIENT TRACKING.</summary>
internal sealed record TrackingOptions
{
    /// <summary>BCAST: the client gets all keys with its prefixes, whether it has read them or not.</summary>
    internal bool Broadcasts { get; init; }

    /// <summary>OPTIN: only reads behind CLIENT CACHING YES are remembered.</summary>
    internal bool OptIn { get; init; }

    /// <summary>OPTOUT: reads behind CLIENT CACHING NO are not remembered.</summary>
    internal bool OptOut { get; init; }

    /// <summary>NOLOOP: the client gets no invalidations for its own changes.</summary>
    internal bool NoLoop { get; init; }

    /// <summary>The client that gets the invalidations; 0: the client itself.</summary>
    internal long RedirectTo { get; init; }

    /// <summary>The prefixes of BCAST.</summary>
    internal List<byte[]> Prefixes { get; } = [];
}

/// <summary>
/// A client's CLIENT TRACKING. It belongs to the client's loop; other threads read it when a key changes.
/// </summary>
/// <param name="options">What the client has said.</param>
/// <param name="bytes">Memory of the prefixes, roughly.</param>
/// <param name="end">Ends the tracking.</param>
internal sealed class ClientTracking(TrackingOptions options, long bytes, Action<Session> end)
{
    internal TrackingOptions Options => options;

    /// <inheritdoc cref="TrackingOptions.Broadcasts"/>
    internal bool Broadcasts { get; } = options.Broadcasts;

    /// <summary>Whether the client that gets the invalidations was found gone.</summary>
    internal bool IsRedirectBroken { get; private set; }

    /// <summary>Whether CLIENT CACHING precedes the command.</summary>
    internal bool CachingGiven { get; private set; }

    /// <summary>Memory of the prefixes, roughly.</summary>
    internal long Bytes => bytes;

    /// <summary>Whether the keys of a command that reads are remembered.</summary>
    internal bool Remembers => !Broadcasts && (!options.OptIn || CachingGiven) && !(options.OptOut && CachingGiven);

    /// <summary>CLIENT CACHING was executed.</summary>
    internal void GiveCaching() => CachingGiven = true;

    /// <summary>The command behind CLIENT CACHING has ended.</summary>
    internal void EndCaching() => CachingGiven = false;

    /// <summary>The client that gets the invalidations is gone.</summary>
    internal void NoteBrokenRedirect() => IsRedirectBroken = true;

    internal void End(Session session) => end(session);
}
