using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>
/// Stage 5: like stage 4, with pipes instead of text streams and byte arrays instead of strings. One read delivers
/// everything that has arrived, and requests are parsed in place.
/// </summary>
/// <param name="waitsBusily">
/// The mistake: an incomplete request is not marked as examined, so the pipe, which still has unexamined data, returns the
/// same bytes again at once, until another task has read the rest from the socket. Each client with an incomplete request spins
/// on a thread of the pool, which that other task needs.
/// </param>
internal sealed class PipeStage(int shards, bool waitsBusily) : IStage
{
    private readonly Shard<byte[], PipelineBatch<byte[]>.ShardPart>[] _shards = PipelineBatch<byte[]>.StartShards(shards, ByteArrayComparer.Instance);

    public async Task ServeAsync(Stream client)
    {
        PipeReader input = waitsBusily ? ReadAhead(client) : PipeReader.Create(client, new StreamPipeReaderOptions(leaveOpen: true));
        PipeWriter output = PipeWriter.Create(client, new StreamPipeWriterOptions(leaveOpen: true));
        var batch = new PipelineBatch<byte[]>(_shards, ByteArrayComparer.Instance);
        var request = new ByteRequest();
        try
        {
            while (true)
            {
                ReadResult read = await input.ReadAsync();
                ReadOnlySequence<byte> left = read.Buffer;
                while (request.TryCut(ref left))
                {
                    batch.Add(ToOperation(request));
                    if (batch.IsFull) await AnswerAsync();
                }

                await AnswerAsync();
                if (waitsBusily) input.AdvanceTo(left.Start);
                else input.AdvanceTo(left.Start, left.End);
                if (read.IsCompleted) return;
            }
        }
        finally
        {
            await AnswerAsync();
            await input.CompleteAsync();
            await output.CompleteAsync();
        }

        async Task AnswerAsync()
        {
            await batch.RunAsync();
            foreach (Operation<byte[]> operation in batch.Operations) Reply(output, operation);
            batch.Clear();
            await output.FlushAsync();
        }
    }

    // PipeReader.Create reads the socket only when everything is examined, so the mistake would hang instead of being slow.
    private static PipeReader ReadAhead(Stream client)
    {
        var pipe = new Pipe();
        _ = CopyAsync();
        return pipe.Reader;

        async Task CopyAsync()
        {
            try
            {
                await client.CopyToAsync(pipe.Writer);
                await pipe.Writer.CompleteAsync();
            }
            catch (Exception closed) when (closed is IOException or ObjectDisposedException or SocketException)
            {
                await pipe.Writer.CompleteAsync();
            }
        }
    }

    private static Operation<byte[]> ToOperation(ByteRequest request) => request.Kind switch
    {
        CommandKind.Get => new(request.Kind, request.Key.ToArray(), Value: null),
        CommandKind.Set => new(request.Kind, request.Key.ToArray(), request.Value.ToArray()),
        _ => new(request.Kind, Key: null, Encoding.Latin1.GetBytes(TextCommands.AnswerOther(request.ToText()))),
    };

    private static void Reply(PipeWriter output, Operation<byte[]> operation)
    {
        if (operation.Kind == CommandKind.Set) output.WriteOk();
        else if (operation.Kind == CommandKind.Other) output.Write(operation.Value);
        else if (operation.Value is null) output.WriteNull();
        else output.WriteBulk(operation.Value);
    }
}
