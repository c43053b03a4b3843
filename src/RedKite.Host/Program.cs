using System.Runtime.InteropServices;
using RedKite.Bench;
using RedKite.Dashboard;
using RedKite.Server.Config;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Sessions;

namespace RedKite.Host;

/// <summary>The <c>redkite</c> program: arguments, signals, composition. Exit status 1: an invalid configuration or an unusable address.</summary>
internal static class Program
{
    private static async Task<int> Main(string[] arguments)
    {
        if (arguments is ["bench", .. string[] options]) return BenchProgram.Run(options, Console.Out, Console.Error);
        if (arguments is ["debug-package", .. string[] packageOptions]) return DebugPackageProgram.Run(packageOptions, Console.Out, Console.Error);
        if (arguments is ["check", .. string[] checkOptions]) return CheckProgram.Run(checkOptions, Console.In, Console.Out, Console.Error);
        if (arguments is ["export", .. string[] exportOptions]) return ExportProgram.Run(exportOptions, Console.Out, Console.Error);
        if (arguments is ["import", .. string[] importOptions]) return ImportProgram.Run(importOptions, Console.Out, Console.Error);
        if (arguments is ["analyze", .. string[] analyzeOptions]) return AnalyzeProgram.Run(analyzeOptions, Console.Out, Console.Error);

        CommandLine commandLine = CommandLine.Parse(arguments);
        if (commandLine.AsksForVersion)
        {
            Console.WriteLine($"RedKite v={ServerVersion.Text} redis_version={ServerVersion.Redis}");
            return 0;
        }

        if (commandLine.AsksForHelp)
        {
            Console.WriteLine(Usage);
            return 0;
        }

        if (!ClientLimit.ProcessMayStart()) return 1;
        try
        {
            return await RunAsync(commandLine).ConfigureAwait(false);
        }
        catch (RedKiteConfigException failure)
        {
            await Console.Error.WriteLineAsync(failure.Message).ConfigureAwait(false);
            return 1;
        }
    }

    private const string Usage = """
        Usage: redkite [FILE | -] [--directive value ...]

        FILE is a redis.conf file; - reads one from standard input. Directives are redis.conf's.
          redkite
          redkite --port 7000 --loops 2
          redkite /etc/redkite.conf --loglevel verbose
          redkite --version | --help
          redkite bench --help                  the load generator
          redkite debug-package --help          writes what a running server knows about itself into one file
          redkite analyze PACKAGE [--serve]     reports what is wrong with that server
          redkite check FILE|FOLDER             verifies RDB and append-only files, and says what they hold
          redkite export ADDRESS FILE           writes the data of a running server into an RDB file
          redkite import ADDRESS                copies the data of a running server into another
        """;

    private static async Task<int> RunAsync(CommandLine commandLine)
    {
        var configuration = new Configuration(new Settings());
        IReadOnlyList<string> faults = [];
        try
        {
            ConfigFile.Load(configuration, commandLine, Console.OpenStandardInput());
        }
        catch (RedKiteConfigException failure)
        {
            faults = failure.Faults; // the server adds those that it finds itself
        }

        // As redis-server; in a host's process nothing is saved unless the host says so.
        if (!configuration.IsGiven("save")) configuration.Set([new("save", SavePoint.ProgramDefault)]);
        var server = new RedKiteServer(configuration, faults, new RedKiteOptions { OwnsProcess = true, LogsToConsole = true });
        using OtlpExport? export = OtlpExport.Start(configuration.Settings, server.Engine.Run.RunId);

        // Registered before the start: a process that sees the port or the pid file may send a signal at once.
        var asked = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, End);
        using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, End);
        using PosixSignalRegistration quit = PosixSignalRegistration.Create(PosixSignal.SIGQUIT, End);

        // As in Redis, the end of the terminal is not the end of the server. On Windows it cannot be survived.
        using PosixSignalRegistration hangUp = PosixSignalRegistration.Create(PosixSignal.SIGHUP, OperatingSystem.IsWindows() ? End : signal => signal.Cancel = true);
        _ = StopWhenAsked();

        // The dashboard shows the progress of loading.
        Task<RedKiteDashboard?> dashboardStart = StartDashboard();
        try
        {
            await server.StartAsync().ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            server.Engine.Log.Notice(LogEvents.Stopped, "Stopped."); // by a signal or SHUTDOWN, while the data was being loaded
            return 0;
        }

        foreach (string line in server.Banner()) server.Engine.Log.Notice(LogEvents.Started, line);
        await using RedKiteDashboard? dashboard = await dashboardStart.ConfigureAwait(false);
        await server.Stopped.ConfigureAwait(false);
        server.Engine.Log.Notice(LogEvents.Stopped, "Stopped.");
        if (server.Failure is not null) Environment.FailFast("RedKite stopped because of a bug.", server.Failure);
        return 0;

        void End(PosixSignalContext signal)
        {
            signal.Cancel = true; // The process ends by itself once the server has stopped.
            server.Engine.Log.Warning(LogEvents.SignalReceived, $"Received {signal.Signal}, stopping.");
            asked.TrySetResult(signal.Signal == PosixSignal.SIGINT ? configuration.Settings.ShutdownOnInterrupt : configuration.Settings.ShutdownOnTerminate);
        }

        async Task<RedKiteDashboard?> StartDashboard()
        {
            await server.Listening.ConfigureAwait(false);
            return await RedKiteDashboard.StartAsync(server).ConfigureAwait(false);
        }

        // As in Redis, a server that cannot save goes on, and may be asked again.
        async Task StopWhenAsked()
        {
            while (true)
            {
                string options = await asked.Task.ConfigureAwait(false);
                await server.Listening.ConfigureAwait(false);
                asked = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
                StopSaving saving = options.Contains("nosave", StringComparison.Ordinal) ? StopSaving.Never
                    : options.Contains("save", StringComparison.Ordinal) ? StopSaving.Always : StopSaving.BySavePoints;
                if (server.TryStop(saving) || (options.Contains("force", StringComparison.Ordinal) && server.TryStop(StopSaving.Never))) return;
                server.Engine.Log.Warning(LogEvents.SaveFailed, "The data could not be saved, so the server goes on. SHUTDOWN NOSAVE ends it without saving.");
            }
        }
    }
}
