using System.Diagnostics;
using System.Globalization;
using System.Numerics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// RENAME, RENAMENX and MOVE of a large string: without memory, so that it is not copied; in a long run, with 256 MiB, also in constant time.
/// </summary>
public abstract class LargeStringRenameTests : TranscriptTests
{
    private const string First = "first";
    private const string Second = "a-key-of-another-length-in-another-stripe";

    // What moves is an entry.
    private const long MovingBytesMax = 64 * 1024;

    private static readonly int Bytes = TestScale.Of(gate: 16 << 20, full: 256 << 20);

    [Theory]
    [InlineData("RENAME " + First + " " + Second, "RENAME " + Second + " " + First)]
    [InlineData("RENAMENX " + First + " " + Second, "RENAMENX " + Second + " " + First)]
    [InlineData("MOVE " + First + " 1", "MOVE " + First + " 0")]
    public void Large_string_moves_without_memory(string there, string back)
    {
        bool changesDatabase = there.StartsWith("MOVE", StringComparison.Ordinal);
        int[] offsets = [0, 1_000, Bytes / 2, Bytes - 6];
        Run($"SETRANGE {First} {Bytes - 1} x").IsInteger(Bytes);
        foreach (int offset in offsets) Run($"SETRANGE {First} {offset} {MarkAt(offset)}").IsInteger(Bytes);
        Run($"EXPIRE {First} 10000").IsInteger(1);
        Move(there, changesDatabase ? 1 : 0); // both tables exist from here on
        Move(back, database: 0);

        long used = UsedBytes();
        using var watch = new HighestBytes(UsedBytes);
        var fastest = TimeSpan.MaxValue;
        for (int round = 0; round < 10; round++)
        {
            long start = Stopwatch.GetTimestamp();
            Move(there, changesDatabase ? 1 : 0);
            Move(back, database: 0);
            TimeSpan elapsed = Stopwatch.GetElapsedTime(start) / 2;
            if (elapsed < fastest) fastest = elapsed;
            Assert.Equal(used, UsedBytes());
        }

        // Copying 256 MiB takes tens of milliseconds on any machine, so the fastest round decides.
        if (TestScale.IsLong) Assert.InRange(fastest, TimeSpan.Zero, TimeSpan.FromMilliseconds(1));
        Assert.InRange(watch.End(), used, used + MovingBytesMax);
        Move(there, changesDatabase ? 1 : 0);
        string key = changesDatabase ? First : Second;
        Run($"STRLEN {key}").IsInteger(Bytes);
        foreach (int offset in offsets) Run($"GETRANGE {key} {offset} {offset + 5}").IsText(MarkAt(offset));
        Run($"BITCOUNT {key}").IsInteger(offsets.Sum(offset => MarkAt(offset).Sum(digit => BitOperations.PopCount(digit)))); // all else is zero
        Run($"TTL {key}").IsInteger(10_000);
        Clock.Advance(10_000_000);
        Run($"EXISTS {key}").IsInteger(0);
    }

    private static string MarkAt(int offset) => (100_000 + (offset % 100_000)).ToString(CultureInfo.InvariantCulture);

    private void Move(string command, int database)
    {
        RedKiteReply reply = Run(command);
        Assert.True(reply.Text is "OK" or "1", reply.Text);
        Run($"SELECT {database}").IsOk();
    }

    // Of the store: the process's other memory changes by itself.
    private long UsedBytes() => Server.Engine.Keyspace.UsedBytes;

    public sealed class WithOneStripe : LargeStringRenameTests
    {
        protected override int Stripes => 1;
    }

    public sealed class WithManyStripes : LargeStringRenameTests;
}
