using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>A server that reports what its commands change.</summary>
internal interface IWatchedServer : IDisposable
{
    int Port { get; }

    /// <summary>A connection for questions that belong to no stream.</summary>
    RespConnection Control { get; }

    /// <summary>
    /// The events since the last call, in order: those of all commands whose replies have been read are among them. Each is the
    /// database, the event's name and the key, as in <c>0 set k</c>.
    /// </summary>
    List<string> TakeEvents();

    /// <summary>Removes all keys and forgets all events.</summary>
    void Reset()
    {
        foreach (string command in WatchedServer.Restore) Control.Run(command);
        TakeEvents();
    }
}
