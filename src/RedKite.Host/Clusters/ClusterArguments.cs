using System.Globalization;
using RedKite.Bench;
using RedKite.Host.Transfer;
using RedKite.Server.Config;
using RedKite.Store.Keyspace;

namespace RedKite.Host.Clusters;

/// <summary>Where a cluster's store is and how its nodes are reached, as arguments and the environment say it.</summary>
internal static class ClusterArguments
{
    /// <summary>The environment's variable with the password of etcd's user.</summary>
    internal const string EtcdPasswordVariable = "REDKITE_ETCD_PASSWORD";

    private const string Etcd = "--cluster-etcd";
    private const string PasswordFile = "--cluster-etcd-password-file";

    /// <summary>The options with a value by which the store and the nodes are found.</summary>
    internal static readonly string[] Connection =
    [
        Etcd, "--cluster-etcd-prefix", "--cluster-etcd-user", PasswordFile, "--cluster-etcd-ca-file", "--cluster-etcd-cert-file", "--cluster-etcd-key-file",
        "--node", "--user", "--pass", "--tls", "--cert", "--key",
    ];

    /// <summary>What these options are, for manuals.</summary>
    internal const string Manual = """
          --cluster-etcd URL[,URL ...]     the members of etcd, as the nodes have them
          --cluster-etcd-prefix P          what the cluster's keys begin with; default /redkite/
          --cluster-etcd-user U            a user of etcd; the password is in REDKITE_ETCD_PASSWORD or a file:
          --cluster-etcd-password-file F   its first line
          --cluster-etcd-ca-file, --cluster-etcd-cert-file, --cluster-etcd-key-file F   for https, as PEM
          --node ADDRESS                   instead: a node that is asked for all of these; what is given here comes before its answer
          --user U, --pass W               how to log in at nodes; default `default`, and the variable REDKITE_PASSWORD
          --tls VERIFY                     connects to nodes by TLS; VERIFY is `system`, a file with the trusted authorities, or `none`
          --cert FILE, --key FILE          the client's certificate and its key, if nodes require one
        """;

    /// <summary>The settings of the store.</summary>
    /// <exception cref="FormatException">They are missing or wrong.</exception>
    /// <exception cref="TransferException">The node that should know them is not reached.</exception>
    internal static Settings StoreSettings(TransferArguments arguments)
    {
        Dictionary<string, string> values = new(StringComparer.Ordinal);
        if (arguments["--node"] is { } text)
        {
            foreach ((string name, string value) in OfNode(arguments.Address(text, "--", "REDKITE_PASSWORD"), arguments)) values[name] = value;
            if (values.GetValueOrDefault("cluster-etcd", "").Length == 0 && arguments[Etcd] is null) throw new TransferException($"{text}: the node has no cluster-etcd: its cluster has no store, and this program needs one");
        }

        foreach (string option in Connection.Where(static option => option.StartsWith(Etcd, StringComparison.Ordinal) && option != PasswordFile))
        {
            if (arguments[option] is { } value) values[option[2..]] = value;
        }

        if (!values.ContainsKey("cluster-etcd")) throw new FormatException("where is the cluster? --cluster-etcd URL, or --node ADDRESS; see --help");
        if (PasswordOf(arguments) is { } password) values["cluster-etcd-password"] = password;
        return Read(CommandLine.OfHost(null, [.. values.Where(static value => value.Value.Length > 0).Select(static value => $"{value.Key} {ConfigLine.Quote(SettingText.FromNative(value.Value))}")])).Settings;
    }

    /// <summary>Reads settings for a program that is no node.</summary>
    /// <exception cref="FormatException">They are wrong.</exception>
    internal static Configuration Read(CommandLine commandLine)
    {
        var configuration = new Configuration(new Settings());
        try
        {
            commandLine.Lines.Add("cluster-enabled yes"); // the settings of a cluster are refused without it
            ConfigFile.Load(configuration, commandLine, Console.OpenStandardInput());
            configuration.CheckAtStart();
            return configuration;
        }
        catch (RedKiteConfigException failure)
        {
            throw new FormatException(failure.Message);
        }
    }

    /// <summary>A node's address with what the options say about nodes.</summary>
    internal static ServerAddress AddressOf(TransferArguments arguments, string host, int port, int tlsPort)
    {
        ServerAddress address = arguments.Address("127.0.0.1", "--", "REDKITE_PASSWORD");
        return WithLogin(arguments, address with { Host = host, Port = address.Tls is not null && tlsPort != 0 ? tlsPort : port != 0 ? port : tlsPort });
    }

    /// <summary>Slots such as <c>0-100,200</c>.</summary>
    internal static SlotSet Slots(string text)
    {
        List<SlotRange> ranges = [];
        foreach (string part in text.Split(','))
        {
            int dash = part.IndexOf('-', StringComparison.Ordinal);
            if (!TrySlot(dash < 0 ? part : part[..dash], out int first) || !TrySlot(dash < 0 ? part : part[(dash + 1)..], out int last) || first > last) throw new FormatException($"slots are numbers from 0 to {KeySlot.Count - 1} and ranges, such as 0-100,200");
            ranges.Add(new SlotRange(first, last));
        }

        return SlotSet.Of(ranges);
    }

    /// <summary>A whole number between bounds; the default if the option is missing.</summary>
    internal static int? Number(TransferArguments arguments, string option, int min, int max)
    {
        if (arguments[option] is not { } text) return null;
        if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) || number < min || number > max) throw new FormatException(string.Create(CultureInfo.InvariantCulture, $"{option} needs a number, {min} to {max}"));
        return number;
    }

    private static ServerAddress WithLogin(TransferArguments arguments, ServerAddress address) => address with { User = arguments["--user"] ?? address.User, Password = arguments["--pass"] ?? address.Password };

    private static IEnumerable<(string Name, string Value)> OfNode(ServerAddress address, TransferArguments arguments)
    {
        using ServerLink link = ServerLink.Open(WithLogin(arguments, address), PatienceMs);
        Reply reply = link.RunOrFail("CONFIG", "GET", "cluster-etcd*", "dir");
        string folder = reply["dir"]?.Text ?? "";
        for (int i = 0; i + 1 < reply.Array.Length; i += 2)
        {
            (string name, string value) = (reply.Array[i].Text, reply.Array[i + 1].Text);
            if (name == "dir") continue;
            yield return (name, name.EndsWith("-file", StringComparison.Ordinal) && value.Length > 0 ? Path.Combine(folder, value) : value); // of the node's machine
        }
    }

    /// <summary>How long a node may take to answer.</summary>
    internal const int PatienceMs = 10_000;

    private static string? PasswordOf(TransferArguments arguments)
    {
        if (arguments[PasswordFile] is not { } file) return Environment.GetEnvironmentVariable(EtcdPasswordVariable) is { Length: > 0 } password && arguments["--cluster-etcd-user"] is not null ? password : null;
        try
        {
            return File.ReadLines(file).FirstOrDefault() is { Length: > 0 } line ? line : throw new FormatException($"{file}: its first line is empty");
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw new FormatException($"{PasswordFile}: {failure.Message}");
        }
    }

    private static bool TrySlot(string text, out int slot) => int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out slot) && slot < KeySlot.Count;
}
