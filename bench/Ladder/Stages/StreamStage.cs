using System.Collections.Concurrent;
using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>
/// Stages 1 and 2: a task for each client reads text and writes text, and all of them share one concurrent dictionary.
/// </summary>
/// <param name="flushesLate">
/// Stage 2: replies wait in the writer's buffer as long as the next request is already here. Stage 1 sends each reply by
/// itself, a system call and a packet each.
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
