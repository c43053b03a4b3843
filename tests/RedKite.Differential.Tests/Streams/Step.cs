using System.Globalization;
using System.Text;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Streams;

/// <summary>One argument of a generated command; text becomes UTF-8.</summary>
internal readonly record struct Argument(byte[] Bytes)
{
    public static implicit operator Argument(string text) => new(Encoding.UTF8.GetBytes(text));

    public static implicit operator Argument(byte[] bytes) => new(bytes);

    public static implicit operator Argument(long number) => new(Encoding.ASCII.GetBytes(number.ToString(CultureInfo.InvariantCulture)));
}

/// <summary>
/// What a template draws: commands that only make sense together, such as a short expiry, the wait for it and the look
/// at what is left. An episode is kept or removed as a whole when a failing stream is shrunk.
/// </summary>
internal sealed record Episode(IReadOnlyList<byte[][]> Commands)
{
    /// <summary>How long both servers are left alone after the commands.</summary>
    public int WaitMs { get; init; }

    /// <summary>What follows the wait.</summary>
    public IReadOnlyList<byte[][]> CommandsAfterWait { get; init; } = [];

    /// <summary>The connection is given up afterwards, because the commands close it.</summary>
    public bool ClosesConnection { get; init; }

    public static Episode Of(params Argument[] words) => new([[.. words.Select(word => word.Bytes)]]);

    public Episode Then(params Argument[] words) => this with { Commands = [.. Commands, [.. words.Select(word => word.Bytes)]] };

    public Episode Then(Episode next) => next with { Commands = [.. Commands, .. next.Commands] };

    public Episode ThenWait(int waitMs, params Argument[] words) => this with { WaitMs = waitMs, CommandsAfterWait = Of(words).Commands };
}

/// <summary>An episode at its place in a stream.</summary>
/// <param name="Connection">Which of the stream's connections sends it.</param>
/// <param name="EndsBatch">Whether its replies are awaited before anything else is sent.</param>
internal sealed record Step(int Connection, Episode Episode, bool EndsBatch)
{
    public override string ToString()
    {
        IEnumerable<string> Lines(IReadOnlyList<byte[][]> commands) => commands.Select(command => $"[{Connection}] {CommandLine.Format(command)}");
        IEnumerable<string> wait = Episode.WaitMs > 0 ? [$"    (wait {Episode.WaitMs} ms)"] : [];
        return string.Join('\n', [.. Lines(Episode.Commands), .. wait, .. Lines(Episode.CommandsAfterWait)]);
    }
}
