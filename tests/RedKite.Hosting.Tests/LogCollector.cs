using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace RedKite.Hosting.Tests;

/// <summary>Collects what a host logs.</summary>
internal sealed class LogCollector : ILoggerProvider
{
    private readonly ConcurrentQueue<(string Category, EventId Id, LogLevel Level, string Message)> _lines = new();

    internal IEnumerable<(string Category, int Id, string? Name, LogLevel Level)> Kinds => _lines.Select(line => (line.Category, line.Id.Id, line.Id.Name, line.Level));

    internal IEnumerable<string> Messages => _lines.Select(line => line.Message);

    public ILogger CreateLogger(string categoryName) => new Logger(this, categoryName);

    public void Dispose()
    {
    }

    private sealed class Logger(LogCollector collector, string category) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Information;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
            collector._lines.Enqueue((category, eventId, logLevel, formatter(state, exception)));
    }
}
