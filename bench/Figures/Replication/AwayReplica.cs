using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using RedKite.Figures.Durability;

namespace RedKite.Figures.Replication;

/// <summary>
/// A replica that is away while its primary is written to: with the default settings, and with the repl-backlog-size that the primary's finding names. Away means that
/// the replica's process is stopped and its connection closed.
/// </summary>
internal static partial class AwayReplica
{
    internal const string Name = "away";

    private const int Keys = 100_000;
    private const int ValueBytes = 64;
    private const int WritesPerSecond = 50_000;
    private const int AttachedSeconds = 62; // the finding is of the last minute
    private const int SyncMsMax = 120_000;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        if (kinds.FirstOrDefault(kind => kind.Name == "redkite") is not { } kind) return;
        var table = new Table(FormattableString.Invariant($"a replica that was away for {options.AwaySeconds} seconds at {WritesPerSecond:N0} SETs a second"), new("repl-backlog-size"), new("SETs a second"), new("it got"), new("seconds until it has everything", "F2"));
        report.Tables.Add(table);
        string cpus = $"{Machine.ServerCpus},{Machine.LoadCpus}";
        using ServerUnderTest primary = ServerUnderTest.Start(kind, cpus: cpus);
        using ServerUnderTest replica = ServerUnderTest.Start(kind with { Command = $"{kind.Command} --replicaof 127.0.0.1 {primary.Port.ToString(CultureInfo.InvariantCulture)}" }, cpus: cpus);
        ApplyCost.WaitFor(primary, replica, SyncMsMax);
        using SetupConnection connection = primary.Connect();
        bool isPartial = GoAway("default", AttachedSeconds, out string finding);
        if (!isPartial)
        {
            if (WantedMebibytes().Match(finding) is { Success: true } match)
            {
                report.Notes.Add($"the finding backlog-short said before the replica went away: {finding}");
                connection.Run("CONFIG", "SET", "repl-backlog-size", match.Groups[1].Value + "mb");
                isPartial = GoAway(match.Groups[1].Value + "mb, of the finding", attachedSeconds: 1, out _);
            }
            else
            {
                report.Notes.Add("no finding said which repl-backlog-size the replica needs");
            }
        }

        report.Targets.Add(Target.AtMost(0, "full synchronizations of a replica that was away, with the default settings or those of the finding", isPartial ? 0 : 1));

        bool GoAway(string name, int attachedSeconds, out string said)
        {
            using var load = new SteadyLoad(primary, Keys, ValueBytes, WritesPerSecond);
            Thread.Sleep(attachedSeconds * 1000);
            said = BacklogShort().Match(connection.Run("INFO", "findings")) is { Success: true } match ? match.Groups[1].Value : "";
            (long fulls, long partials) = Counts();
            ExternalProgram.Run("kill", ["-STOP", replica.ProcessId.ToString(CultureInfo.InvariantCulture)]);
            double seconds;
            try
            {
                connection.Run("CLIENT", "KILL", "TYPE", "replica");
                Thread.Sleep(options.AwaySeconds * 1000);
            }
            finally
            {
                ExternalProgram.Run("kill", ["-CONT", replica.ProcessId.ToString(CultureInfo.InvariantCulture)]);
            }

            long start = Stopwatch.GetTimestamp();
            ApplyCost.WaitFor(primary, replica, SyncMsMax);
            seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
            double perSecond = load.End().WritesPerSecond;
            (long fullsAfter, long partialsAfter) = Counts();
            bool goesOn = fullsAfter == fulls && partialsAfter > partials;
            table.Add(name, perSecond, goesOn ? "what it lacked" : "all data", seconds);
            return goesOn;
        }

        (long Fulls, long Partials) Counts() => (connection.ReadInfo("stats", "sync_full") ?? 0, connection.ReadInfo("stats", "sync_partial_ok") ?? 0);
    }

    [GeneratedRegex(@"^finding_backlog-short:.*?evidence=([^\r\n]*)", RegexOptions.Multiline)]
    private static partial Regex BacklogShort();

    [GeneratedRegex(@"repl-backlog-size to (\d+)mb")]
    private static partial Regex WantedMebibytes();
}
