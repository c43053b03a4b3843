using System.Globalization;
using System.Net;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Hosts;

/// <summary>A RedKite on each host, at first the others as replicas of the first one.</summary>
internal sealed class HostServers : IDisposable
{
    internal const int Port = 6379;

    private const int PatienceMs = 120_000;
    private const int DiskMebibytes = 64;

    private readonly TemporaryFolder _folder = new();
    private readonly HostNetwork _network;
    private readonly ServerProcess?[] _processes;

    internal HostServers(HostNetwork network, int count)
    {
        _network = network;
        _processes = new ServerProcess?[count];
        Runs = new int[count];
        try
        {
            for (int i = 0; i < count; i++) Start(i);
            for (int i = 1; i < count; i++) Follow(i, 0);
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    internal int Count => _processes.Length;

    /// <summary>How often each was started.</summary>
    internal int[] Runs { get; }

    /// <summary>The server that clients write to.</summary>
    internal int Primary { get; private set; }

    internal bool IsRunning(int server) => _processes[server] is not null;

    /// <summary>A connection from outside.</summary>
    /// <exception cref="SocketException">The server cannot be reached.</exception>
    internal RespConnection Connect(int server, int timeoutMs = 1_000)
    {
        using var probe = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        var address = new IPEndPoint(_network.AddressOf(server), Port);
        using var patience = new CancellationTokenSource(timeoutMs);
        try
        {
            probe.ConnectAsync(address, patience.Token).AsTask().GetAwaiter().GetResult();
        }
        catch (OperationCanceledException)
        {
            throw new SocketException((int)SocketError.TimedOut);
        }

        return RespConnection.Connect(address, timeoutMs);
    }

    /// <summary>Starts a server without data, on a disk of its own.</summary>
    internal void Start(int server)
    {
        string disk = _folder.File(string.Create(CultureInfo.InvariantCulture, $"disk{server}"));
        Directory.CreateDirectory(disk);
        string script = _folder.File(string.Create(CultureInfo.InvariantCulture, $"start{server}.sh"));
        File.WriteAllText(script, $"mount -t tmpfs -o size={DiskMebibytes}m tmpfs {disk} && exec dotnet {Transfers.Program} --port {Port} --bind 0.0.0.0 --protected-mode no --dir {disk} --loops 1 --save '' --appendonly yes "
            + "--enable-debug-command yes --repl-diskless-sync-delay 0 --repl-ping-replica-period 1 --repl-timeout 4\n");
        Runs[server]++;
        _processes[server] = ServerProcess.StartUnchecked(new ServerProgram("redkite", $"ip netns exec {_network.NamespaceOf(server)} sh {script}", IsRedKite: true), Port);
        WaitFor(() => TryRun(server, "PING") == "PONG" || _processes[server]!.HasExited, "the start");
        Assert.False(_processes[server]!.HasExited, Log());
    }

    internal void Kill(int server)
    {
        _processes[server]?.Dispose();
        _processes[server] = null;
    }

    internal void Pause(int server) => _processes[server]!.Signal("STOP");

    internal void Continue(int server) => _processes[server]!.Signal("CONT");

    /// <summary>Leaves no room on a server's disk.</summary>
    internal void FillDisk(int server)
    {
        using FileStream file = File.Create(FillerOf(server));
        try
        {
            for (int i = 0; i < DiskMebibytes; i++) file.Write(new byte[1 << 20]);
        }
        catch (IOException)
        {
            // It is full.
        }
    }

    internal void FreeDisk(int server) => File.Delete(FillerOf(server));

    internal void Follow(int replica, int primary) => WaitFor(() => TryRun(replica, $"REPLICAOF {_network.AddressOf(primary)} {Port}")?.StartsWith("OK", StringComparison.Ordinal) == true, "REPLICAOF");

    /// <summary>Makes a server the primary to which clients write.</summary>
    internal void Promote(int server)
    {
        WaitFor(() => TryRun(server, "REPLICAOF NO ONE") == "OK", "the promotion");
        Primary = server;
    }

    /// <summary>The reply as text; null: the server cannot be reached, or does not reply in time.</summary>
    internal string? TryRun(int server, string command)
    {
        try
        {
            using RespConnection client = Connect(server);
            RespValue reply = client.Run(command);
            return reply.IsClosed || reply.IsTimeout ? null : reply.IsInteger ? reply.Number.ToString(CultureInfo.InvariantCulture) : reply.IsNull ? "" : reply.Text;
        }
        catch (Exception failure) when (failure is SocketException or IOException)
        {
            return null;
        }
    }

    /// <summary>A field of INFO replication; null: the server cannot be reached.</summary>
    internal string? Field(int server, string name) => FieldOf(TryRun(server, "INFO replication"), name);

    internal static string? FieldOf(string? info, string name)
    {
        if (info is null || info.IndexOf("\n" + name + ":", StringComparison.Ordinal) is not (>= 0 and int at)) return null;
        int start = at + name.Length + 2;
        return info[start..info.IndexOf('\r', start)];
    }

    internal void WaitFor(Func<bool> condition, string what) => WaitFor(condition, () => what);

    internal void WaitFor(Func<bool> condition, Func<string> what)
    {
        long endMs = Environment.TickCount64 + PatienceMs;
        while (!condition())
        {
            if (Environment.TickCount64 > endMs) Assert.Fail($"timed out waiting for {what()}\n{Log()}");
            Thread.Sleep(20);
        }
    }

    internal string Log() => string.Join("\n\n", _processes.Select(static (process, i) => $"server {i}: {(process is null ? "is not running" : string.Join('\n', process.Output.TakeLast(30)))}"));

    public void Dispose()
    {
        foreach (ServerProcess? process in _processes) process?.Dispose();
        _folder.Dispose();
    }

    // The disk is mounted for the server's process only.
    private string FillerOf(int server) => string.Create(CultureInfo.InvariantCulture, $"/proc/{_processes[server]!.Id}/root{_folder.File($"disk{server}")}/filler");
}
