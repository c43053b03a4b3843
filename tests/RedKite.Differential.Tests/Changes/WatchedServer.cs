using RedKite.Differential.Tests.Generators;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>What all watched servers have in common.</summary>
internal static class WatchedServer
{
    /// <summary>Options with small thresholds, so that values change their encoding often.</summary>
    public static readonly string[] Options =
    [
        "--enable-debug-command", "yes", "--hash-max-listpack-entries", "6", "--hash-max-listpack-value", "30",
    ];

    /// <summary>The same options for a RedKite in this process, on a free port.</summary>
    public static RedKiteOptions RedKiteOptions(TimeProvider clock)
    {
        RedKiteOptions options = new() { Port = 0, TimeProvider = clock };
        for (int i = 0; i < Options.Length; i += 2) options.Settings[Options[i][2..]] = Options[i + 1];
        return options;
    }

    /// <summary>Commands that restore what streams change. Expiry is left to the commands that find expired keys.</summary>
    public static readonly string[] Restore =
    [
        "CLIENT UNPAUSE", HyperLogLogGenerator.Restore, .. SetGenerator.Restore, .. SortedSetGenerator.Restore, "CONFIG SET list-max-listpack-size -2",
        "CONFIG SET stream-node-max-entries 4", "CONFIG SET stream-node-max-bytes 4096", "DEBUG SET-ACTIVE-EXPIRE 0", "FLUSHALL",
    ];

    /// <summary>An event as the tests compare it.</summary>
    public static string Event(int database, string name, ReadOnlySpan<byte> key) => $"{database} {name} {CommandLine.Format(key)}";
}
