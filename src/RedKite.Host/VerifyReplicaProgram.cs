using System.Globalization;
using RedKite.Bench;
using RedKite.Host.Comparison;
using RedKite.Host.Transfer;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Host;

/// <summary>
/// <c>redkite verify-replica</c>: says whether a replica has its primary's data, and which keys differ. Exit status 0: it has; 1: it has not, or
/// that could not be found out; 2: wrong arguments.
/// </summary>
internal static class VerifyReplicaProgram
{
    private const int WaitSecondsDefault = 60;
    private const int WaitSecondsMax = 86_400;

    private const string Usage = """
        Usage: redkite verify-replica PRIMARY REPLICA [option ...]

        Says whether a replica has the data of its primary, and which keys differ. Both may be Redis, Valkey or RedKite, and both go on meanwhile.
        REPLICA may also be a server that follows none, such as the target of redkite import: then neither should be written to meanwhile.
        Where both allow DEBUG and the primary is not written to, their DEBUG DIGEST at the same offset is compared, which keeps other clients
        of a Redis waiting. Otherwise, and where the digests differ, the keys are compared one by one, with their expiries: by DEBUG
        DIGEST-VALUE, or without DEBUG by DUMP. A key that differs is read again when the replica has executed what the primary had executed.
        PRIMARY and REPLICA are HOST[:PORT], or redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS. With a DATABASE only that is compared.
        Passwords are better in the environment, because other users of this machine see arguments: REDKITE_PASSWORD for PRIMARY,
        REDKITE_REPLICA_PASSWORD for REPLICA.
          --keys           key by key in any case
          --wait SECONDS   how long the replica may take to reach an offset of its primary; default 60
          --tls VERIFY     connects by TLS; VERIFY is `system`, a file with the trusted authorities, or `none`
          --cert FILE      the client's certificate, if the server requires one
          --key FILE       its key
          --replica-tls, --replica-cert, --replica-key   the same for REPLICA
        Exit status: 0 the data is the same, 1 it is not or could not be compared, 2 wrong arguments.
        """;

    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            output.WriteLine(Usage);
            return 0;
        }

        try
        {
            var options = new TransferArguments(arguments, ["--wait", "--tls", "--cert", "--key", "--replica-tls", "--replica-cert", "--replica-key"], ["--keys"]);
            if (options.Unnamed.Count != 2) throw new FormatException("PRIMARY and REPLICA are required; see --help");
            ServerAddress primary = options.Address(options.Unnamed[0], "--", "REDKITE_PASSWORD");
            ServerAddress replica = options.Address(options.Unnamed[1], "--replica-", "REDKITE_REPLICA_PASSWORD");
            if (primary.Database >= 0 && replica.Database >= 0 && primary.Database != replica.Database) throw new FormatException("PRIMARY and REPLICA name different databases");
            int database = Math.Max(primary.Database, replica.Database);
            return Verify(primary with { Database = database }, replica with { Database = database }, options.Has("--keys"), WaitSeconds(options["--wait"]), output);
        }
        catch (FormatException failure)
        {
            errors.WriteLine("redkite verify-replica: " + failure.Message);
            return 2;
        }
        catch (TransferException failure)
        {
            errors.WriteLine("redkite verify-replica: " + failure.Message);
            return 1;
        }
    }

    private static int WaitSeconds(string? text)
    {
        if (text is null) return WaitSecondsDefault;
        if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int seconds) || seconds is 0 or > WaitSecondsMax) throw new FormatException("--wait needs a number of seconds, 1 to 86400");
        return seconds;
    }

    private static int Verify(ServerAddress primary, ServerAddress replica, bool byKeys, int waitSeconds, TextWriter output)
    {
        using ServerLink primaryLink = ServerLink.Open(primary);
        using ServerLink replicaLink = ServerLink.Open(replica);
        using var values = new DumpDigest();
        var progress = new TransferProgress(output, !Console.IsOutputRedirected);
        var pair = new ReplicaPair(primaryLink, replicaLink, waitSeconds);
        if (!pair.WaitForLink()) progress.Line($"{replica} is no replica: both are compared as they are, so neither should be written to meanwhile");
        string why = byKeys ? "--keys" : "an address names a database";
        if (!byKeys && primary.Database < 0)
        {
            if (pair.TryDigests(out string digest, out why))
            {
                progress.Line($"the data is the same: DEBUG DIGEST {digest}");
                return 0;
            }
        }

        progress.Line($"comparing key by key: {why}");
        var comparison = new KeyComparison(pair, values, progress);
        comparison.Run();
        progress.Line(string.Create(CultureInfo.InvariantCulture, $"{Times(comparison.Keys, "key")} compared in {progress.Seconds:0.0} s: {comparison.Differences} {(comparison.Differences == 1 ? "differs" : "differ")}"));
        if (comparison.Undecided > 0) progress.Line(string.Create(CultureInfo.InvariantCulture, $"{Times(comparison.Undecided, "key")} could not be compared, because {(comparison.Undecided == 1 ? "it changes" : "they change")} all the time"));
        return comparison.Differences + comparison.Undecided == 0 ? 0 : 1;
    }
}
