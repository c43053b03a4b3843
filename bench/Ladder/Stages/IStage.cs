namespace RedKite.Ladder.Stages;

/// <summary>One stage of the ladder: how a client is served, and where the keys are stored.</summary>
internal interface IStage
{
    /// <summary>Serves one client until it disconnects. Runs concurrently for all clients.</summary>
    /// <exception cref="ProtocolException">The client sent an invalid request; replies to the preceding ones have been sent.</exception>
    Task ServeAsync(Stream client);
}
