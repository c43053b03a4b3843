using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Figures.Types;
using RedKite.TestSupport;

namespace RedKite.Figures.Vectors;

/// <summary>A client that adds vectors to a set of one server and searches them.</summary>
internal sealed class VectorClient(ServerUnderTest server) : IDisposable
{
    /// <summary>The effort of a search that compares all vectors.</summary>
    internal const int Exact = 0;

    private static readonly byte[] Key = "vectors"u8.ToArray();

    private readonly CommandPipe _pipe = new(server.Port);
    private readonly RespConnection _connection = RespConnection.Connect(server.Port, timeoutMs: 600_000);

    /// <summary>Adds vectors, whose numbers are their names.</summary>
    /// <returns>The server's CPU for each, in microseconds.</returns>
    internal double Add(float[][] vectors, int from, int count) => Measure(count, () =>
    {
        for (int i = from; i < from + count; i++)
        {
            _pipe.Begin(5, "VADD"u8).Add(Key).Add("FP32"u8).Add(MemoryMarshal.AsBytes<float>(vectors[i])).AddNumbered(""u8, i);
        }

        _pipe.Flush();
    });

    /// <summary>Searches what is near each query.</summary>
    /// <param name="effort">EF; <see cref="Exact"/>: TRUTH.</param>
    /// <param name="found">How many of the exact answers were found.</param>
    /// <returns>The server's CPU for each, in microseconds.</returns>
    internal double Search(VectorData data, int effort, out int found)
    {
        var replies = new RespValue[data.Queries.Length];
        byte[] wanted = Encoding.ASCII.GetBytes(VectorData.Wanted.ToString(CultureInfo.InvariantCulture));
        byte[][] how = effort == Exact ? ["TRUTH"u8.ToArray()] : ["EF"u8.ToArray(), Encoding.ASCII.GetBytes(effort.ToString(CultureInfo.InvariantCulture))];
        double cost = Measure(replies.Length, () =>
        {
            for (int i = 0; i < replies.Length; i++)
            {
                replies[i] = _connection.Run(["VSIM"u8.ToArray(), Key, "FP32"u8.ToArray(), MemoryMarshal.AsBytes<float>(data.Queries[i]).ToArray(), "COUNT"u8.ToArray(), wanted, .. how]);
            }
        });
        found = replies.Zip(data.Nearest).Sum(pair => pair.First.Items.Count(item => pair.Second.Contains(int.Parse(item.Text, CultureInfo.InvariantCulture))));
        return cost;
    }

    /// <summary>Removes all vectors, and waits until their memory is freed.</summary>
    internal void Clear()
    {
        _pipe.Run("FLUSHALL", "SYNC");
        using SetupConnection connection = server.Connect();
        long Used() => connection.ReadInfo("memory", "used_memory") ?? 0;
        for (long before = long.MaxValue, used = Used(); used < before; (before, used) = (used, Used())) IdleWait.Run(server, IdleWait.AfterRound, quiet: TimeSpan.FromMilliseconds(500));
    }

    public void Dispose()
    {
        _pipe.Dispose();
        _connection.Dispose();
    }

    private double Measure(int operations, Action load)
    {
        IdleWait.Run(server, IdleWait.AfterRound);
        double before = server.Cpu.TotalSeconds;
        load();
        double used = server.Cpu.TotalSeconds - before;
        return 1e6 * (used + IdleWait.Run(server, IdleWait.AfterRound).CpuSeconds) / operations;
    }
}
