using RedKite.Testing;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// Sends a stream to both servers, cut into chunks at random places, and compares each reply byte by byte. Batches go one
/// after the other, so that the order of commands of several connections is the same on both sides.
/// </summary>
internal sealed class StreamRunner(ServerPair pair, int chunkSeed)
{
    private const int ReplyTimeoutMs = 10_000;
    private const int ChunksMax = 4;

    private readonly RespConnection?[] _oracle = new RespConnection?[StreamGenerator.Connections];
    private readonly RespConnection?[] _subject = new RespConnection?[StreamGenerator.Connections];

    /// <summary>How many commands were sent by all runners, for the report of a run.</summary>
    public static long CommandsSent { get; private set; }

    /// <summary>Runs a stream on fresh servers; null if there is no difference that is not allowed.</summary>
    public static Difference? Run(ServerPair pair, IReadOnlyList<Step> steps, int chunkSeed)
    {
        pair.Reset();
        StreamRunner runner = new(pair, chunkSeed);
        try
        {
            return runner.RunSteps(steps) ?? KeyspaceComparison.Compare(pair, steps.Count);
        }
        finally
        {
            for (int i = 0; i < StreamGenerator.Connections; i++) runner.Disconnect(i);
        }
    }

    private Difference? RunSteps(IReadOnlyList<Step> steps)
    {
        Random chunks = new(chunkSeed);
        for (int first = 0; first < steps.Count;)
        {
            int last = first;
            while (!steps[last].EndsBatch && last + 1 < steps.Count && steps[last + 1].Connection == steps[first].Connection) last++;
            if (RunBatch(steps, first, last, chunks) is { } difference) return difference;
            if (steps[last].Episode.WaitAfterMs > 0) Thread.Sleep(steps[last].Episode.WaitAfterMs);
            first = last + 1;
        }

        return null;
    }

    private Difference? RunBatch(IReadOnlyList<Step> steps, int first, int last, Random chunks)
    {
        int connection = steps[first].Connection;
        RespConnection oracle = _oracle[connection] ??= RespConnection.Connect(pair.Oracle.Port, ReplyTimeoutMs);
        RespConnection subject = _subject[connection] ??= RespConnection.Connect(pair.Subject.Port, ReplyTimeoutMs);

        using MemoryStream bytes = new();
        for (int i = first; i <= last; i++)
        {
            foreach (byte[][] command in steps[i].Episode.Commands) bytes.Write(CommandLine.Encode(command));
        }

        List<Range> pieces = Split((int)bytes.Length, chunks);
        foreach (RespConnection side in (RespConnection[])[oracle, subject])
        {
            foreach (Range piece in pieces) side.Send(bytes.GetBuffer().AsSpan(0, (int)bytes.Length)[piece]);
        }

        for (int i = first; i <= last; i++)
        {
            foreach (byte[][] command in steps[i].Episode.Commands)
            {
                CommandsSent++;
                Comparison comparison = new(command, oracle.Read(), subject.Read());
                bool same = oracle.LastBytes.SequenceEqual(subject.LastBytes) && comparison.Oracle.Equals(comparison.Subject);
                if (!same && !AllowedDifferences.Allow(comparison))
                    return new Difference(i, command, comparison.Oracle.ToString(), comparison.Subject.ToString());
                if (comparison.Subject.IsTimeout) return new Difference(i, command, "neither server replied", "");
            }
        }

        return EndBatch(steps, last, connection, oracle, subject);
    }

    private Difference? EndBatch(IReadOnlyList<Step> steps, int last, int connection, RespConnection oracle, RespConnection subject)
    {
        byte[][] command = steps[last].Episode.Commands[^1];
        if (oracle.Pushes.Count + subject.Pushes.Count > 0)
        {
            bool same = oracle.Pushes.SequenceEqual(subject.Pushes);
            if (!same) return new Difference(last, command, "pushed " + string.Join(' ', oracle.Pushes), "pushed " + string.Join(' ', subject.Pushes));
            oracle.Pushes.Clear();
            subject.Pushes.Clear();
        }

        if (!steps[last].Episode.ClosesConnection) return null;
        (string oracleEnd, string subjectEnd) = (oracle.Read().ToString(), subject.Read().ToString());
        Disconnect(connection);
        return oracleEnd == subjectEnd ? null : new Difference(last, command, "then " + oracleEnd, "then " + subjectEnd);
    }

    private void Disconnect(int connection)
    {
        _oracle[connection]?.Dispose();
        _subject[connection]?.Dispose();
        _oracle[connection] = null;
        _subject[connection] = null;
    }

    private static List<Range> Split(int length, Random random)
    {
        int[] cuts = [0, .. Enumerable.Range(0, random.Next(ChunksMax)).Select(_ => random.Next(length)).Order(), length];
        return [.. cuts.Zip(cuts.Skip(1), (from, to) => from..to).Where(piece => piece.Start.Value < piece.End.Value)];
    }
}
