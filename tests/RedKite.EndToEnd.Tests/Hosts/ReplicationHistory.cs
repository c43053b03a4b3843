using System.Collections.Concurrent;
using System.Diagnostics;

namespace RedKite.EndToEnd.Tests.Hosts;

/// <summary>A write that one client tried: the values of a key only grow, and only one client writes it.</summary>
/// <param name="Key">The key.</param>
/// <param name="Value">The value.</param>
/// <param name="Node">The server that was asked.</param>
/// <param name="Start">When the request was sent.</param>
/// <param name="End">When the reply to WAIT came, or the attempt ended without one.</param>
/// <param name="Confirmed">How many replicas WAIT has confirmed; 0: it is not known whether the write was executed.</param>
internal sealed record Write(string Key, long Value, int Node, long Start, long End, int Confirmed);

/// <summary>A value that a primary replied; -1: the key does not exist.</summary>
internal sealed record Read(string Key, long Value, int Node, long Start, long End);

/// <summary>What a server said of its place.</summary>
/// <param name="Node">The server.</param>
/// <param name="Run">Which start of its process it was.</param>
/// <param name="History">The history's id.</param>
/// <param name="Offset">The offset.</param>
internal sealed record PlaceSeen(int Node, int Run, string History, long Offset);

/// <summary>The data of a server at a place.</summary>
internal sealed record DataSeen(int Node, string History, long Offset, string Digest);

/// <summary>A server became the primary.</summary>
/// <param name="Node">The server.</param>
/// <param name="At">When it was chosen; the primary before it confirms nothing any more then.</param>
/// <param name="Replicas">How many replicas the primary before it had.</param>
/// <param name="Candidates">How many of them lived: of these it is the one that is ahead.</param>
internal sealed record Promotion(int Node, long At, int Replicas, int Candidates);

/// <summary>What clients and observers saw, in the order of one clock. From any thread.</summary>
internal sealed class ReplicationHistory
{
    internal ConcurrentQueue<Write> Writes { get; } = new();

    internal ConcurrentQueue<Read> Reads { get; } = new();

    internal ConcurrentQueue<PlaceSeen> Places { get; } = new();

    internal ConcurrentQueue<DataSeen> Data { get; } = new();

    internal ConcurrentQueue<Promotion> Promotions { get; } = new();

    internal static long Now => Stopwatch.GetTimestamp();
}
