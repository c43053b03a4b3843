namespace RedKite.Server.Durability;

/// <summary>How much a background snapshot does while a stripe is locked. Tests use smaller bounds.</summary>
internal sealed record SnapshotBounds
{
    internal static readonly SnapshotBounds Default = new();

    /// <summary>
    /// A value that takes more memory is large: a command that is about to change it waits until it is written in slices; one that removes
    /// it hands it over. Smaller ones are copied by the command.
    /// </summary>
    internal long LargeBytes { get; init; } = 64 * 1024;

    /// <summary>The entries of a slice.</summary>
    internal int Entries { get; init; } = 64;

    /// <summary>
    /// The bytes after which a slice ends, and a value in it. So a slice has at most twice as many and a piece.
    /// </summary>
    internal int Bytes { get; init; } = 64 * 1024;

    /// <summary>The strings of a value in a slice, two for a field. A step of a stream counts as one, too.</summary>
    internal int Steps { get; init; } = 512;

    /// <summary>The part of a long string that is copied at once.</summary>
    internal int PieceBytes { get; init; } = 64 * 1024;
}
