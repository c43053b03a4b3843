using System.Collections.Frozen;

namespace RedKite.Server.Metrics;

/// <summary>
/// The first words of errors by which they are counted. Those of the server are no secret. A script may begin an error with any word, a
/// key for instance: a debug package has a hash of it.
/// </summary>
internal static class ErrorWords
{
    private static readonly FrozenSet<string> Own = FrozenSet.Create(
        StringComparer.Ordinal,
        "BUSY", "BUSYGROUP", "BUSYKEY", "DENIED", "ERR", "ERRORSTATS_OVERFLOW", "EXECABORT", "INVALIDOBJ", "IOERR", "LOADING", "MISCONF", "NOAUTH", "NOGOODSLAVE", "NOGROUP",
        "NOPERM", "NOPROTO", "NOREPLICAS", "NOSCRIPT", "NOTBUSY", "NOTREADY", "OOM", "READONLY", "UNBLOCKED", "UNKILLABLE", "WRONGPASS", "WRONGTYPE");

    internal static bool IsOwn(string word) => Own.Contains(word);
}
