using System.Security.Cryptography;

namespace RedKite.Server.Model;

/// <summary>The identifiers of one run of a server, and the switches that only DEBUG changes.</summary>
internal sealed class ServerRun(long startedMs)
{
    internal long StartedMs { get; } = startedMs;

    /// <summary>A random identifier of this run: run_id.</summary>
    internal string RunId { get; } = NewId();

    /// <summary>Identifies the history of the data that replicas would follow: master_replid.</summary>
    internal string ReplicationId { get; private set; } = NewId();

    /// <summary>Whether the background sweep removes expired keys (DEBUG SET-ACTIVE-EXPIRE).</summary>
    internal bool ExpiresActively { get; set; } = true;

    /// <summary>DEBUG CHANGE-REPL-ID.</summary>
    internal void ChangeReplicationId() => ReplicationId = NewId();

    private static string NewId() => Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(20));
}
