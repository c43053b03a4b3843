using RedKite.Figures.Types;

namespace RedKite.Figures.Messages;

/// <summary>A row of the messages scenario: the requests, and their maximum cost relative to Redis.</summary>
/// <param name="Name">The row's name, also for --only.</param>
/// <param name="RatioMax">The maximum server CPU, relative to Redis's.</param>
/// <param name="Write">Writes one operation, which may be several commands; the number differs from operation to operation.</param>
internal sealed record MessageRow(string Name, double RatioMax, Action<CommandPipe, int> Write)
{
    /// <summary>Connections that send.</summary>
    internal int Clients { get; init; } = RoundSize.Clients;

    /// <summary>Operations that a connection sends at a time.</summary>
    internal int Pipeline { get; init; } = RoundSize.Pipeline;

    /// <summary>Prepares the server, once before all rounds.</summary>
    internal Action<CommandPipe>? Prepare { get; init; }

    /// <summary>Prepares each connection.</summary>
    internal Action<CommandPipe>? Open { get; init; }

    /// <summary>Other connections that get a message for each operation.</summary>
    internal int Subscribers { get; init; }
}
