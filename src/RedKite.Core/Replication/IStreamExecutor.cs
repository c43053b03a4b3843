using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Replication;

/// <summary>Executes a primary's stream. One thread at a time, except where a member says otherwise.</summary>
internal interface IStreamExecutor
{
    /// <summary>The session of what is no part of the stream.</summary>
    Session Session { get; }

    /// <summary>The replies to the stream. Only the errors among them are looked at; the rest is discarded.</summary>
    ReplyWriter Reply { get; }

    /// <summary>Where the last transaction begins that is not whole yet; -1: there is none.</summary>
    int UnitStart { get; }

    /// <summary>Whether it has been told to end.</summary>
    bool HasEnded { get; }

    /// <summary>Executes the whole requests of a buffer, until one has blocked or the replies have become large.</summary>
    /// <returns>How many bytes of it were executed.</returns>
    int Run(Session session, Span<byte> request, long bytesMax, out bool goesOn);

    /// <summary>Forgets a session's state.</summary>
    void Discard(Session session);

    /// <summary>Nothing more is executed; what waits ends. From any thread.</summary>
    void BeginEnd();

    /// <summary>Keeps its counts, and forgets everything else. After <see cref="BeginEnd"/> and the last call.</summary>
    void Remove();
}
