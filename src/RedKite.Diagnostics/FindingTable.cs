using RedKite.Server.Diagnostics.Rules;

namespace RedKite.Server.Diagnostics;

/// <summary>Every rule, in the order in which findings of the same severity are shown. docs/reference/findings.md is generated from it.</summary>
internal static class FindingTable
{
    internal static IReadOnlyList<FindingRule> Rules { get; } =
    [
        .. MemoryRules.All,
        .. MachineRules.All,
        .. DurabilityRules.All,
        .. ReplicationRules.All,
        .. ClusterRules.All,
        .. LoadRules.All,
        .. ClientRules.All,
        .. SettingRules.All,
    ];
}
