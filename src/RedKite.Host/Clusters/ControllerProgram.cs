using System.Runtime.InteropServices;
using RedKite.Server;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Config;
using RedKite.Server.Logging;

namespace RedKite.Host.Clusters;

/// <summary>
/// <c>redkite controller</c>: the controller of a cluster without a node. Of any number, one is active, by a key in the store. Exit status 0: it was stopped; 1: the settings cannot be used.
/// </summary>
internal static class ControllerProgram
{
    private const string Usage = """
        Usage: redkite controller [FILE | -] --cluster-etcd URL[,URL ...] [--SETTING VALUE ...]

        Runs the controller of a cluster whose nodes agree in etcd, as nodes with cluster-controller yes do, but without data: when a primary is
        gone, it makes a replica the primary, and new nodes become replicas. Of all controllers one is active, and another one goes on when it ends. FILE is a
        redis.conf file. Of the settings these have an effect:
          --cluster-etcd, --cluster-etcd-prefix, --cluster-etcd-user, --cluster-etcd-password,
          --cluster-etcd-ca-file, --cluster-etcd-cert-file, --cluster-etcd-key-file   as the nodes have them; the password may be in REDKITE_ETCD_PASSWORD
          --cluster-lease-ms N     how long it may be away before another one is active; default 10000
          --cluster-auto-join yes|no   whether new nodes become replicas; default yes
          --dir, --logfile, --loglevel
        SIGTERM and SIGINT end it, and another one is active at once.
        Exit status: 0 it was stopped, 1 the settings cannot be used.
        """;

    internal static async Task<int> Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            await output.WriteLineAsync(Usage);
            return 0;
        }

        try
        {
            Settings settings = Read(arguments);
            IClusterStore store = ClusterStores.Open(settings) ?? throw new FormatException("--cluster-etcd URL is required; see --help");
            await using (store)
            {
                var log = new ServerLog(settings, sink: null);
                log.Open();
                await Control(settings, store, log);
            }

            return 0;
        }
        catch (Exception failure) when (failure is FormatException or RedKiteConfigException or StoreException)
        {
            await errors.WriteLineAsync("redkite controller: " + failure.Message);
            return 1;
        }
    }

    private static Settings Read(string[] arguments)
    {
        CommandLine commandLine = CommandLine.Parse(arguments);
        Configuration configuration = ClusterArguments.Read(commandLine);
        if (Environment.GetEnvironmentVariable(ClusterArguments.EtcdPasswordVariable) is not { Length: > 0 } password || configuration.IsGiven("cluster-etcd-password") || configuration.Settings.ClusterEtcdUser.Length == 0) return configuration.Settings;
        configuration.Settings.ClusterEtcdPassword = SettingText.FromNative(password);
        return configuration.Settings;
    }

    private static async Task Control(Settings settings, IClusterStore store, ServerLog log)
    {
        using var stop = new CancellationTokenSource();
        using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
        using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
        string name = $"controller on {Environment.MachineName}, process {Environment.ProcessId}";
        var controller = new ClusterController(store, name, TimeProvider.System, TimeSpan.FromMilliseconds(settings.ClusterLeaseMs), () => settings.ClusterAutoJoin, Tell);
        log.Notice(LogEvents.Started, $"RedKite {ServerVersion.Text}: {name}. Its store is {settings.ClusterEtcd}, under {settings.ClusterEtcdPrefix}.");
        ServiceNotification.Ready();
        await controller.Run(stop.Token);
        log.Notice(LogEvents.Stopped, "Stopped.");

        void Stop(PosixSignalContext signal)
        {
            signal.Cancel = true; // it ends when its key in the store is removed
            ServiceNotification.Stopping();
            stop.Cancel();
        }

        void Tell(AgreementEvent what, string text)
        {
            if (what == AgreementEvent.Changed) log.Notice(LogEvents.ClusterChanged, text);
            else log.Warning(what == AgreementEvent.StoreAway ? LogEvents.ClusterStoreAway : LogEvents.ClusterRefused, text);
        }
    }
}
