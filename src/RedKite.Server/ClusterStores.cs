using System.Runtime.CompilerServices;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Config;

namespace RedKite.Server;

/// <summary>Makes the store that a cluster's settings name. What speaks to etcd is loaded only then.</summary>
internal static class ClusterStores
{
    private static readonly TimeSpan AttemptTimeMin = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan AttemptTimeMax = TimeSpan.FromSeconds(2);

    /// <summary>The store; null: the settings name none. Nothing is connected yet.</summary>
    /// <exception cref="StoreException">A file of certificates cannot be used.</exception>
    internal static IClusterStore? Open(Settings settings) => settings.ClusterEtcd.Length == 0 ? null : OpenEtcd(settings);

    // Not in the method above, which would load the assembly when it is compiled.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static EtcdClusterStore OpenEtcd(Settings settings)
    {
        // A node renews its lease in a third of its time, so three members can be asked and it still holds.
        TimeSpan attempt = TimeSpan.FromMilliseconds(settings.ClusterLeaseMs / 8.0);
        return new EtcdClusterStore(new EtcdOptions
        {
            Endpoints = [.. settings.ClusterEtcd.Split(',').Select(static address => new Uri(SettingText.ToNative(address)))],
            Prefix = settings.ClusterEtcdPrefix,
            User = SettingText.ToNative(settings.ClusterEtcdUser),
            Password = SettingText.ToNative(settings.ClusterEtcdPassword),
            AuthorityFile = PathOf(settings, settings.ClusterEtcdCaFile),
            CertificateFile = PathOf(settings, settings.ClusterEtcdCertFile),
            KeyFile = PathOf(settings, settings.ClusterEtcdKeyFile),
            AttemptTime = attempt < AttemptTimeMin ? AttemptTimeMin : attempt > AttemptTimeMax ? AttemptTimeMax : attempt,
        });
    }

    private static string PathOf(Settings settings, string path) => path.Length == 0 ? "" : Path.Combine(settings.DirectoryPath, SettingText.ToNative(path));
}
