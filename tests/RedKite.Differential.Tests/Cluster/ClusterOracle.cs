using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>A server whose clusters RedKite's are compared with, and what it does otherwise than Redis 8.0.2, or than Redis 8.6 where RedKite does as that one.</summary>
internal sealed partial class ClusterOracle
{
    /// <summary>Redis 8.0.2, which RedKite is compared with everywhere.</summary>
    internal static readonly ClusterOracle Redis8 = new() { Program = OracleProgram.Redis8, Missing = "nodes of a cluster: " + OracleProgram.Redis8Missing, Version = "8.0.2", NotRun = Unsubscribing };

    internal static readonly ClusterOracle Redis86 = new() { Program = OracleProgram.Redis86, Missing = OracleProgram.Redis86Missing, Version = "8.6.0", OtherWords = ["nosuch"] };

    internal static readonly ClusterOracle Valkey9 = new()
    {
        Program = OracleProgram.Valkey9,
        Missing = OracleProgram.Valkey9Missing,
        Version = "7.2.4",
        IsOfValkey = true,
        NotRun =
        [
            .. Unsubscribing,

            // Valkey refuses a move of a slot to the node itself, and takes what follows STABLE.
            "CLUSTER SETSLOT 6000 migrating {id1}", "CLUSTER SETSLOT 5 importing {id1}", "CLUSTER SETSLOT 5 stable x",

            // It queues what a moving slot lacks, and only EXEC refuses it.
            "multi|get {b}x|exec", "multi|get b|get {b}x|exec", "asking|multi|mget b {b}2|exec", "multi|select 1|exec",

            // Beside a busy script, too, it is executed.
            "select 1",
        ],

        // When it has refused a command of a script, Valkey 9.1 refuses every one of later scripts, too.
        NotRunBegins = ["eval", "fcall", "multi|eval", "asking|eval"],

        // Databases can be several, arguments are looked at in another order, and scripts are not named.
        OtherWords = ["select ", "EVAL ", "move b", "CLUSTER MEET", "CLUSTER FAILOVER", "CLUSTER REPLICATE", "MIGRATE"],
    };

    // Before Redis 8.6 a client that ends its subscriptions is sent to the node that has the slots.
    private static string[] Unsubscribing => ["sunsubscribe a", "sunsubscribe b"];

    internal required ServerProgram? Program { get; init; }

    /// <summary>What is not compared without it.</summary>
    internal required string Missing { get; init; }

    /// <summary>The version that RedKite reports beside it.</summary>
    internal required string Version { get; init; }

    internal bool IsOfValkey { get; init; }

    /// <summary>Lines that it replies to otherwise.</summary>
    internal string[] NotRun { get; init; } = [];

    /// <summary>Beginnings of lines that it replies to otherwise.</summary>
    internal string[] NotRunBegins { get; init; } = [];

    /// <summary>Beginnings of lines whose errors have other words: the first of them is compared.</summary>
    internal string[] OtherWords { get; init; } = [];

    /// <summary>Whether a line, or a sequence of lines, is compared.</summary>
    internal bool Runs(string line) => Array.IndexOf(NotRun, line) < 0 && !Array.Exists(NotRunBegins, begin => line.StartsWith(begin, StringComparison.OrdinalIgnoreCase));

    /// <summary>A reply without what this server alone has, or what it lacks: fields of CLUSTER INFO, and the id of a shard in CLUSTER SHARDS.</summary>
    internal string WithoutOwn(string text, bool isOracle)
    {
        if (!isOracle) return Version == Redis86.Version ? text : SlotMigration().Replace(text, "");
        return IsOfValkey ? ShardId().Replace(ValkeysFields().Replace(text, ""), "]").Replace("BUSY Valkey ", "BUSY Redis ", StringComparison.Ordinal) : text;
    }

    /// <summary>A reply as it is compared.</summary>
    internal string Compared(string reply, string line) =>
        reply is ['-', ..] && Array.Exists(OtherWords, begin => line.StartsWith(begin, StringComparison.OrdinalIgnoreCase)) ? reply.Split(' ')[0] : reply;

    [GeneratedRegex(@"cluster_slot_migration_[a-z_]+:\d+\\r\\n")]
    private static partial Regex SlotMigration();

    [GeneratedRegex(@"cluster_(?:voting_)?nodes_p?fail:\d+\\r\\n|cluster_stats_[a-z_]*bytes_[a-z]+:\d+\\r\\n")]
    private static partial Regex ValkeysFields();

    // Behind the nodes of the shard.
    [GeneratedRegex(@" \$id \$[0-9a-f]{40}\](?!\])")]
    private static partial Regex ShardId();
}
