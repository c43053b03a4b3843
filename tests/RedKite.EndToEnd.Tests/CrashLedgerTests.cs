using System.Diagnostics;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// The server is killed at random moments while clients write, and started again on the same folder. What it had promised is there, units
/// are whole, and the log always replays to the same data.
/// </summary>
/// <remarks>REDKITE_CRASH_ROUNDS is the number of rounds. The moments follow from REDKITE_SEED, as far as the machine repeats itself.</remarks>
public sealed class CrashLedgerTests(ITestOutputHelper output) : IDisposable
{
    private const int GateRounds = 4;
    private const int LongRounds = 200;
    private const int PatienceMs = 120_000;

    // With everysec, what was acknowledged earlier than this before the kill is there.
    private const int EverySecondMs = 2_000;

    private static readonly int Rounds =
        int.TryParse(Environment.GetEnvironmentVariable("REDKITE_CRASH_ROUNDS"), CultureInfo.InvariantCulture, out int rounds) ? rounds : TestScale.Of(GateRounds, LongRounds);

    private readonly TemporaryFolder _folder = new();
    private readonly Stopwatch _clock = Stopwatch.StartNew();
    private readonly LedgerWriter[] _writers =
    [
        new(LedgerKind.Counter, 0, 1), new(LedgerKind.Counter, 1, 50), new(LedgerKind.Unit, 0, 1), new(LedgerKind.Unit, 2, 20),
        new(LedgerKind.Script, 0, 5), new(LedgerKind.List, 3, 10), new(LedgerKind.Value, 0, 4), new(LedgerKind.Sketches, 4, 10), new(LedgerKind.Series, 0, 8),
        new(LedgerKind.Document, 0, 4),
    ];

    private volatile bool _promises;

    /// <summary>What happens shortly before the kill.</summary>
    private enum Event
    {
        Rewrite,
        Save,
        Begin,
        Load,
        Nothing,
    }

    [Fact]
    public void Nothing_that_was_promised_is_lost()
    {
        int seed = TestScale.GivenSeed ?? Random.Shared.Next();
        var random = new Random(seed);
        for (int round = 0; round < Rounds; round++)
        {
            var happens = (Event)(round < GateRounds ? round : random.Next(5));
            string policy = round == 1 || (round >= GateRounds && random.Next(10) == 0) ? "everysec" : "always";
            try
            {
                Round(random, happens, policy);
            }
            catch (Exception failure)
            {
                string files = string.Join("\n", Directory.GetFiles(_folder.Path, "*", SearchOption.AllDirectories).Select(file => $"{file} {new FileInfo(file).Length}"));
                throw new LedgerException($"REDKITE_SEED={seed}, round {round} ({happens}, {policy}): {failure.Message}\n{files}", failure);
            }
        }

        output.WriteLine($"{Rounds} rounds, REDKITE_SEED={seed}");
    }

    public void Dispose() => _folder.Dispose();

    private void Round(Random random, Event happens, string policy)
    {
        long killedMs;
        using (ServerProcess server = Start(policy))
        {
            _promises = true;
            Thread[] threads = [.. _writers.Select(writer => NewThread(server, writer, random.Next()))];
            foreach (Thread thread in threads) thread.Start();
            Thread.Sleep(random.Next(policy == "always" ? 300 : EverySecondMs + 500));
            using (RespConnection control = server.Connect()) Cause(happens, control, random);
            killedMs = _clock.ElapsedMilliseconds;
            Kill(server);
            foreach (Thread thread in threads) thread.Join();
            if (_failure is not null) throw _failure;
        }

        if (happens == Event.Load)
        {
            using ServerProcess loading = ServerProcess.StartUnchecked(ServerProgram.UnderTest, LoopbackPort.Next(), Options(policy));
            Thread.Sleep(random.Next(700));
            Kill(loading);
        }

        string digest;
        using (ServerProcess server = Start(policy))
        {
            using RespConnection connection = server.Connect();
            digest = connection.Run("DEBUG DIGEST").Text;
            foreach (LedgerWriter writer in _writers) writer.Check(connection, policy == "always" ? killedMs : killedMs - EverySecondMs);
            Kill(server);
        }

        using (ServerProcess server = Start(policy))
        {
            using RespConnection connection = server.Connect();
            string again = connection.Run("DEBUG DIGEST").Text;
            if (again != digest) throw new LedgerException($"replayed again, the data are others: {digest} and {again}");
            Kill(server);
        }
    }

