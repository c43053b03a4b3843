using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// Sends a stream to both servers, cut into chunks at random positions, and compares each reply byte by byte. Batches are
/// sequential, so the order of commands over several connections is the same on both sides.
/// </summary>
internal sealed class StreamRunner(ServerPair pair, int chunkSeed, int chunksMax)
{
    private const int ChunksMaxDefault = 4;

    private static long _commandsSent;

    private readonly RespConnection?[] _oracle = new RespConnection?[StreamGenerator.Connections];
    private readonly RespConnection?[] _subject = new RespConnection?[StreamGenerator.Connections];
    private readonly (string Oracle, string Subject)[] _ids = new (string Oracle, string Subject)[StreamGenerator.Connections];

    /// <summary>The number of commands sent by all runners, for the report of a run.</summary>
    public static long CommandsSent => Interlocked.Read(ref _commandsSent);

    /// <summary>Runs a stream on emptied servers; returns null if all differences are allowed.</summary>
    public static Difference? Run(ServerPair pair, IReadOnlyList<Step> steps, int chunkSeed, int chunksMax = ChunksMaxDefault)
    {
        pair.Reset();
        StreamRunner runner = new(pair, chunkSeed, chunksMax);
        try
        {
            return runner.RunSteps(steps) ?? StatisticsComparison.Compare(pair, steps.Count) ?? KeyspaceComparison.Compare(pair, steps.Count);
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

            Episode end = steps[last].Episode;
            IEnumerable<(int, byte[][])> batch = Enumerable.Range(first, last - first + 1).SelectMany(i => steps[i].Episode.Commands.Select(command => (i, command)));
            int? killed = end.Kills is { } distance ? (steps[first].Connection + distance) % StreamGenerator.Connections : null;
            if (Exchange(steps[first].Connection, [.. batch], chunks, killed) is { } difference) return difference;
            if (killed is { } other && Close(other, last, end.Commands[^1]) is { } alive) return alive;
            if (end.WaitMs > 0)
            {
                Thread.Sleep(end.WaitMs);
                if (Exchange(steps[first].Connection, [.. end.CommandsAfterWait.Select(command => (last, command))], chunks) is { } later) return later;
            }

            if (end.ClosesConnection && Close(steps[first].Connection, last, end.Commands[^1]) is { } open) return open;
            first = last + 1;
        }

        return null;
    }

    // Runs one batch on one connection of both servers.
    private Difference? Exchange(int connection, List<(int Step, byte[][] Command)> commands, Random chunks, int? killed = null)
    {
        if (killed is { } target) Connect(target);
        Connect(connection);
        (RespConnection oracle, RespConnection subject) = (_oracle[connection]!, _subject[connection]!);

        long start = Stopwatch.GetTimestamp();
        byte[] bytes = [.. commands.SelectMany(command => CommandLine.Encode(command.Command))];
        List<Range> pieces = Split(bytes.Length, chunks);
        if (killed is { } about)
        {
            // Each server knows the connection by another id and address.
            oracle.Send([.. commands.SelectMany(command => CommandLine.Encode(Named(command.Command, _ids[about].Oracle, _oracle[about]!, pair.Oracle.Port)))]);
            subject.Send([.. commands.SelectMany(command => CommandLine.Encode(Named(command.Command, _ids[about].Subject, _subject[about]!, pair.Subject.Port)))]);
        }
        else
        {
            foreach (RespConnection side in (RespConnection[])[oracle, subject])
            {
                foreach (Range piece in pieces) side.Send(bytes.AsSpan(piece));
            }
        }

        Comparison? before = null;
        foreach ((int step, byte[][] command) in commands)
        {
            Interlocked.Increment(ref _commandsSent);
            Comparison comparison = new(command, oracle.Read(), subject.Read());
            ClockDistance.RecordExchange(start);
            if (RandomSample.Follows(before, comparison) && RandomSample.Check(before!, comparison) is { } wrong)
                return new Difference(step, command, $"{wrong}\n  listed:  {before!.Subject}\n  oracle:  {comparison.Oracle}", comparison.Subject.ToString());
            before = comparison;
            bool same = oracle.LastBytes.SequenceEqual(subject.LastBytes) && comparison.Oracle.Equals(comparison.Subject);
            if (!same && !AllowedDifferences.Allow(comparison)) return Difference.Of(step, comparison);
            if (comparison.Subject.IsTimeout) return new Difference(step, command, "(neither server replied)", "");
        }

        (int lastStep, byte[][] lastCommand) = commands[^1];
        if (!oracle.Pushes.SequenceEqual(subject.Pushes))
            return new Difference(lastStep, lastCommand, "pushed " + string.Join(' ', oracle.Pushes), "pushed " + string.Join(' ', subject.Pushes));
        oracle.Pushes.Clear();
        subject.Pushes.Clear();
        Settle(before!, oracle, subject);
        return null;
    }

    // The state after a SPOP must be the same for what follows, so a SPOP ends its batch.
    private static void Settle(Comparison last, RespConnection oracle, RespConnection subject)
    {
        if (RandomSample.MayEncodeAnew(last.Command, last.Oracle))
        {
            // Which members remain decides about the encoding, and each server has others: both begin without the set again.
            byte[][] count = ["SCARD"u8.ToArray(), last.Command[1]];
            long remaining = oracle.Run(count).Number;
            subject.Run(count);
            if (RandomSample.EncodesAnew(last.Oracle, remaining))
            {
                byte[][] delete = ["DEL"u8.ToArray(), last.Command[1]];
                oracle.Run(delete);
                subject.Run(delete);
                return;
            }
        }

        (byte[][]? onOracle, byte[][]? onSubject) = RandomSample.Settle(last.Command, last.Oracle, last.Subject);
        if (onOracle is not null) oracle.Run(onOracle);
        if (onSubject is not null) subject.Run(onSubject);
    }

    private static byte[][] Named(byte[][] command, string id, RespConnection connection, int port) => [.. command.Select(word => Encoding.Latin1.GetString(word) switch
    {
        Episode.IdOfKilled => Encoding.ASCII.GetBytes(id),
        Episode.AddressOfKilled => Encoding.ASCII.GetBytes(connection.LocalEndPoint.ToString()!),
        Episode.AddressOfServer => Encoding.ASCII.GetBytes($"127.0.0.1:{port}"),
        _ => word,
    })];

    private void Connect(int connection)
    {
        if (_oracle[connection] is not null) return;
        RespConnection oracle = _oracle[connection] = RespConnection.Connect(pair.Oracle.Port), subject = _subject[connection] = RespConnection.Connect(pair.Subject.Port);
        _ids[connection] = (oracle.Run("CLIENT ID").Number.ToString(CultureInfo.InvariantCulture), subject.Run("CLIENT ID").Number.ToString(CultureInfo.InvariantCulture));
    }

    private Difference? Close(int connection, int step, byte[][] command)
    {
        (string oracle, string subject) = ($"then {_oracle[connection]!.Read()}", $"then {_subject[connection]!.Read()}");
        Disconnect(connection);
        return oracle == subject ? null : new Difference(step, command, oracle, subject);
    }

    private void Disconnect(int connection)
    {
        _oracle[connection]?.Dispose();
        _subject[connection]?.Dispose();
        _oracle[connection] = null;
        _subject[connection] = null;
    }

    private List<Range> Split(int length, Random random)
    {
        int[] cuts = [0, .. Enumerable.Range(0, random.Next(chunksMax)).Select(_ => random.Next(length)).Order(), length];
        return [.. cuts.Zip(cuts.Skip(1), (from, to) => from..to).Where(piece => piece.Start.Value < piece.End.Value)];
    }
}
