using System.Collections.Concurrent;
using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>
/// Stages 1 and 2: a task per client reads and writes text, and all tasks share one concurrent dictionary.
/// </summary>
/// <param name="flushesLate">
/// Stage 2: replies stay in the writer's buffer while the next request is already available. Stage 1 sends each reply
/// individually, with a system call and a packet each.
/// </param>
internal sealed class StreamStage(bool flushesLate) : IStage
{
    private readonly ConcurrentDictionary<string, string> _values = new();

    public async Task ServeAsync(Stream client)
    {
        using var input = new StreamReader(client, Encoding.Latin1, detectEncodingFromByteOrderMarks: false, leaveOpen: true);
        await using var output = new StreamWriter(client, Encoding.Latin1, leaveOpen: true);
        var requests = new TextRequestReader(input, flushesLate ? output.FlushAsync : null);
        while (await requests.ReadAsync() is { } request)
        {
            await output.WriteAsync(TextCommands.Execute(request, _values));
            if (!flushesLate) await output.FlushAsync();
        }
    }
}
