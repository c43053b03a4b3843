using System.Runtime.InteropServices;
using RedKite.Bench;
using RedKite.Dashboard;
using RedKite.Host.Clusters;
using RedKite.Server;
using RedKite.Server.Config;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Sessions;

namespace RedKite.Host;

/// <summary>The <c>redkite</c> program: arguments, signals, composition. Exit status 1: an invalid configuration or an unusable address.</summary>
internal static class Program
{
    private const string PasswordVariable = "REDKITE_PASSWORD";

    private static async Task<int> Main(string[] arguments)
    {
        if (arguments is ["bench", .. string[] options]) return BenchProgram.Run(options, Console.Out, Console.Error);
        if (arguments is ["debug-package", .. string[] clusterPackage] && clusterPackage.Contains("--cluster")) return await ClusterPackageProgram.Run(clusterPackage, Console.Out, Console.Error).ConfigureAwait(false);
        if (arguments is ["debug-package", .. string[] packageOptions]) return DebugPackageProgram.Run(packageOptions, Console.Out, Console.Error);
        if (arguments is ["doctor", .. string[] doctorOptions]) return DoctorProgram.Run(doctorOptions, Console.Out, Console.Error);
        ServerTypes.Add();
        if (arguments is ["check", .. string[] checkOptions]) return CheckProgram.Run(checkOptions, Console.In, Console.Out, Console.Error);
        if (arguments is ["export", .. string[] exportOptions]) return ExportProgram.Run(exportOptions, Console.Out, Console.Error);
        if (arguments is ["import", .. string[] importOptions]) return ImportProgram.Run(importOptions, Console.Out, Console.Error);
        if (arguments is ["verify-replica", .. string[] verifyOptions]) return VerifyReplicaProgram.Run(verifyOptions, Console.Out, Console.Error);
        if (arguments is ["service", .. string[] serviceOptions]) return ServiceProgram.Run(serviceOptions, Console.Out, Console.Error);
        if (arguments is ["cluster", .. string[] clusterOptions]) return await ClusterProgram.Run(clusterOptions, Console.In, Console.Out, Console.Error).ConfigureAwait(false);
        if (arguments is ["controller", .. string[] controllerOptions]) return await ControllerProgram.Run(controllerOptions, Console.Out, Console.Error).ConfigureAwait(false);
        if (arguments is ["analyze", .. string[] analyzeOptions]) return AnalyzeProgram.Run(analyzeOptions, Console.Out, Console.Error);

        CommandLine commandLine = CommandLine.Parse(arguments);
        if (commandLine.AsksForVersion)
        {
            Console.WriteLine($"RedKite v={ServerVersion.Text} redis_version={ServerVersion.Redis} compared_with={ServerVersion.ComparedRedis}");
            return 0;
        }

        if (commandLine.AsksForHelp)
        {
            return PrintHelp(arguments);
        }

        if (commandLine.FilePath is { } file && HelpText.UnknownWord(file) is { } unknown)
        {
            await Console.Error.WriteLineAsync(unknown).ConfigureAwait(false);
            return 1;
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

    private static int PrintHelp(string[] arguments)
    {
        bool isKnown = true;
        string text = arguments.Length > 1 ? HelpText.Of(arguments[1], out isKnown) : HelpText.Overview();
        (isKnown ? Console.Out : Console.Error).WriteLine(text);
        return isKnown ? 0 : 1;
    }

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
        if (Environment.GetEnvironmentVariable(PasswordVariable) is { Length: > 0 } password)
        {
            // Nodes of a cluster log in at each other.
            foreach (string setting in configuration.Settings.ClusterEnabled ? (string[])["requirepass", "masterauth"] : ["requirepass"])
            {
                if (!configuration.IsGiven(setting)) configuration.Set([new(setting, SettingText.FromNative(password))]);
            }
        }

        TellOfDaemonize(configuration.Settings);
        ServiceNotification.Loading();
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
        Task<IAsyncDisposable?> dashboardStart = StartDashboard();
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
        ServiceNotification.Ready();
        await using IAsyncDisposable? dashboard = await dashboardStart.ConfigureAwait(false);
        await server.Stopped.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing); // what fails is logged
        server.Engine.Log.Notice(LogEvents.Stopped, "Stopped.");
        if (server.Stopped.IsFaulted) return 1;
        if (server.Failure is not null) Environment.FailFast("RedKite stopped because of a bug.", server.Failure);
        return 0;

        void End(PosixSignalContext signal)
        {
            signal.Cancel = true; // The process ends by itself once the server has stopped.
            ServiceNotification.Stopping();
            server.Engine.Log.Warning(LogEvents.SignalReceived, $"Received {signal.Signal}, stopping.");
            asked.TrySetResult(signal.Signal == PosixSignal.SIGINT ? configuration.Settings.ShutdownOnInterrupt : configuration.Settings.ShutdownOnTerminate);
        }

        async Task<IAsyncDisposable?> StartDashboard()
        {
            await server.Listening.ConfigureAwait(false);
            return await OpenDashboard(server).ConfigureAwait(false);
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
                bool forces = options.Contains("force", StringComparison.Ordinal);
                if (options.Contains("now", StringComparison.Ordinal) ? server.TryStop(saving) || (forces && server.TryStop(StopSaving.Never)) : server.TryStopAfterReplicas(saving, forces)) return;
                server.Engine.Log.Warning(LogEvents.SaveFailed, "The data could not be saved, so the server goes on. SHUTDOWN NOSAVE ends it without saving.");
            }
        }
    }

    // With a log file the warning goes to that file only, and the caller would wait for a prompt that does not return.
    private static void TellOfDaemonize(Settings settings)
    {
        if (settings.LogFilePath.Length > 0 && SettingTable.Find("daemonize") is { NoEffect: { } reason } row && row.Read(settings) == "yes") Console.Error.WriteLine($"daemonize has no effect: {reason}");
    }

    // A method of its own: the dashboard's assembly is loaded when this is first called, not when the program starts.
    private static async Task<IAsyncDisposable?> OpenDashboard(RedKiteServer server) => await RedKiteDashboard.StartAsync(server).ConfigureAwait(false);
}
