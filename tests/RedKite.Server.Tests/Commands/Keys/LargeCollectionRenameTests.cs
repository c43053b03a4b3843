using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// RENAME and RENAMENX of large collections across stripes: without memory, so that nothing is copied; in a long run, with two million elements,
/// also in constant time.
/// </summary>
public sealed class LargeCollectionRenameTests : TranscriptTests
{
    private const int ElementsPerRequest = 1_000;
    private const int Rounds = 20;

    // What moves is an entry, which may be counted in both stripes or need a segment of the other table; a copy takes tens of megabytes.
    private const long MovingBytesMax = 64 * 1024;

    private const string First = "first";

    private static readonly int Elements = TestScale.Of(gate: 50_000, full: 2_000_000);

    [Theory]
    [InlineData("RPUSH", "{0}", "LLEN", "LINDEX {0} 34567", "34567")]
    [InlineData("SADD", "member:{0}", "SCARD", "SISMEMBER {0} member:34567", "1")]
    [InlineData("HSET", "field:{0} {0}", "HLEN", "HGET {0} field:34567", "34567")]
    [InlineData("ZADD", "{0} member:{0}", "ZCARD", "ZSCORE {0} member:34567", "34567")]
    [InlineData("XADD", "{0}-1 f {0}", "XLEN", "XRANGE {0} 34567 34567", "34567-1, f, 34567")]
    public void Large_collection_is_renamed_without_memory(string adds, string element, string counts, string probe, string found)
    {
        string second = Enumerable.Range(0, 1000).Select(i => $"second:{i}").First(key => StripeOf(key) != StripeOf(First));
        Fill(adds, element, elementsPerRequest: adds == "XADD" ? 1 : ElementsPerRequest);
        RunOn(counts + " {0}", First).IsInteger(Elements);
        foreach (string rename in (string[])["RENAME", "RENAMENX"])
        {
            Rename(rename, First, second); // both tables exist from here on
            Rename(rename, second, First);
            long held = HeldBytes();
            using var watch = new HighestBytes(HeldBytes);
            var fastest = TimeSpan.MaxValue;
            for (int round = 0; round < Rounds; round++)
            {
                long start = Stopwatch.GetTimestamp();
                Rename(rename, First, second);
                Rename(rename, second, First);
                TimeSpan elapsed = Stopwatch.GetElapsedTime(start) / 2;
                if (elapsed < fastest) fastest = elapsed;
                Assert.Equal(held, HeldBytes());
            }

            // Copying takes many milliseconds on any machine, so the fastest round decides.
            if (TestScale.IsLong) Assert.InRange(fastest, TimeSpan.Zero, TimeSpan.FromMilliseconds(1));
            Assert.InRange(watch.End(), held, held + MovingBytesMax);
        }

        Rename("RENAME", First, second);
        RunOn(counts + " {0}", second).IsInteger(Elements);
        Assert.Equal(found, RunOn(probe, second).Text);
        Run("EXISTS " + First).IsInteger(0);
    }

    private RedKiteReply RunOn(string format, string key) => Run(string.Format(CultureInfo.InvariantCulture, format, key));

    private void Rename(string command, string from, string to)
    {
        RedKiteReply reply = Run($"{command} {from} {to}");
        Assert.True(reply.Text is "OK" or "1", reply.Text);
    }

    private void Fill(string adds, string element, int elementsPerRequest)
    {
        using RedKiteSession client = Server.CreateSession();
        var replies = new ArrayBufferWriter<byte>();
        var text = new StringBuilder();
        for (int i = 0; i < Elements;)
        {
            text.Clear();
            for (int end = i + ElementsPerRequest; i < end;)
            {
                string[] words = [adds, First, .. Enumerable.Range(i, elementsPerRequest).SelectMany(n => string.Format(CultureInfo.InvariantCulture, element, n).Split(' '))];
                text.Append(CultureInfo.InvariantCulture, $"*{words.Length}\r\n");
                foreach (string word in words) text.Append(CultureInfo.InvariantCulture, $"${word.Length}\r\n{word}\r\n");
                i += elementsPerRequest;
            }

            byte[] request = Encoding.ASCII.GetBytes(text.ToString());
            Assert.Equal(request.Length, client.Execute(request, replies));
            replies.ResetWrittenCount();
        }
    }

    private int StripeOf(string key) => Server.Engine.Keyspace.StripeOf(Server.Engine.Keyspace.Hash(Encoding.ASCII.GetBytes(key)));

    // With what waits to be freed, as a copied value would.
    private long HeldBytes() => Server.Engine.Keyspace.UsedBytes + Server.Engine.Keyspace.FreeingBytes;
}
