namespace RedKite.Server.Model;

/// <summary>A connection that the server opened itself, as CLIENT LIST shows it and CLIENT KILL ends it.</summary>
/// <param name="RemoteAddress">The primary's end.</param>
/// <param name="LocalAddress">The server's end.</param>
/// <param name="Close">Ends it. From any thread.</param>
internal sealed record OutgoingEnd(string RemoteAddress, string LocalAddress, Action Close);
