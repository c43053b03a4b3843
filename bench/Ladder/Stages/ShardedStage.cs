using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>
/// Stage 3: like stage 2, but the keys are spread over threads with an ordinary dictionary each. A client's task queues its
/// command to the key's thread and awaits the result: no lock on the data, one thread hand-over per command. The shard's thread
/// then continues the client's task inline, so that it also does other clients' text work while its own queue waits.
/// </summary>
internal sealed class ShardedStage : IStage
{
    private readonly Shard<string, Work>[] _shards;

    internal ShardedStage(int shards)
    {
        _shards = [.. Enumerable.Range(0, shards).Select(index => new Shard<string, Work>(index, comparer: null, Execute))];
    }

    public async Task ServeAsync(Stream client)
    {
        using var input = new StreamReader(client, Encoding.Latin1, detectEncodingFromByteOrderMarks: false, leaveOpen: true);
        await using var output = new StreamWriter(client, Encoding.Latin1, leaveOpen: true);
        var requests = new TextRequestReader(input, output.FlushAsync);
        while (await requests.ReadAsync() is { } request)
        {
            await output.WriteAsync(await ExecuteAsync(request));
        }
    }

    private async Task<string> ExecuteAsync(string[] request)
    {
        CommandKind kind = TextCommands.KindOf(request);
        if (kind == CommandKind.Other) return TextCommands.AnswerOther(request);

        string key = request[1];
        // The client's task continues on the shard's thread, inside SetResult: it writes the reply and reads the next request there.
        var result = new TaskCompletionSource<string?>();
        var operation = new Operation<string>(kind, key, kind == CommandKind.Set ? request[2] : null);
        _shards[Shard<string, Work>.IndexOf(key.GetHashCode(StringComparison.Ordinal), _shards.Length)].Post(new Work(operation, result));
        string? value = await result.Task;
        return kind == CommandKind.Set ? TextCommands.Ok : TextCommands.BulkOrNull(value);
    }

    private static void Execute(Work work, Dictionary<string, string> values)
    {
        Operation<string> operation = work.Operation;
        operation.Execute(values);
        work.Result.SetResult(operation.Value);
    }

    private readonly record struct Work(Operation<string> Operation, TaskCompletionSource<string?> Result);
}
