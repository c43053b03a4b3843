using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace RedKite.Figures.Scenarios;

/// <summary>The cost of idle connections: memory per connection, and CPU per operation of the active ones.</summary>
internal static class IdleScenario
{
    private const int Keys = 1_000_000;
    private const int ValueBytes = 256;
    private const int Pipeline = 16;
    private const double BytesPerConnectionMax = 2048;
    private const int MemoryRoundsMax = 3;

    private static readonly TimeSpan Settling = TimeSpan.FromSeconds(3);

    // Open files other than the idle connections: the runtime's, the load's, the listeners.
    private const int OtherDescriptors = 2000;

    internal static Report Run(Options options)
    {
        int descriptors = options.Connections + OtherDescriptors;
        RaiseOwnDescriptorLimit(descriptors);
        var load = new LoadGenerator(Machine.LoadCpus);
        var report = new Report("idle", $"Growth of the resident set per connection with {options.Connections:N0} connections that sent one PING and then "
            + $"nothing, median of up to {MemoryRoundsMax} new processes, and CPU per operation with them and, on a second server, without: pipeline {Pipeline}, median of "
            + $"{options.Rounds} interleaved rounds, redis-benchmark with {options.Clients} connections on core {Machine.LoadCpus}, servers (RedKite with "
            + $"one loop) on core {Machine.ServerCpus}, {options.Keys ?? Keys:N0} keys, {options.ValueBytes ?? ValueBytes}-byte values, SET:GET 1:10.");
        var table = new Table("idle connections", new("server"), new("RSS bytes/connection"), new("range RSS"), new("cpu ns/op without"),
            new("cpu ns/op beside"), new("beside / without", "F2"), new("range beside / without", "F2"));
        report.Tables.Add(table);

        var workload = new Workload(options.Keys ?? Keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds);
        foreach (ServerKind kind in ServerKind.Available(options, report))
        {
            Spread bytes = Spread.Of(Enumerable.Range(0, Math.Min(MemoryRoundsMax, options.Rounds)).Select(_ => MeasureBytes(kind, descriptors, options.Connections, workload.ValueBytes)).ToArray());
            using ServerUnderTest without = ServerUnderTest.Start(kind, $"{kind.Name} without", descriptorsMax: descriptors);
            using ServerUnderTest beside = ServerUnderTest.Start(kind, $"{kind.Name} beside", descriptorsMax: descriptors);
            KeyLoader.WarmUp(beside, workload.ValueBytes);
            using var idle = new IdleConnections(beside, options.Connections);
            Dictionary<ServerUnderTest, Round[]> measured = InterleavedRounds.Measure([without, beside], load, workload, Pipeline, options.Rounds, report);
            double[] cpuWithout = [.. measured[without].Select(round => round.CpuNs)];
            double[] cpuWithIdle = [.. measured[beside].Select(round => round.CpuNs)];
            Spread ratio = Spread.OfRatios(cpuWithIdle, cpuWithout);
            table.Add(kind.Name, bytes.Median, bytes.Range, Median.Of(cpuWithout), Median.Of(cpuWithIdle), ratio.Median, ratio.Range);
            if (kind.Name == "redkite") report.Targets.Add(Target.AtMost(BytesPerConnectionMax, "RedKite's RSS bytes per connection", bytes));
        }

        return report;
    }

    // The server's own memory still grows in its first seconds, which would count as the connections'.
    private static double MeasureBytes(ServerKind kind, int descriptors, int connections, int valueBytes)
    {
        using ServerUnderTest server = ServerUnderTest.Start(kind, descriptorsMax: descriptors);
        KeyLoader.WarmUp(server, valueBytes);
        Thread.Sleep(Settling);
        long before = server.ResidentBytes;
        using var idle = new IdleConnections(server, connections);
        return (double)(server.ResidentBytes - before) / connections;
    }

    private static void RaiseOwnDescriptorLimit(int descriptors)
    {
        string limits = File.ReadLines("/proc/self/limits").First(line => line.StartsWith("Max open files", StringComparison.Ordinal));
        string soft = limits["Max open files".Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries)[0];
        if (soft == "unlimited" || int.Parse(soft, CultureInfo.InvariantCulture) >= descriptors) return;
        ExternalProgram.Run("prlimit", [$"--pid={Environment.ProcessId}", $"--nofile={descriptors}:{descriptors}"]);
    }

    private sealed class IdleConnections : IDisposable
    {
        private readonly List<Socket> _sockets = [];

        internal IdleConnections(ServerUnderTest server, int count)
        {
            Console.Error.WriteLine($"{server.Name}: opening {count} connections");
            try
            {
                for (int i = 0; i < count; i++) Open(server);
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        public void Dispose()
        {
            foreach (Socket socket in _sockets) socket.Dispose();
        }

        private void Open(ServerUnderTest server)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            _sockets.Add(socket);
            socket.Connect(IPAddress.Loopback, server.Port);
            socket.Send("*1\r\n$4\r\nPING\r\n"u8);
            Span<byte> reply = stackalloc byte[64];
            int bytes = socket.Receive(reply);
            if (!reply[..bytes].SequenceEqual("+PONG\r\n"u8)) throw new CannotMeasureException($"{server.Name} did not answer connection {_sockets.Count}");
        }
    }
}
