using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Clients write with replica-acks 1, the primary is killed at a random moment, and its replica becomes the primary: every write that was acknowledged is there.
/// The moments follow from REDKITE_SEED, as far as the machine repeats itself.
/// </summary>
public sealed class AckedWritesTests
{
    private const int Writers = 4;
    private const int PatienceMs = 60_000;

    [Theory]
    [InlineData("redkite")]
    [InlineData("redis 8")]
    public void No_acknowledged_write_is_lost(string replica) => Run(replica, TestScale.GivenSeed ?? 1, rounds: 1, writesMax: 2000);

    [Theory]
    [Long]
    [InlineData("redkite")]
    [InlineData("redis 8")]
    public void No_acknowledged_write_is_lost_in_thousands(string replica) => Run(replica, TestScale.GivenSeed ?? Random.Shared.Next(), rounds: 20, writesMax: 20_000);

    private static void Run(string kind, int seed, int rounds, int writesMax)
    {
        var random = new Random(seed);
        for (int round = 0; round < rounds; round++)
        {
            using ServerProcess primary = Transfers.Start("redkite", "--save", "", "--repl-diskless-sync-delay", "0", "--replica-acks", "1", "--replica-acks-timeout", "60000");
            using ServerProcess replica = Transfers.Start(kind, "--save", "", "--replicaof", "127.0.0.1", primary.Port.ToString(CultureInfo.InvariantCulture));
            using RespConnection control = replica.Connect();
            Assert.True(SpinWait.SpinUntil(() => control.Run("INFO replication").Text.Contains("master_link_status:up", StringComparison.Ordinal), PatienceMs), "the link");
            var writers = Enumerable.Range(0, Writers).Select(index => new Writer(index, pipeline: 1 << (index * 2))).ToArray();
            Thread[] threads = [.. writers.Select(writer => new Thread(() => writer.Run(primary.Port)))];
            foreach (Thread thread in threads) thread.Start();
            long kills = random.Next(writesMax / 10, writesMax);
            Assert.True(SpinWait.SpinUntil(() => writers.Sum(static writer => writer.Acknowledged) >= kills, PatienceMs), "acknowledged writes");
            primary.Signal("KILL");
            foreach (Thread thread in threads) thread.Join();
            control.Run("REPLICAOF NO ONE").IsOk();
            foreach (Writer writer in writers)
            {
                Assert.Null(writer.Failure);
                long found = long.Parse(control.Run("GET counter:" + writer.Name).Text ?? "0", CultureInfo.InvariantCulture);
                long listed = long.Parse(control.Run("LLEN list:" + writer.Name).ToString()![1..], CultureInfo.InvariantCulture);
                Assert.True(found >= writer.Acknowledged && listed >= writer.Units, $"REDKITE_SEED={seed}, round {round}: {writer.Acknowledged} and {writer.Units} were acknowledged to writer {writer.Name}, {found} and {listed} are there");
            }
        }
    }

    // INCR in pipelines, and a transaction behind each.
    private sealed class Writer(int index, int pipeline)
    {
        private long _acknowledged;

        internal string Name => index.ToString(CultureInfo.InvariantCulture);

        internal long Acknowledged => Interlocked.Read(ref _acknowledged);

        internal long Units { get; private set; }

        internal string? Failure { get; private set; }

        internal void Run(int port)
        {
            using RespConnection client = RespConnection.Connect(port);
            byte[] increments = [.. Enumerable.Repeat(CommandLine.Encode(CommandLine.Split("INCR counter:" + Name)), pipeline).SelectMany(static bytes => bytes)];
            byte[] unit = [.. ((string[])["MULTI", $"RPUSH list:{Name} element", "EXEC"]).SelectMany(static line => CommandLine.Encode(CommandLine.Split(line)))];
            try
            {
                while (true)
                {
                    client.Send([.. increments, .. unit]);
                    for (int i = 0; i < pipeline; i++)
                    {
                        RespValue reply = client.Read();
                        if (!reply.ToString()!.StartsWith(':')) throw new IOException(reply.ToString());
                        Interlocked.Exchange(ref _acknowledged, long.Parse(reply.ToString()!.AsSpan(1), CultureInfo.InvariantCulture));
                    }

                    client.Read();
                    client.Read();
                    if (client.Read().ToString()!.StartsWith('*')) Units++;
                    else throw new IOException();
                }
            }
            catch (Exception ended) when (ended is IOException or System.Net.Sockets.SocketException)
            {
                if (ended.Message.StartsWith("-NOREPLICAS", StringComparison.Ordinal)) Failure = ended.Message;
            }
        }
    }
}
