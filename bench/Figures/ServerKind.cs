namespace RedKite.Figures;

/// <summary>The command of a measured program, which keeps no data after the measurement.</summary>
/// <param name="Name">The name in tables.</param>
/// <param name="Command">A shell command line in which {port}, {dir} and {loops} are substituted.</param>
internal sealed record ServerKind(string Name, string Command)
{
    private const string RedisArguments = "--port {port} --bind 127.0.0.1 --dir {dir} --save '' --appendonly no --maxclients 20000";

    /// <summary>The command of the current build of RedKite.</summary>
    internal static string RedKiteCommand => RedKite("redkite", Repository.HostProgram).Command;

    /// <summary>Valkey 9, if it is installed.</summary>
    internal static ServerKind? Valkey9 => PeerProgram.Valkey9Server is { } program ? new("valkey", $"'{program}' {RedisArguments}") : null;

    internal string Fill(int port, string folder, int loops) => Command
        .Replace("{port}", port.ToString(System.Globalization.CultureInfo.InvariantCulture), StringComparison.Ordinal)
        .Replace("{dir}", $"'{folder}'", StringComparison.Ordinal)
        .Replace("{loops}", loops.ToString(System.Globalization.CultureInfo.InvariantCulture), StringComparison.Ordinal);

    internal static ServerKind RedKite(Options options) =>
        options.RedKiteCommand is { } command ? new("redkite", command) : RedKite("redkite", Repository.HostProgram);

    /// <summary>RedKite from a given build.</summary>
    internal static ServerKind RedKite(string name, string program) => new(name, $"'{program}' {RedisArguments} --loops {{loops}}");

    /// <summary>The requested servers that this machine has; adds a note to the report for each missing one.</summary>
    internal static List<ServerKind> Available(Options options, Report report, bool withFloor = false)
    {
        List<ServerKind> kinds = [];
        if (options.Servers.Contains("redkite")) kinds.Add(RedKite(options));
        AddPeer("redis", PeerProgram.RedisServer);
        AddPeer("valkey", PeerProgram.ValkeyServer);
        if (withFloor && options.Servers.Contains("floor"))
        {
            if (Repository.BuildFloor() is { } floor) kinds.Add(new ServerKind("floor", $"'{floor}' {{port}}"));
            else report.Notes.Add("there is no C compiler (cc): the floor's rows are left out");
        }

        return kinds;

        void AddPeer(string name, string? program)
        {
            if (!options.Servers.Contains(name)) return;
            if (program is not null) kinds.Add(new ServerKind(name, $"'{program}' {RedisArguments}"));
            else report.Notes.Add($"there is no {name}-server, neither in artifacts/oracle nor on PATH: its rows are left out");
        }
    }
}
