using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;

namespace RedKite.Figures.Replication;

/// <summary>
/// SETs that a replica has acknowledged before they are answered: RedKite with replica-acks 1 and without, and redis-server with WAIT 1 behind every SET, which its clients
/// have to send. The replica is a server of the same kind on the load's core.
/// </summary>
internal static class AcknowledgedWrites
{
    internal const string Name = "acks";

    private const int Connections = 1000;
    private const int Pipeline = 16;
    private const int Keys = 100_000;
    private const int ValueBytes = 64;
    private const int SyncMsMax = 60_000;
    private const double RateMin = 0.8;
    private const double RoundTripsMax = 1.5;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        var table = new Table(FormattableString.Invariant($"SET acknowledged by a replica: {Connections:N0} connections at pipeline {Pipeline}, and one connection"),
            new("server"), new("SETs/s"), new("range SETs/s"), new("p50 ms of one connection", "F3"), new("range p50", "F3"));
        report.Tables.Add(table);
        if (kinds.FirstOrDefault(static kind => kind.Name == "redkite") is { } kind)
        {
            using var pair = Pair.Start(kind);
            List<double> plainRates = [], ackedRates = [], plainMs = [], ackedMs = [];
            for (int round = -1; round < options.Rounds; round++)
            {
                foreach (int acks in round % 2 == 0 ? (int[])[0, 1] : [1, 0])
                {
                    pair.Set("replica-acks", acks);
                    double rate = Load(pair.Primary, Connections, Pipeline, options).GetProperty("Ops/sec").GetDouble();
                    double ms = Load(pair.Primary, 1, 1, options).GetProperty("Percentile Latencies").GetProperty("p50.00").GetDouble();
                    if (round < 0) continue;
                    (acks == 0 ? plainRates : ackedRates).Add(rate);
                    (acks == 0 ? plainMs : ackedMs).Add(ms);
                }
            }

            Spread rateWithout = Spread.Of(plainRates), rateWith = Spread.Of(ackedRates), msWithout = Spread.Of(plainMs), msWith = Spread.Of(ackedMs);
            table.Add("redkite", rateWithout.Median, rateWithout.Range, msWithout.Median, msWithout.Range);
            table.Add("redkite, replica-acks 1", rateWith.Median, rateWith.Range, msWith.Median, msWith.Range);
            report.Targets.Add(Target.AtLeast(RateMin, "SETs a second with replica-acks 1 / without", Spread.OfRatios(ackedRates, plainRates)));
            report.Targets.Add(Target.AtMost(RoundTripsMax, "p50 that replica-acks 1 adds for one connection, in round trips (its p50 without)", Spread.OfRatios([.. ackedMs.Zip(plainMs, static (with, without) => with - without)], plainMs)));
        }

        if (kinds.FirstOrDefault(static kind => kind.Name == "redis") is not { } redis) return;
        using var waiting = Pair.Start(redis);
        List<double> rates = [], milliseconds = [];
        for (int round = 0; round < options.Rounds; round++)
        {
            rates.Add(Wait(waiting.Primary.Port, Connections, Pipeline, options.Seconds).PerSecond);
            milliseconds.Add(Wait(waiting.Primary.Port, 1, 1, options.Seconds).MedianMs);
        }

        Spread rateOfWaits = Spread.Of(rates), msOfWaits = Spread.Of(milliseconds);
        table.Add("redis, WAIT 1 behind each SET", rateOfWaits.Median, rateOfWaits.Range, msOfWaits.Median, msOfWaits.Range);
    }

    private static JsonElement Load(ServerUnderTest server, int connections, int pipeline, Options options) => OpenLoop.Run(server.Port, string.Create(
        CultureInfo.InvariantCulture, $"-t 1 -c {connections} --pipeline {pipeline} --ratio 1:0 -d {ValueBytes} --key-maximum {Keys} --hide-histogram --print-percentiles 50,99 --test-time {options.Seconds}"));

    // All connections send, then all replies are read, until the time is over.
    private static (double PerSecond, double MedianMs) Wait(int port, int connections, int pipeline, int seconds)
    {
        var value = new string('x', ValueBytes);
        byte[] request = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Range(0, pipeline).Select(i => $"*3\r\n$3\r\nSET\r\n$5\r\nkey{i:00}\r\n${ValueBytes}\r\n{value}\r\n*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n")));
        int replyBytes = pipeline * "+OK\r\n:1\r\n".Length;
        var buffer = new byte[replyBytes];
        List<double> milliseconds = [];
        Socket[] sockets = [.. Enumerable.Range(0, connections).Select(_ => new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true })];
        try
        {
            foreach (Socket socket in sockets) socket.Connect("127.0.0.1", port);
            long start = Stopwatch.GetTimestamp();
            long sets = 0;
            while (Stopwatch.GetElapsedTime(start).TotalSeconds < seconds)
            {
                long sent = Stopwatch.GetTimestamp();
                foreach (Socket socket in sockets) socket.Send(request);
                foreach (Socket socket in sockets)
                {
                    for (int read = 0; read < replyBytes;)
                    {
                        int received = socket.Receive(buffer);
                        if (received == 0) throw new CannotMeasureException("redis-server closed a connection");
                        read += received;
                    }
                }

                sets += (long)connections * pipeline;
                milliseconds.Add(Stopwatch.GetElapsedTime(sent).TotalMilliseconds);
            }

            return (sets / Stopwatch.GetElapsedTime(start).TotalSeconds, Spread.Of(milliseconds).Median);
        }
        finally
        {
            foreach (Socket socket in sockets) socket.Dispose();
        }
    }

    // A primary and its replica.
    private sealed class Pair : IDisposable
    {
        private readonly ServerUnderTest _replica;

        private Pair(ServerUnderTest primary, ServerUnderTest replica) => (Primary, _replica) = (primary, replica);

        internal ServerUnderTest Primary { get; }

        internal static Pair Start(ServerKind kind)
        {
            ServerUnderTest primary = ServerUnderTest.Start(kind with { Command = $"{kind.Command} --repl-diskless-sync-delay 0 --repl-backlog-size 64mb" }, descriptorsMax: 10 * Connections);
            ServerUnderTest replica = ServerUnderTest.Start(kind with { Command = $"{kind.Command} --replicaof 127.0.0.1 {primary.Port.ToString(CultureInfo.InvariantCulture)}" }, "the replica", cpus: Machine.LoadCpus);
            ApplyCost.WaitFor(primary, replica, SyncMsMax);
            return new Pair(primary, replica);
        }

        internal void Set(string setting, int value)
        {
            using SetupConnection connection = Primary.Connect();
            connection.Run("CONFIG", "SET", setting, value.ToString(CultureInfo.InvariantCulture));
        }

        public void Dispose()
        {
            _replica.Dispose();
            Primary.Dispose();
        }
    }
}