    private void Cause(Event happens, RespConnection control, Random random)
    {
        switch (happens)
        {
            case Event.Rewrite:
                Expect(control, "CONFIG SET aof-use-rdb-preamble " + (random.Next(3) == 0 ? "no" : "yes"));

                // One that has begun by itself, because the log has grown, is the same event.
                RespValue rewrite = control.Run("BGREWRITEAOF");
                if (rewrite.IsError && rewrite.ToString().Contains("already in progress", StringComparison.Ordinal)) break;
                Expect("BGREWRITEAOF", rewrite);
                break;
            case Event.Save:
                Expect(control, "BGSAVE SCHEDULE");
                break;
            case Event.Begin:
                // What is written between the old log and the new one's base is not promised.
                _promises = false;
                Expect(control, "CONFIG SET appendonly no");
                Thread.Sleep(random.Next(30));
                Expect(control, "CONFIG SET appendonly yes");
                if (random.Next(2) == 0) break; // killed while the base is written
                long rewrites = Rewrites(control);
                // One that ends next may have begun before the setting; the second has begun after it, and the log is in use at its end.
                if (!SpinWait.SpinUntil(() => HasRewritten(control, rewrites + 2), PatienceMs)) throw new LedgerException("the log does not begin");
                _promises = true;
                Thread.Sleep(random.Next(100));
                break;
            default:
                break;
        }

        Thread.Sleep(random.Next(40));
    }

    private static bool HasRewritten(RespConnection control, long rewrites)
    {
        if (Rewrites(control) >= rewrites) return true;
        control.Run("BGREWRITEAOF"); // refused while one is in progress
        Thread.Sleep(5);
        return false;
    }

    // The rewrites that have ended.
    private static long Rewrites(RespConnection control)
    {
        string info = control.Run("INFO persistence").Text;
        return long.Parse(info.Split("\naof_rewrites:")[1].Split('\r')[0], CultureInfo.InvariantCulture);
    }

    private static void Expect(RespConnection control, string command) => Expect(command, control.Run(command));

    private static void Expect(string command, RespValue reply)
    {
        if (reply.IsError || reply.IsClosed || reply.IsTimeout) throw new LedgerException($"{command}: {reply}");
    }

    private Exception? _failure;

    private Thread NewThread(ServerProcess server, LedgerWriter writer, int seed) => new(() =>
    {
        try
        {
            using RespConnection connection = server.Connect();
            writer.Run(connection, new Random(seed), () => _promises, () => _clock.ElapsedMilliseconds);
        }
        catch (System.Net.Sockets.SocketException)
        {
            // Killed before this client had connected.
        }
        catch (LedgerException failure)
        {
            _failure = failure;
        }
    });

    private string[] Options(string policy) =>
        ["--dir", _folder.Path, "--appendonly", "yes", "--appendfsync", policy, "--enable-debug-command", "yes", "--auto-aof-rewrite-min-size", "1mb", "--ts-compaction-policy", LedgerWriter.SeriesPolicy];

    private ServerProcess Start(string policy)
    {
        ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, Options(policy));
        using RespConnection connection = server.Connect();
        if (SpinWait.SpinUntil(() => connection.Run("PING").Text == "PONG", PatienceMs)) return server;
        string lines = string.Join('\n', server.Output);
        server.Dispose();
        throw new LedgerException("the server does not end loading:\n" + lines);
    }

    private static void Kill(ServerProcess server)
    {
        server.Signal("KILL");
        server.WaitForExit(PatienceMs);
    }
}
