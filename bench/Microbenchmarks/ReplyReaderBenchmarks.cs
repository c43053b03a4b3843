using BenchmarkDotNet.Attributes;
using RedKite.Protocol;

namespace RedKite.Microbenchmarks;

/// <summary>A pipeline's 64 replies of 256 bytes: their ends found, as the load generator does, and their elements read.</summary>
public class ReplyReaderBenchmarks
{
    private const int Replies = 64;

    private readonly byte[] _replies = Build();

    [Benchmark(Baseline = true, OperationsPerInvoke = Replies)]
    public int Skip()
    {
        var reader = new ReplyReader();
        int at = 0, replies = 0;
        while (reader.TrySkip(_replies, ref at, out _)) replies++;
        return replies;
    }

    [Benchmark(OperationsPerInvoke = Replies)]
    public int Read()
    {
        var reader = new ReplyReader();
        int at = 0, bytes = 0;
        while (reader.TryRead(_replies, ref at, out ReplyElement element)) bytes += element.Bytes.Length;
        return bytes;
    }

    private static byte[] Build()
    {
        var writer = new ReplyWriter();
        for (int i = 0; i < Replies; i++) writer.Bulk(new byte[256]);
        return writer.Written.ToArray();
    }
}
