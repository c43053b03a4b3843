using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Streams;

/// <summary>One argument of a generated command; text becomes UTF-8.</summary>
internal readonly record struct Argument(byte[] Bytes)
{
    public static implicit operator Argument(string text) => new(Encoding.UTF8.GetBytes(text));

    public static implicit operator Argument(byte[] bytes) => new(bytes);

    public static implicit operator Argument(long number) => new(Encoding.ASCII.GetBytes(number.ToString(CultureInfo.InvariantCulture)));
}

/// <summary>
/// What a template generates: commands that only make sense together, such as a short expiry, the wait for it and the
/// command after it. Shrinking keeps or removes an episode as a whole.
/// </summary>
internal sealed record Episode(IReadOnlyList<byte[][]> Commands)
{
    /// <summary>The pause on both servers after the commands.</summary>
    public int WaitMs { get; init; }

    /// <summary>The commands after the pause.</summary>
    public IReadOnlyList<byte[][]> CommandsAfterWait { get; init; } = [];

    /// <summary>Whether the connection is replaced afterwards, because the commands close it.</summary>
    public bool ClosesConnection { get; init; }

    /// <summary>
    /// The connection that the command closes, counted from its own. <see cref="IdOfKilled"/> and <see cref="AddressOfKilled"/> in
    /// the command stand for what each server knows it by.
    /// </summary>
    public int? Kills { get; init; }

    /// <summary>Whether the last command leaves the two servers with different data, which the runner settles before the next one.</summary>
    public bool NeedsSettling => Commands[^1][0].AsSpan().SequenceEqual("SPOP"u8);

    public const string IdOfKilled = "<id>";

    public const string AddressOfKilled = "<address>";

    public const string AddressOfServer = "<server>";

    public static Episode Of(params Argument[] words) => new([[.. words.Select(word => word.Bytes)]]);

    public Episode Then(params Argument[] words) => this with { Commands = [.. Commands, [.. words.Select(word => word.Bytes)]] };

    public Episode Then(Episode next) => next with { Commands = [.. Commands, .. next.Commands] };

    public Episode ThenWaitAndRun(int waitMs, params Argument[] words) => this with { WaitMs = waitMs, CommandsAfterWait = Of(words).Commands };
}

/// <summary>An episode at its position in a stream.</summary>
/// <param name="Connection">The index of the connection that sends it.</param>
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
