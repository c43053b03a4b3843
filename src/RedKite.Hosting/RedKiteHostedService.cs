using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedKite.Server.Logging;

namespace RedKite.Hosting;

/// <summary>
/// Starts the server in the host's start, with the loading of its data, and stops it when all other services have stopped. A server that
/// ends because of a bug stops the host.
/// </summary>
internal sealed class RedKiteHostedService(RedKiteServer server, IHostApplicationLifetime lifetime) : IHostedLifecycleService
{
    /// <summary>A server that logs to the host's log, unless its options have a receiver.</summary>
    internal static RedKiteServer CreateServer(RedKiteOptions options, ILoggerFactory? loggers)
    {
        if (options.Log is null && loggers is not null)
        {
            var log = new HostLog(loggers);
            options.Log = log.Write;
            if (log.WantsDebug && options.ConfigFile is null && !options.Settings.ContainsKey("loglevel")) options.Settings["loglevel"] = "debug";
        }

        return RedKiteServer.Create(options);
    }

    public async Task StartAsync(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        using (cancellationToken.Register(() => _ = server.StopAsync()))
        {
            await server.StartAsync().ConfigureAwait(false);
        }

        foreach (string line in server.Banner()) server.Engine.Log.Notice(LogEvents.Started, line);
        _ = EndWithServerAsync();
    }

    public Task StoppedAsync(CancellationToken cancellationToken) => server.StopAsync().WaitAsync(cancellationToken);

    public Task StartingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    // The log has its line already.
    private async Task EndWithServerAsync()
    {
        await server.Stopped.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (server.Failure is not null) lifetime.StopApplication();
    }
}
