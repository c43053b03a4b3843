using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>What the handlers of an executor and the server of blocked clients tell each other about blocking.</summary>
internal sealed class BlockingState
{
    /// <summary>Set by a handler that wants its client to block; see <see cref="CommandBlocking"/>.</summary>
    internal BlockRequest? Request { get; set; }

    /// <summary>Whether no command waits for keys or for a time, because a log or a primary's stream is executed: nothing would end the wait.</summary>
    internal bool NeverWaits { get; set; }

    /// <summary>Whether a blocked client's command is executing again because a key may serve it.</summary>
    internal bool IsServing { get; set; }

    /// <summary>The blocked client whose command is executing again because its work is complete or the data has changed.</summary>
    internal BlockedClient? WorkingClient { get; set; }

    /// <summary>The work that the client has waited for, if this is the execution after it is complete.</summary>
    internal SlicedWork? CompleteWork => WorkingClient?.Work is { IsComplete: true, IsStale: false } work ? work : null;

    /// <summary>Clients that the command served or unblocked. They get their replies once no stripe is locked.</summary>
    internal List<BlockedClient> Unblocked { get; } = [];
}
