using RedKite.Store.Memory;

namespace RedKite.Server.Model;

/// <summary>The identifiers of one run of a server, and the switches that only DEBUG changes.</summary>
internal sealed class ServerRun(long startedMs)
{
    /// <summary>How long a client's peak reply size is remembered by default, as in Redis.</summary>
    internal const long DefaultReplyPeakMs = 5000;

    internal long StartedMs { get; } = startedMs;

    /// <summary>A random identifier of this run: run_id.</summary>
    internal string RunId { get; } = NewId();

    /// <summary>Whether the background sweep removes expired keys (DEBUG SET-ACTIVE-EXPIRE).</summary>
    internal bool ExpiresActively { get; set; } = true;

    /// <summary>Whether RESTORE accepts payloads with a wrong checksum (DEBUG SET-SKIP-CHECKSUM-VALIDATION).</summary>
    internal bool SkipsChecksums { get; set; }

    /// <summary>Whether scripts may call commands that are not allowed in scripts (DEBUG SET-DISABLE-DENY-SCRIPTS).</summary>
    internal bool AllowsAnyCommandInScripts { get; set; }

    /// <summary>Whether the loops do no background work (DEBUG PAUSE-CRON).</summary>
    internal bool IsBackgroundPaused { get; set; }

    /// <summary>How long a client's peak reply size is remembered (DEBUG REPLYBUFFER PEAK-RESET-TIME).</summary>
    internal long ReplyPeakMs { get; set; } = DefaultReplyPeakMs;

    private static string NewId() => Convert.ToHexStringLower(SecretBytes.New(20));
}
