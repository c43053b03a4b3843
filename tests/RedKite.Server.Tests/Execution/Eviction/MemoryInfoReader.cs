using System.Globalization;

namespace RedKite.Server.Tests.Execution.Eviction;

/// <summary>Memory settings and figures of a server in this process.</summary>
internal static class MemoryInfoReader
{
    /// <summary>A number of INFO.</summary>
    internal static long Info(this RedKiteServer server, string field)
    {
        string text = server.Execute("INFO", "everything").Text!;
        string line = text.Split("\r\n").Single(line => line.StartsWith(field + ":", StringComparison.Ordinal));
        return long.Parse(line[(field.Length + 1)..], CultureInfo.InvariantCulture);
    }

    /// <summary>Sets maxmemory to the memory in use and some more.</summary>
    internal static long LimitMemory(this RedKiteServer server, long moreBytes)
    {
        long limit = server.Info("used_memory") + moreBytes;
        server.Set("maxmemory", limit.ToString(CultureInfo.InvariantCulture));
        return limit;
    }

    internal static void Set(this RedKiteServer server, string name, string value) => server.Execute("CONFIG", "SET", name, value).IsOk();
}
