using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>
/// Sends a stream to two watched servers, command by command, and compares the events of each. Both servers accept a command, or both
/// refuse it; the other replies are left to the differential streams.
/// </summary>
internal sealed class EventStreamRunner : IDisposable
{
    private readonly IWatchedServer _oracle;
    private readonly IWatchedServer _subject;
    private readonly RespConnection?[] _oracleConnections = new RespConnection?[StreamGenerator.Connections];
    private readonly RespConnection?[] _subjectConnections = new RespConnection?[StreamGenerator.Connections];

    private EventStreamRunner(IWatchedServer oracle, IWatchedServer subject) => (_oracle, _subject) = (oracle, subject);

    /// <summary>How many events were compared by all runners, for the report of a run.</summary>
    public static long EventsCompared { get; private set; }

    /// <summary>Runs a stream on emptied servers; null if all events are the same.</summary>
    public static Difference? Run(IWatchedServer oracle, IWatchedServer subject, IReadOnlyList<Step> steps)
    {
        oracle.Reset();
        subject.Reset();
        using EventStreamRunner runner = new(oracle, subject);
        for (int i = 0; i < steps.Count; i++)
        {
            if (runner.RunStep(i, steps[i]) is { } difference) return difference;
        }

        return null;
    }

    public void Dispose()
    {
        foreach (RespConnection? connection in (RespConnection?[])[.. _oracleConnections, .. _subjectConnections]) connection?.Dispose();
    }

    private Difference? RunStep(int index, Step step)
    {
        foreach (byte[][] command in step.Episode.Commands)
        {
            if (Exchange(index, step.Connection, [command]) is { } difference) return difference;
        }

        if (step.Episode.WaitMs > 0) Thread.Sleep(step.Episode.WaitMs);
        return Exchange(index, step.Connection, step.Episode.CommandsAfterWait);
    }

    // Commands after a wait are compared together and without expired fields: Redis removes one when a command looks for it,
    // RedKite those of a packed hash with the next command and those of a table with the next write. Which are reported in the end
    // is compared where no command meets them (ActiveExpiryEventTests). A refused command's misses are not compared: whether it looks
    // for its key before or after it finds its mistake changes nothing.
    private Difference? Exchange(int step, int connection, IReadOnlyList<byte[][]> commands)
    {
        RespConnection oracle = _oracleConnections[connection] ??= RespConnection.Connect(_oracle.Port);
        RespConnection subject = _subjectConnections[connection] ??= RespConnection.Connect(_subject.Port);
        List<string> oracleEvents = [];
        List<string> subjectEvents = [];
        bool comparesMisses = true;
        foreach (byte[][] command in commands)
        {
            byte[] request = CommandLine.Encode(command);
            oracle.Send(request);
            subject.Send(request);
            (RespValue oracleReply, RespValue subjectReply) = (oracle.Read(), subject.Read());
            oracleEvents.AddRange(_oracle.TakeEvents());
            subjectEvents.AddRange(_subject.TakeEvents());
            comparesMisses &= !oracleReply.IsError && !LooksUpItsOwnWay(command);
            if (oracleReply.IsError != subjectReply.IsError) return new Difference(step, command, $"{oracleReply}", $"{subjectReply}");
            Settle(command, (oracle, oracleReply), (subject, subjectReply));
        }

        EventsCompared += oracleEvents.Count;
        bool same = oracleEvents.Where(IsCompared).SequenceEqual(subjectEvents.Where(IsCompared));
        return same ? null : new Difference(step, commands[0], Shown(oracleEvents), Shown(subjectEvents));

        bool IsCompared(string text) =>
            (commands.Count == 1 || !text.Contains(" hexpired ", StringComparison.Ordinal)) && (comparesMisses || !text.Contains(" keymiss ", StringComparison.Ordinal));
    }

    // SORT BY looks for weights in the order of the elements, which is each server's own for a set, and Redis for those beyond LIMIT, too.
    private static bool LooksUpItsOwnWay(byte[][] command) => command[0] is [(byte)'s' or (byte)'S', (byte)'o' or (byte)'O', (byte)'r' or (byte)'R', (byte)'t' or (byte)'T', ..];

    // Members that were chosen at random are removed from both; what that reports is no part of the comparison.
    private void Settle(byte[][] command, (RespConnection Connection, RespValue Reply) oracle, (RespConnection Connection, RespValue Reply) subject)
    {
        (byte[][]? onOracle, byte[][]? onSubject) = RandomSample.Settle(command, oracle.Reply, subject.Reply);
        if (onOracle is not null) oracle.Connection.Run(onOracle);
        if (onSubject is not null) subject.Connection.Run(onSubject);
        if (onOracle is null && onSubject is null) return;
        _oracle.TakeEvents();
        _subject.TakeEvents();
    }

    private static string Shown(List<string> events) => events.Count == 0 ? "(no events)" : string.Join(", ", events);
}
