using RedKite.Host.Transfer;

namespace RedKite.Host;

/// <summary><c>redkite doctor</c>: prints the open findings of a running server with their evidence and remedies. The exit status is for scripts.</summary>
internal static class DoctorProgram
{
    private const int Healthy = 0;
    private const int Warnings = 1;
    private const int Critical = 2;
    private const int Unusable = 3;

    private const string Usage = """
        Usage: redkite doctor [ADDRESS] [option value ...]

        Prints what a running RedKite server finds wrong with itself: each finding with its evidence and its remedy.
        ADDRESS is HOST[:PORT], or redis://[USER:PASSWORD@]HOST[:PORT], or rediss:// for TLS; default 127.0.0.1:6379.
        REDKITE_PASSWORD in the environment is the password if the address has none: arguments are seen by other users of this machine.
          --tls VERIFY     connects by TLS; VERIFY is `system`, a file with the trusted authorities, or `none`
          --cert FILE      the client's certificate, if the server requires one
          --key FILE       its key

        Exit status: 0 healthy (notices at most), 1 warnings, 2 critical findings, 3 the server could not be asked.
        """;

    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            output.WriteLine(Usage);
            return Healthy;
        }

        try
        {
            var options = new TransferArguments(arguments, ["--tls", "--cert", "--key"], []);
            if (options.Unnamed.Count > 1) throw new FormatException("only one ADDRESS; see --help");
            using ServerLink link = ServerLink.Open(options.Address(options.Unnamed.Count == 1 ? options.Unnamed[0] : "127.0.0.1", "--", "REDKITE_PASSWORD"));
            string info = link.RunOrFail("INFO", "findings").Text;
            if (!info.Contains("findings_open:", StringComparison.Ordinal)) throw link.Fail("it has no findings: it is no RedKite server");
            return Print(info, link.Address.ToString(), output);
        }
        catch (Exception failure) when (failure is FormatException or TransferException)
        {
            errors.WriteLine("redkite doctor: " + failure.Message);
            return Unusable;
        }
    }

    // finding_NAME:severity=...,since=...,title=...,evidence=...[,culprit=...],remedy=...
    private static int Print(string info, string address, TextWriter output)
    {
        int worst = Healthy, count = 0;
        foreach (string line in info.Split("\r\n"))
        {
            int colon = line.IndexOf(':', StringComparison.Ordinal);
            if (!line.StartsWith("finding_", StringComparison.Ordinal) || colon < 0) continue;
            string severity = Part(line, "severity=", ",since=");
            worst = Math.Max(worst, severity switch { "critical" => Critical, "warning" => Warnings, _ => Healthy });
            string culprit = line.Contains(",culprit=", StringComparison.Ordinal) ? Part(line, ",culprit=", ",remedy=") : "";
            string evidence = Part(line, ",evidence=", culprit.Length > 0 ? ",culprit=" : ",remedy=");
            if (count++ > 0) output.WriteLine();
            output.WriteLine($"{severity}: {Part(line, ",title=", ",evidence=")} ({line["finding_".Length..colon]})");
            output.WriteLine($"  {evidence}{(culprit.Length > 0 ? $" ({culprit})" : "")}");
            output.WriteLine($"  Remedy: {Part(line, ",remedy=", null)}");
        }

        if (count == 0) output.WriteLine($"{address} finds nothing wrong.");
        return worst;
    }

    private static string Part(string line, string after, string? before)
    {
        int start = line.IndexOf(after, StringComparison.Ordinal) + after.Length;
        int end = before is null ? line.Length : line.IndexOf(before, start, StringComparison.Ordinal);
        return start < after.Length || end < 0 ? "" : line[start..end];
    }
}
