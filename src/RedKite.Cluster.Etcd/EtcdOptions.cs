namespace RedKite.Server.Cluster.Store;

/// <summary>How etcd is reached. No record, whose text would show the password.</summary>
internal sealed class EtcdOptions
{
    /// <summary>Bytes of a response: the keys of a cluster of 4,096 nodes and its topology are a fraction of it.</summary>
    internal const int ResponseBytesMax = 64 * 1024 * 1024;

    /// <summary>Time for the first call of a store, which loads code and connects, and for connecting afterwards.</summary>
    internal static readonly TimeSpan FirstAttemptTime = TimeSpan.FromSeconds(5);

    /// <summary>Members, each as http or https, a host and a port.</summary>
    internal required IReadOnlyList<Uri> Endpoints { get; init; }

    /// <summary>What every key begins with.</summary>
    internal required string Prefix { get; init; }

    /// <summary>Empty: no authentication.</summary>
    internal string User { get; init; } = "";

    internal string Password { get; init; } = "";

    /// <summary>A file with the authorities that members' certificates are issued by; empty: the system's.</summary>
    internal string AuthorityFile { get; init; } = "";

    /// <summary>A file with the certificate that this process shows; empty: none.</summary>
    internal string CertificateFile { get; init; } = "";

    /// <summary>The file of its key; empty: that of the certificate has it.</summary>
    internal string KeyFile { get; init; } = "";

    /// <summary>How long one member may take to answer a call before the next one is asked. A call asks each at most once.</summary>
    internal TimeSpan AttemptTime { get; init; } = TimeSpan.FromMilliseconds(1250);

    /// <summary>A watch that was told nothing for this time asks for a sign of life, which has to come within <see cref="AttemptTime"/>.</summary>
    internal TimeSpan WatchSilenceTime { get; init; } = TimeSpan.FromSeconds(5);
}
