using Microsoft.Extensions.Diagnostics.HealthChecks;
using RedKite.Server.Diagnostics;

namespace RedKite.Hosting;

/// <summary>Whether the server runs, or whether it can be used. Neither executes a command.</summary>
/// <param name="server">The server.</param>
/// <param name="isReadiness">Whether loading and open findings count.</param>
internal sealed class RedKiteHealthCheck(RedKiteServer server, bool isReadiness) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default) =>
        Task.FromResult(Check(server.Diagnostics?.Findings.Current ?? []));

    /// <param name="findings">Those that are open.</param>
    internal HealthCheckResult Check(IReadOnlyList<Finding> findings)
    {
        if (server.Failure is { } failure) return HealthCheckResult.Unhealthy("The server has ended because of a bug.", failure);
        if (server.Stopped.IsCompleted) return HealthCheckResult.Unhealthy("The server has stopped.");
        if (!isReadiness) return HealthCheckResult.Healthy("The server runs.");
        if (server.IsLoading) return HealthCheckResult.Unhealthy("The server is loading its data.");
        Finding[] open = [.. findings.Where(finding => finding.Diagnosis.Severity != FindingSeverity.Notice)];
        if (open.Length == 0) return HealthCheckResult.Healthy("The server is ready.");
        Dictionary<string, object> data = open.ToDictionary(finding => finding.Rule.Name, finding => (object)$"{finding.Diagnosis.Title}: {finding.Diagnosis.Details}");
        string description = string.Join(" ", open.Select(finding => finding.Diagnosis.Title.TrimEnd('.') + "."));
        bool isCritical = Array.Exists(open, finding => finding.Diagnosis.Severity == FindingSeverity.Critical);
        return isCritical ? HealthCheckResult.Unhealthy(description, data: data) : HealthCheckResult.Degraded(description, data: data);
    }
}
