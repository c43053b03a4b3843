namespace RedKite.Ladder.Stages;

/// <summary>One stage of the ladder: how a client is served, and where the keys are.</summary>
internal interface IStage
{
    /// <summary>Answers one client until it leaves. Runs once for each client, at the same time.</summary>
    /// <exception cref="ProtocolException">What the client sent is no request; replies to those before it are sent.</exception>
    Task ServeAsync(Stream client);
}
