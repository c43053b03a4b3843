using System.Globalization;
using RedKite.Bench;
using RedKite.Host.Transfer;
using RedKite.Persistence.Files;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Host;

/// <summary><c>redkite export</c>: writes the data of a running server into an RDB file. Exit status 0, 1 with one line, or 2 for wrong arguments.</summary>
internal static class ExportProgram
{
    private const string Usage = """
        Usage: redkite export ADDRESS FILE [option ...]

        Writes the data of a running server into an RDB file: of one moment if the server sends it as to a replica (SYNC), otherwise key
        by key (SCAN and DUMP) while it changes. FILE is replaced when it is complete.
        ADDRESS is HOST[:PORT], or redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS. With a DATABASE only that is exported.
        REDKITE_PASSWORD in the environment is the password if the address has none: arguments are seen by other users of this machine.
          --scan           key by key in any case
          --for SERVER     a file for valkey-8 or valkey-9, which a RedKite server writes: Valkey refuses files of version 12 (Redis 7.4 and
                           later, RedKite). valkey-8 has no expiries of fields, and neither has vector sets without a module
          --tls VERIFY     connects by TLS; VERIFY is `system`, a file with the trusted authorities, or `none`
          --cert FILE      the client's certificate, if the server requires one
          --key FILE       its key
        Exit status: 0 written, 1 not, 2 wrong arguments.
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
            var options = new TransferArguments(arguments, ["--tls", "--cert", "--key", "--for"], ["--scan"]);
            if (options.Unnamed.Count != 2) throw new FormatException("ADDRESS and FILE are required; see --help");
            if (options.Has("--for") && options.Has("--scan")) throw new FormatException("--for needs the data of one moment, so it excludes --scan");
            Export(options.Address(options.Unnamed[0], "--", "REDKITE_PASSWORD"), options.Unnamed[1], options.Has("--scan"), VersionOf(options["--for"]), output);
            return 0;
        }
        catch (FormatException failure)
        {
            errors.WriteLine("redkite export: " + failure.Message);
            return 2;
        }
        catch (Exception failure) when (failure is TransferException or FileFailure)
        {
            errors.WriteLine("redkite export: " + failure.Message);
            return 1;
        }
    }

    // What a replica of that server says of itself.
    private static string? VersionOf(string? target) => target switch
    {
        null => null,
        "valkey-8" => "8.0.0",
        "valkey-9" => "9.0.0",
        _ => throw new FormatException($"--for takes valkey-8 or valkey-9, not '{target}'"),
    };

    private static void Export(ServerAddress address, string path, bool scans, string? version, TextWriter output)
    {
        string folder = Path.GetDirectoryName(Path.GetFullPath(path))!;
        string name = Path.GetFileName(path);
        using var file = new FileReplacement(DiskFiles.Instance, folder, string.Create(CultureInfo.InvariantCulture, $"temp-{Environment.ProcessId}-{name}"), syncsWhileGrowing: true);
        var progress = new TransferProgress(output, !Console.IsOutputRedirected);
        string what = TrySync(address, scans, version, file, progress) ? "the data of one moment" : Scan(address, file, progress);
        file.Commit(name);
        progress.Line(string.Create(CultureInfo.InvariantCulture, $"{path}: {what}, {Times(file.Length, "byte")}"));
    }

    // A server sends all databases, so for one of them its keys are read.
    private static bool TrySync(ServerAddress address, bool scans, string? version, FileReplacement file, TransferProgress progress)
    {
        if (address.Database >= 0 && version is not null) throw new FormatException("--for needs the data of one moment, which is that of all databases");
        if (scans || address.Database >= 0) return false;
        using ServerLink link = ServerLink.Open(address);
        if (FullSync.Begin(link, version, out string head) is { } refusal)
        {
            if (version is not null) throw link.Fail($"the server does not send its data as to a replica: {refusal}");
            progress.Line($"{address} does not send its data as to a replica ({refusal}); reading its keys one by one while they change");
            return false;
        }

        FullSync.Receive(link, head, file.Append, bytes => progress.Show(0, bytes, ""));
        return true;
    }

    private static string Scan(ServerAddress address, FileReplacement file, TransferProgress progress)
    {
        using ServerLink link = ServerLink.Open(address);
        using var export = new ScanExport(new SourceServer(link), file.Append, progress);
        export.Run();
        return string.Create(CultureInfo.InvariantCulture, $"{Times(export.Keys, "key")} of {Times(export.Databases, "database")}");
    }
}
