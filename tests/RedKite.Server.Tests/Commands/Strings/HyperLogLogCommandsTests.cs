using RedKite.Server.Commands.Arguments;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class HyperLogLogCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Elements_are_counted_once()
    {
        Run("PFADD k a b c d e f g").IsInteger(1);
        Run("PFADD k a b c").IsInteger(0);
        Run("PFCOUNT k").IsInteger(7);
        Run("PFADD k h").IsInteger(1);
        Run("PFCOUNT k").IsInteger(8);
        Run("PFCOUNT missing").IsInteger(0);
        Run("TYPE k").IsSimple("string");
        Assert.Equal(ValueEncoding.Raw, _transcript.EncodingOf("k"));
    }

    [Fact]
    public void New_value_has_the_same_bytes_as_in_redis()
    {
        Run("PFADD k").IsInteger(1);
        Run("PFADD k").IsInteger(0);
        Run("GET k").IsBytes([.. "HYLL"u8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x7f, 0xff]);
        Run("PFADD k a").IsInteger(1);
        Run("PFDEBUG DECODE k").IsBulk("Z:12711 v:2,1 Z:3672");
        Run("PFCOUNT k").IsInteger(1);
        Run("GETRANGE k 8 15").IsBytes([1, 0, 0, 0, 0, 0, 0, 0]);
    }

    [Fact]
    public void Keys_that_are_named_again_are_merged_once()
    {
        Run("PFADD a a b c d e f g");
        Run("PFADD b f g h");
        string again = string.Join(' ', Enumerable.Repeat("a missing b", 100));
        Run("PFCOUNT " + again).IsInteger(8);
        Run("PFMERGE c " + again).IsOk();
        Run("PFCOUNT c").IsInteger(8);
        Run("SET s x").IsOk();
        Run($"PFCOUNT {again} s").IsError("WRONGTYPE Key is not a valid HyperLogLog string value.");

        // Each of these would read 12 KiB.
        var merged = default(DistinctEntries);
        for (int i = 0; i < 1_000_000; i++) merged.Add(Entry.FromBlock(64 * (1 + (i % 100))));
        Assert.InRange(merged.Count, 100, 108);
    }

    [Fact]
    public void Values_are_merged_and_counted_together()
    {
        Run("PFADD a foo bar zap a").IsInteger(1);
        Run("PFADD b a b c foo").IsInteger(1);
        Run("PFCOUNT a b missing").IsInteger(6);
        Run("PFMERGE c a b").IsOk();
        Run("PFCOUNT c").IsInteger(6);
        Run("PFDEBUG TODENSE b").IsInteger(1);
        Run("PFDEBUG TODENSE b").IsInteger(0);
        Run("PFMERGE c b").IsOk();
        Run("PFDEBUG ENCODING c").IsSimple("dense");
        Run("STRLEN c").IsInteger(12_304);
        Run("PFCOUNT c").IsInteger(6);
        Run("PFCOUNT a b").IsInteger(6);
        Run("PFMERGE new").IsOk();
        Run("PFCOUNT new").IsInteger(0);
    }

    [Fact]
    public void Sparse_value_becomes_dense_at_the_setting()
    {
        Run("CONFIG SET hll-sparse-max-bytes 40").IsOk();
        for (int i = 0; i < 20; i++) Run($"PFADD k element:{i}");
        Run("PFDEBUG ENCODING k").IsSimple("dense");
        Run("PFCOUNT k").IsInteger(20);
        Run("PFDEBUG DECODE k").IsError("ERR HLL encoding is not sparse");
        Run("PFDEBUG GETREG missing").IsError("ERR The specified key does not exist");
        Run("PFDEBUG NOSUCH k").IsError("ERR Unknown PFDEBUG subcommand 'NOSUCH'");
        Assert.Equal(16_384, Run("PFDEBUG GETREG k").Items.Count);
    }

    [Fact]
    public void Switch_of_vector_instructions_needs_no_key()
    {
        Run("PFDEBUG SIMD off").IsSimple("disabled");
        Run("PFDEBUG simd ON").IsSimple("enabled");
        Run("PFDEBUG SIMD k").IsError("ERR Argument must be ON or OFF");
    }

    [Fact]
    public void Invalid_values_are_refused()
    {
        foreach (string bytes in (string[])["", "HYLL", "not a header at all", "HYLL\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00", "HYLL\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00"])
        {
            Run($"SET k \"{bytes}\"").IsOk();
            foreach (string command in (string[])["PFADD k a", "PFCOUNT k", "PFCOUNT k k", "PFMERGE k a", "PFMERGE b k", "PFDEBUG ENCODING k"])
            {
                Run(command).IsError("WRONGTYPE Key is not a valid HyperLogLog string value.");
            }
        }
    }

    [Fact]
    public void Inconsistent_runs_are_reported()
    {
        // One run of 64 registers, and the count is stale.
        const string corrupt = "INVALIDOBJ Corrupted HLL object detected";
        Run("SET k \"HYLL\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\\x3f\"").IsOk();
        foreach (string command in (string[])["PFADD k a", "PFCOUNT k", "PFCOUNT k k", "PFMERGE k", "PFMERGE b k", "PFDEBUG TODENSE k", "PFDEBUG GETREG k"])
        {
            Run(command).IsError(corrupt);
        }

        // A long run without its second byte.
        Run("SETRANGE k 16 \"\\x7f\"").IsInteger(17);
        Run("PFADD k a").IsError(corrupt);
        Run("PFDEBUG DECODE k").IsBulk("");
    }

    [Fact]
    public void Pfselftest_passes() => Run("PFSELFTEST").IsOk();

    private RespValue Run(string line) => _transcript.Run(line);
}
