using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>
/// Stage 4: like stage 3, but all commands that a client has sent are handed over at once: the batch passes from shard to shard,
/// and the replies are in the order of the requests.
/// </summary>
internal sealed class ShardedPipelineStage(int shards) : IStage
{
    private readonly Shard<string, PipelineBatch<string>.ShardPart>[] _shards = PipelineBatch<string>.StartShards(shards, StringComparer.Ordinal);

    public async Task ServeAsync(Stream client)
    {
        using var input = new StreamReader(client, Encoding.Latin1, detectEncodingFromByteOrderMarks: false, leaveOpen: true);
        await using var output = new StreamWriter(client, Encoding.Latin1, leaveOpen: true);
        var batch = new PipelineBatch<string>(_shards, StringComparer.Ordinal);
        var requests = new TextRequestReader(input, AnswerAsync);
        try
        {
            while (await requests.ReadAsync() is { } request)
            {
                batch.Add(ToOperation(request));
                if (batch.IsFull) await AnswerAsync();
            }
        }
        finally
        {
            // Requests before an invalid one, or before the end, still get their replies.
            await AnswerAsync();
        }

        async Task AnswerAsync()
        {
            await batch.RunAsync();
            for (int i = 0; i < batch.Count; i++) await output.WriteAsync(ReplyTo(batch.Operations[i]));
            batch.Clear();
            await output.FlushAsync();
        }
    }

    private static Operation<string> ToOperation(string[] request)
    {
        CommandKind kind = TextCommands.KindOf(request);
        return kind switch
        {
            CommandKind.Get => new(kind, request[1], Value: null),
            CommandKind.Set => new(kind, request[1], request[2]),
            _ => new(kind, Key: null, TextCommands.AnswerOther(request)),
        };
    }

    private static string ReplyTo(Operation<string> operation) => operation.Kind switch
    {
        CommandKind.Get => TextCommands.BulkOrNull(operation.Value),
        CommandKind.Set => TextCommands.Ok,
        _ => operation.Value!,
    };
}
