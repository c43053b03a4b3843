using System.Globalization;
using System.Runtime.InteropServices;
using RedKite.Bench;
using RedKite.Host.Transfer;
using RedKite.Persistence.Files;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Host;

/// <summary>
/// <c>redkite import</c>: copies the data of a running server into another one. Exit status 0: everything; 1: not, with a line that says why;
/// 2: wrong arguments.
/// </summary>
internal static class ImportProgram
{
    private const string LocalServer = "redis://127.0.0.1";
    private const string DefaultState = "redkite-import.state";

    private const string Usage = """
        Usage: redkite import ADDRESS [option ...]

        Copies the data of a running server (Redis, Valkey, or another that has SCAN and DUMP) into a running RedKite, while both go on:
        keys of all databases with their expiries, and functions. Each key is as it was when it was read.
        ADDRESS is HOST[:PORT], or redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS. With a DATABASE only that is copied.
        Passwords are better in the environment, because other users of this machine see arguments: REDKITE_PASSWORD for ADDRESS,
        REDKITE_TO_PASSWORD for the target.
          --to ADDRESS     the target; default redis://127.0.0.1:6379
          --keep           keys that the target has stay; otherwise they are replaced
          --plain          copies with the commands of each type instead of DUMP and RESTORE
          --users          copies users too, except `default`
          --state FILE     how far it is; the same command continues from there after an interruption. Default redkite-import.state
          --tls VERIFY     connects by TLS; VERIFY is `system`, a file with the trusted authorities, or `none`
          --cert FILE      the client's certificate, if the server requires one
          --key FILE       its key
          --to-tls, --to-cert, --to-key   the same for the target
        Exit status: 0 everything is copied, 1 not, 2 wrong arguments.
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
            var options = new TransferArguments(arguments, ["--to", "--state", "--tls", "--cert", "--key", "--to-tls", "--to-cert", "--to-key"], ["--keep", "--plain", "--users"]);
            if (options.Unnamed.Count != 1) throw new FormatException("ADDRESS is required; see --help");
            ServerAddress from = options.Address(options.Unnamed[0], "--", "REDKITE_PASSWORD");
            ServerAddress to = options.Address(options["--to"] ?? LocalServer, "--to-", "REDKITE_TO_PASSWORD");
            if (to.Database >= 0) throw new FormatException("--to names no database: keys keep theirs");
            return Import(options, from, to, output, errors);
        }
        catch (FormatException failure)
        {
            errors.WriteLine("redkite import: " + failure.Message);
            return 2;
        }
        catch (Exception failure) when (failure is TransferException or FileFailure)
        {
            errors.WriteLine("redkite import: " + failure.Message);
            return 1;
        }
    }

    private static int Import(TransferArguments options, ServerAddress from, ServerAddress to, TextWriter output, TextWriter errors)
    {
        using ServerLink sourceLink = ServerLink.Open(from);
        using ServerLink targetLink = ServerLink.Open(to);
        var source = new SourceServer(sourceLink);
        string runId = source.InfoField("run_id");
        if (runId.Length > 0 && runId == SourceServer.FieldOf(targetLink.RunOrFail("INFO", "server").Text, "run_id")) throw new TransferException($"{from} and {to} are the same server");

        var progress = new TransferProgress(output, !Console.IsOutputRedirected);
        ImportState state = ImportState.Open(options["--state"] ?? DefaultState, from, to, runId);
        if (state.Database >= 0) progress.Line(string.Create(CultureInfo.InvariantCulture, $"continues in database {state.Database} after {Times(state.Keys, "key")}"));
        var run = new ImportRun(source, new TargetServer(targetLink), new ImportOptions { KeepsExisting = options.Has("--keep"), IsPlain = options.Has("--plain"), CopiesUsers = options.Has("--users") }, state, progress);

        // The first signal ends it after the keys under way, the second one at once.
        bool isStopped = false;
        using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
        using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
        bool isComplete;
        try
        {
            isComplete = run.Run(() => Volatile.Read(ref isStopped));
        }
        catch (TransferException failure) when (state.Database >= 0)
        {
            state.Save();
            throw new TransferException($"{failure.Message}; {Continues(state)}");
        }

        if (!isComplete)
        {
            errors.WriteLine($"redkite import: interrupted; {Continues(state)}");
            return 1;
        }

        state.Delete();
        progress.Line(string.Create(CultureInfo.InvariantCulture, $"{Times(state.Keys, "key")} copied, {run.Kept} kept, {Times(run.Functions, "function library")}, {Times(run.Users, "user")}, in {progress.Seconds:0.0} s"));
        foreach (string line in run.Failures) errors.WriteLine("redkite import: not copied: " + line);
        if (run.FailureCount > run.Failures.Count) errors.WriteLine(string.Create(CultureInfo.InvariantCulture, $"redkite import: not copied: {run.FailureCount - run.Failures.Count} more"));
        return run.FailureCount == 0 ? 0 : 1;

        void Stop(PosixSignalContext signal)
        {
            signal.Cancel = !Volatile.Read(ref isStopped);
            Volatile.Write(ref isStopped, true);
        }
    }

    private static string Continues(ImportState state) =>
        string.Create(CultureInfo.InvariantCulture, $"{Times(state.Keys, "key")} {(state.Keys == 1 ? "is" : "are")} copied, and the same command continues there ({state.Path})");
}
