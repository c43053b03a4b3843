using System.Diagnostics;
using System.Globalization;
using RedKite.EndToEnd.Tests.Hosts;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>
/// Hosts for the nodes of a cluster: each has a member of etcd, and a small disk that outlives the processes on it. A node's wall clock may step, if Debian's libfaketime is installed, or REDKITE_FAKETIME names its library.
/// </summary>
internal sealed class ClusterHosts : IDisposable
{
    private const int DiskMebibytes = 48;
    private const int FirstPort = 7_000;
    private const int PatienceMs = 60_000;

    private readonly TemporaryFolder _folder = new();
    private readonly ServerProcess?[] _etcd;
    private readonly ServerProcess?[] _disks; // a process that holds the host's mounts

    internal ClusterHosts(int hosts)
    {
        Network = new HostNetwork(hosts);
        _etcd = new ServerProcess?[hosts];
        _disks = new ServerProcess?[hosts];
        try
        {
            File.WriteAllText(ClockFile, "+0");
            for (int host = 0; host < hosts; host++)
            {
                StartEtcd(host);
                StartDisk(host);
            }
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    /// <summary>The library that gives a process another wall clock; null: there is none.</summary>
    internal static string? FakeTime { get; } = Environment.GetEnvironmentVariable("REDKITE_FAKETIME") is { Length: > 0 } named
        ? named
        : Directory.Exists("/usr/lib") ? Directory.GetDirectories("/usr/lib", "*-linux-gnu").Select(static folder => Path.Combine(folder, "faketime", "libfaketimeMT.so.1")).FirstOrDefault(File.Exists) : null;

    internal HostNetwork Network { get; }

    internal int Count => _etcd.Length;

    /// <summary>The members of etcd, as cluster-etcd names them.</summary>
    internal string Etcd => string.Join(',', Enumerable.Range(0, Count).Select(host => $"http://{Network.AddressOf(host)}:2379"));

    private string ClockFile => _folder.File("clock");

    /// <summary>A node on a host, with a wall clock of its own if it can have one.</summary>
    internal NodePlace PlaceOf(int node, int host, bool hasClock)
    {
        string clock = hasClock && FakeTime is not null ? $"env LD_PRELOAD={FakeTime} FAKETIME_TIMESTAMP_FILE={ClockFile} FAKETIME_CACHE_DURATION=1 FAKETIME_DONT_FAKE_MONOTONIC=1 " : "";
        string id = _disks[host]!.Id.ToString(CultureInfo.InvariantCulture), number = node.ToString(CultureInfo.InvariantCulture);
        return new NodePlace(Network.AddressOf(host), FirstPort + node, Path.Combine(DiskOf(host), number), $"nsenter -t {id} -n -m {clock}", ["--cluster-announce-zone", "host" + host.ToString(CultureInfo.InvariantCulture)]);
    }

    /// <summary>Sets the wall clock of the node that has one of its own off by so many seconds.</summary>
    internal void StepClock(int seconds) => File.WriteAllText(ClockFile, seconds.ToString("+0;-0", CultureInfo.InvariantCulture));

    internal void StartEtcd(int host)
    {
        string address = Network.AddressOf(host).ToString(), number = host.ToString(CultureInfo.InvariantCulture);
        string members = string.Join(',', Enumerable.Range(0, Count).Select(each => string.Create(CultureInfo.InvariantCulture, $"m{each}=http://{Network.AddressOf(each)}:2380")));
        _etcd[host]?.Dispose();
        _etcd[host] = ServerProcess.StartUnchecked(
            new ServerProgram("etcd", $"ip netns exec {Network.NamespaceOf(host)} {EtcdProgram.FilePath} --name m{number} --data-dir {_folder.File("etcd" + number)} --listen-client-urls http://{address}:2379 --advertise-client-urls http://{address}:2379 "
                + $"--listen-peer-urls http://{address}:2380 --initial-advertise-peer-urls http://{address}:2380 --initial-cluster {members} --initial-cluster-token {_folder.Path} --unsafe-no-fsync --log-level error --heartbeat-interval 100 --election-timeout 1000", IsRedKite: false),
            2379);
    }

    internal void KillEtcd(int host)
    {
        _etcd[host]?.Dispose();
        _etcd[host] = null;
    }

    internal void PauseEtcd(int host) => _etcd[host]!.Signal("STOP");

    internal void ContinueEtcd(int host) => _etcd[host]!.Signal("CONT");

    /// <summary>Leaves no room on a host's disk.</summary>
    internal void FillDisk(int host)
    {
        using FileStream file = File.Create(FillerOf(host));
        try
        {
            for (int i = 0; i < DiskMebibytes; i++) file.Write(new byte[1 << 20]);
        }
        catch (IOException)
        {
            // It is full.
        }
    }

    internal void FreeDisk(int host) => File.Delete(FillerOf(host));

    /// <summary>What a host sends is slow from now on, and what does not fit into seconds is lost.</summary>
    internal void Slow(int host) => Run("tc", $"-n {Network.NamespaceOf(host)} qdisc replace dev eth0 root tbf rate 400kbit burst 8kb latency 2s");

    internal void Unslow(int host) => Run("tc", $"-n {Network.NamespaceOf(host)} qdisc del dev eth0 root");

    internal string Log() => string.Join('\n', _etcd.Select(static (process, i) => $"etcd {i}: {(process is null ? "is not running" : string.Join('\n', process.Output.TakeLast(5)))}"));

    public void Dispose()
    {
        foreach (ServerProcess? process in (IEnumerable<ServerProcess?>)[.. _etcd, .. _disks]) process?.Dispose();
        Network.Dispose();
        _folder.Dispose();
    }

    private string DiskOf(int host) => _folder.File("disk" + host.ToString(CultureInfo.InvariantCulture));

    // The disk is mounted on that host alone.
    private string FillerOf(int host) => string.Create(CultureInfo.InvariantCulture, $"/proc/{_disks[host]!.Id}/root{DiskOf(host)}/filler");

    private void StartDisk(int host)
    {
        string script = _folder.File(string.Create(CultureInfo.InvariantCulture, $"disk{host}.sh"));
        Directory.CreateDirectory(DiskOf(host));
        File.WriteAllText(script, $"mount -t tmpfs -o size={DiskMebibytes}m tmpfs {DiskOf(host)} && mkdir {string.Join(' ', Enumerable.Range(0, 8).Select(node => $"{DiskOf(host)}/{node.ToString(CultureInfo.InvariantCulture)}"))} && echo mounted && exec sleep 20000\n");
        ServerProcess disk = _disks[host] = ServerProcess.StartUnchecked(new ServerProgram("disk", $"ip netns exec {Network.NamespaceOf(host)} sh {script}", IsRedKite: false), 0);
        Assert.True(SpinWait.SpinUntil(() => disk.Output.Contains("mounted"), PatienceMs), string.Join('\n', disk.Output));
    }

    private static void Run(string program, string arguments)
    {
        using Process process = Process.Start(program, arguments);
        process.WaitForExit();
        Assert.Equal(0, process.ExitCode);
    }
}
