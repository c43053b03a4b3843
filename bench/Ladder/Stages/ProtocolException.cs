namespace RedKite.Ladder.Stages;

/// <summary>The input is not a request. The message is Redis's, for the client.</summary>
internal sealed class ProtocolException(string message) : Exception(message);
