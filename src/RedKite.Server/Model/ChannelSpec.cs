namespace RedKite.Server.Model;

/// <summary>The channels among a command's arguments, which a user needs permission for.</summary>
/// <param name="First">The first argument that is a channel.</param>
/// <param name="Last">The last one; negative: counted from the end.</param>
/// <param name="IsPattern">They are patterns: each must be allowed literally.</param>
internal sealed record ChannelSpec(int First, int Last, bool IsPattern = false);
