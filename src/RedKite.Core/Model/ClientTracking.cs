namespace RedKite.Server.Model;

/// <summary>
/// The options of a client's CLIENT TRACKING. It belongs to the client's loop; other threads read it when a key changes.
/// </summary>
/// <param name="end">Ends the tracking.</param>
internal sealed class ClientTracking(Action<Session> end)
{
    /// <summary>BCAST: the client gets all keys with its prefixes, whether it has read them or not.</summary>
    internal bool Broadcasts { get; set; }

    /// <summary>OPTIN: only reads behind CLIENT CACHING YES are remembered.</summary>
    internal bool OptIn { get; set; }

    /// <summary>OPTOUT: reads behind CLIENT CACHING NO are not remembered.</summary>
    internal bool OptOut { get; set; }

    /// <summary>NOLOOP: the client gets no invalidations for its own changes.</summary>
    internal bool NoLoop { get; set; }

    /// <summary>The client that gets the invalidations; 0: the client itself.</summary>
    internal long RedirectTo { get; set; }

    /// <summary>Whether the client that gets the invalidations was found gone.</summary>
    internal bool IsRedirectBroken { get; set; }

    /// <summary>Whether CLIENT CACHING precedes the command.</summary>
    internal bool CachingGiven { get; set; }

    /// <summary>The prefixes of BCAST.</summary>
    internal List<byte[]> Prefixes { get; } = [];

    /// <summary>Memory of the prefixes, roughly. Set once the prefixes are known.</summary>
    internal long Bytes { get; set; }

    /// <summary>Whether the keys of a command that reads are remembered.</summary>
    internal bool Remembers => !Broadcasts && (!OptIn || CachingGiven) && !(OptOut && CachingGiven);

    internal void End(Session session) => end(session);
}
