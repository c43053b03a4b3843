using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace RedKite.Hosting;

/// <summary>Passes the server's log lines to the host's loggers, one for each category. From any thread.</summary>
internal sealed class HostLog(ILoggerFactory loggers)
{
    private readonly ConcurrentDictionary<string, ILogger> _loggers = new();

    /// <summary>Whether the host's log takes debug lines.</summary>
    internal bool WantsDebug => loggers.CreateLogger("RedKite.Server").IsEnabled(LogLevel.Debug);

    internal void Write(RedKiteLogEntry entry)
    {
        ILogger logger = _loggers.GetOrAdd(entry.Category, static (category, factory) => factory.CreateLogger(category), loggers);
        logger.Log((LogLevel)entry.Level, new EventId(entry.EventId, entry.EventName), entry.Message, null, static (message, _) => message);
    }
}
