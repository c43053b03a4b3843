namespace RedKite.Server.Model;

/// <summary>The channels among a command's arguments, for which a user needs permission.</summary>
/// <param name="First">The first argument that is a channel.</param>
/// <param name="Last">The last one; negative: counted from the end.</param>
/// <param name="IsPattern">They are patterns: each must be allowed literally.</param>
internal sealed record ChannelSpec(int First, int Last, bool IsPattern = false)
{
    /// <summary>One channel, behind which other arguments may follow.</summary>
    internal static readonly ChannelSpec One = new(1, 1);

    /// <summary>All arguments are channels.</summary>
    internal static readonly ChannelSpec All = new(1, -1);

    /// <summary>All arguments are patterns of channels.</summary>
    internal static readonly ChannelSpec Patterns = new(1, -1, IsPattern: true);

    /// <summary>
    /// The channels of a command whose row does not specify them, by name: so no row with one of these names can enter the table
    /// without its check.
    /// </summary>
    internal static ChannelSpec? Of(string name) => name switch
    {
        "publish" or "spublish" => One,
        "subscribe" or "ssubscribe" => All,
        "psubscribe" => Patterns,
        _ => null,
    };
}
