using System.Buffers;
using System.IO.Pipelines;

namespace RedKite.Ladder.Stages;

/// <summary>
/// Stage 6: the pipes of stage 5 with a concurrent dictionary: each client's task executes its commands itself, straight
/// from the pipe's bytes, and sends the replies to one read at once.
/// </summary>
internal sealed class PipeDictionaryStage(IPipeStore store) : IStage
{
    public async Task ServeAsync(Stream client)
    {
        PipeReader input = PipeReader.Create(client, new StreamPipeReaderOptions(leaveOpen: true));
        PipeWriter output = PipeWriter.Create(client, new StreamPipeWriterOptions(leaveOpen: true));
        var request = new ByteRequest();
        try
        {
            while (true)
            {
                ReadResult read = await input.ReadAsync();
                ReadOnlySequence<byte> left = read.Buffer;
                while (request.TryCut(ref left)) Execute(request, output);
                await output.FlushAsync();
                input.AdvanceTo(left.Start, left.End);
                if (read.IsCompleted) return;
            }
        }
        finally
        {
            await input.CompleteAsync();
            await output.CompleteAsync(); // Flushes, also after an invalid request.
        }
    }

    private void Execute(ByteRequest request, PipeWriter output)
    {
        switch (request.Kind)
        {
            case CommandKind.Get:
                store.WriteValue(request.Key, output);
                break;
            case CommandKind.Set:
                store.Set(request.Key, request.Value);
                output.WriteOk();
                break;
            default:
                output.WriteText(TextCommands.AnswerOther(request.ToText()));
                break;
        }
    }
}
