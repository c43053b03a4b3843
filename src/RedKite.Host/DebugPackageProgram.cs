using System.Globalization;
using RedKite.Bench;
using RedKite.Host.Clusters;
using RedKite.Host.Transfer;
using RedKite.Persistence.Files;
using RedKite.Protocol;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Host;

/// <summary><c>redkite debug-package</c>: fetches the debug package of a running server into a file. Exit status 0, or 1 with one line.</summary>
internal static class DebugPackageProgram
{
    private const long PackageBytesMax = 1L << 30;

    private const string Usage = $"""
        Usage: redkite debug-package [ADDRESS] --output FILE [option value ...]

        ADDRESS is HOST[:PORT], or redis://[USER:PASSWORD@]HOST[:PORT], or rediss:// for TLS; default 127.0.0.1:6379.
          --output FILE    the file to write
          --host H         instead of ADDRESS
          --port P         its port
          --user U         default `default`
          --pass W         the password; default: the variable REDKITE_PASSWORD
          --log SECONDS    collect the log for 0 to 15 seconds, default 15
          --trace SECONDS  sample the CPU for up to 30 seconds
          --tls VERIFY     connect by TLS; VERIFY is `system`, a file with the trusted authorities, or `none`
          --cert FILE      the client's certificate, if the server requires one
          --key FILE       its key

        redkite debug-package --cluster --output FILE [option value ...]   of a cluster with etcd: the packages of all its nodes in one file,
        with the topology and what nodes say of themselves. --log and --trace are for each node.
        {ClusterArguments.Manual}
        """;

    private const string AddressKey = "ADDRESS";

    private static readonly string[] Options = ["--output", "--host", "--port", "--user", "--pass", "--log", "--trace", "--tls", "--cert", "--key"];

    /// <summary>Has a server build its package, and receives it.</summary>
    /// <param name="link">The server.</param>
    /// <param name="log">For how many seconds it collects the log; null: as long as it does by default.</param>
    /// <param name="trace">For how many seconds it samples the CPU; null: not at all.</param>
    internal static byte[] Fetch(ServerLink link, string? log, string? trace)
    {
        List<Word> request = ["DEBUG", "PACKAGE"];
        if (log is not null) request.AddRange(["LOG", log]);
        if (trace is not null) request.AddRange(["TRACE", trace]);
        link.Queue([.. request]);
        link.Flush();
        return Receive(link);
    }

    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            output.WriteLine(Usage);
            return 0;
        }

        try
        {
            Dictionary<string, string> options = Parse(arguments);
            byte[] package = Fetch(options);
            File.WriteAllBytes(options["--output"], package);
            output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{options["--output"]}: {Times(package.Length, "byte")}"));
            return 0;
        }
        catch (Exception failure) when (failure is FormatException or TransferException or IOException or UnauthorizedAccessException or NotSupportedException or ArgumentException)
        {
            errors.WriteLine("redkite debug-package: " + FileFailure.ReasonOf(failure));
            return 1;
        }
    }

    private static Dictionary<string, string> Parse(string[] arguments)
    {
        var options = new Dictionary<string, string>(StringComparer.Ordinal);
        for (int i = 0; i < arguments.Length; i += 2)
        {
            if (!arguments[i].StartsWith('-') && options.TryAdd(AddressKey, arguments[i]))
            {
                i--;
                continue;
            }

            if (!Options.Contains(arguments[i])) throw new FormatException($"unknown option '{arguments[i]}'; see --help");
            if (i + 1 == arguments.Length) throw new FormatException($"{arguments[i]} needs a value");
            options[arguments[i]] = arguments[i + 1];
        }

        if (options.ContainsKey(AddressKey) && (options.ContainsKey("--host") || options.ContainsKey("--port"))) throw new FormatException("ADDRESS excludes --host and --port");
        if (!options.ContainsKey("--output")) throw new FormatException("--output FILE is required");
        return options;
    }

    private static byte[] Fetch(Dictionary<string, string> options)
    {
        if (!ushort.TryParse(options.GetValueOrDefault("--port", "6379"), CultureInfo.InvariantCulture, out ushort port)) throw new FormatException("--port must be between 0 and 65535");
        string? certificate = options.GetValueOrDefault("--cert");
        string? key = options.GetValueOrDefault("--key");
        if (certificate is not null && key is null) throw new FormatException("--cert needs --key");
        ServerAddress address = options.TryGetValue(AddressKey, out string? text) ? ServerAddress.Parse(text) : new ServerAddress { Host = options.GetValueOrDefault("--host", "127.0.0.1"), Port = port };
        using ServerLink link = ServerLink.Open(address with
        {
            User = options.GetValueOrDefault("--user", address.User),
            Password = options.GetValueOrDefault("--pass", address.Password.Length > 0 ? address.Password : Environment.GetEnvironmentVariable("REDKITE_PASSWORD") ?? ""),
            Tls = options.GetValueOrDefault("--tls") ?? address.Tls,
            Certificate = certificate,
            Key = key,
        });
        return Fetch(link, options.GetValueOrDefault("--log"), options.GetValueOrDefault("--trace"));
    }

    private static byte[] Receive(ServerLink link)
    {
        ReplyElement element = link.ReadElement();
        if (element.Marker == (byte)'-') throw element.Bytes.StartsWith("NOAUTH"u8) ? link.Fail("the server needs a password: use --pass (and --user), or the variable REDKITE_PASSWORD") : link.Refused(element);
        if (!element.IsString || element.Number is < 0 or > PackageBytesMax) throw link.Fail("the server did not reply with a package");
        var package = new byte[element.Number];
        int received = 0;
        while (true)
        {
            element.Bytes.CopyTo(package.AsSpan(received));
            received += element.Bytes.Length;
            if (element.IsWhole) return package;
            element = link.ReadElement();
        }
    }
}
