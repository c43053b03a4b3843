using System.Buffers;
using System.Diagnostics;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>Untouched expired keys are removed promptly, with their memory.</summary>
public abstract class ActiveExpiryTests : TranscriptTests
{
    private static readonly int Keys = TestScale.Of(gate: 400_000, full: 1_000_000);

    // About a second; the machine that runs the tests may be slow and busy.
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Fact]
    public void Many_untouched_keys_expire_and_release_their_memory()
    {
        Run("SET stays 1").IsOk();
        long before = Server.Engine.Keyspace.UsedBytes;
        Fill();
        long filled = Server.Engine.Keyspace.UsedBytes;
        Assert.True(filled - before > Keys * 40L);
        Thread.Sleep(500);
        Assert.Equal(Keys + 1, Server.Engine.Keyspace.Databases[0].Count);

        Clock.Advance(60_000);
        var clock = Stopwatch.StartNew();
        while (Server.Engine.Keyspace.ExpiredKeys < Keys && clock.Elapsed < Patience) Thread.Sleep(10); // counted after their removal
        TestContext.Current.TestOutputHelper?.WriteLine($"{Keys} keys expired in {clock.ElapsedMilliseconds} ms");

        Assert.Equal(1, Server.Engine.Keyspace.Databases[0].Count);
        Assert.Equal(0, Server.Engine.Keyspace.Databases[0].Expiring);
        Assert.Equal(Keys, Server.Engine.Keyspace.ExpiredKeys);
        Run("GET stays").IsText("1");

        // Only the directories keep their size, and each stripe's table a segment.
        long kept = (long)Server.Engine.Keyspace.Stripes.Length * Segment.Bytes;
        Assert.InRange(Server.Engine.Keyspace.UsedBytes - before, 0, kept + ((filled - before) / 100));
    }

    [Fact]
    public void Untouched_fields_expire_and_an_empty_hash_is_removed()
    {
        int fields = TestScale.Of(gate: 20_000, full: 100_000);
        long before = Server.Engine.Keyspace.UsedBytes;
        Run("HSET small a 1 b 2").IsInteger(2);
        Run("HPEXPIRE small 10000 FIELDS 1 a");
        for (int i = 0; i < fields; i++) Run($"HSETEX large PX {10_000 + (i % 1000)} FIELDS 1 field:{i} value").IsInteger(1);
        Thread.Sleep(500);
        Run("HLEN large").IsInteger(fields);

        Clock.Advance(60_000);
        var clock = Stopwatch.StartNew();
        while (Server.Engine.Keyspace.ExpiredFields < fields + 1 && clock.Elapsed < Patience) Thread.Sleep(10);
        TestContext.Current.TestOutputHelper?.WriteLine($"{fields} fields expired in {clock.ElapsedMilliseconds} ms");
        Assert.Equal(fields + 1, Server.Engine.Keyspace.ExpiredFields);
        Assert.Equal(1, Server.Engine.Keyspace.Databases[0].Count);
        Run("HGETALL small").IsBag("b", "2");
        Run("DEL small").IsInteger(1);
        while (Server.Engine.Keyspace.UsedBytes - before > 100_000 && clock.Elapsed < Patience) Thread.Sleep(10);
        Assert.InRange(Server.Engine.Keyspace.UsedBytes - before, 0, 100_000); // segments are kept
    }

    [Fact]
    public void Nothing_expires_while_active_expiry_is_off()
    {
        Server.Engine.Run.ExpiresActively = false;
        Run("SET a 1").IsOk();
        Run("PEXPIRE a 10").IsInteger(1);
        Clock.Advance(60_000);
        Thread.Sleep(600);
        Assert.Equal(1, Server.Engine.Keyspace.Databases[0].Count);
        Server.Engine.Run.ExpiresActively = true;
        Clock.Advance(1000);
        var clock = Stopwatch.StartNew();
        while (Server.Engine.Keyspace.Databases[0].Count > 0 && clock.Elapsed < Patience) Thread.Sleep(10);
        Assert.Equal(0, Server.Engine.Keyspace.Databases[0].Count);
    }

    private void Fill()
    {
        const int Batch = 1000;
        RedKiteSession client = Server.CreateSession();
        var replies = new ArrayBufferWriter<byte>();
        var text = new StringBuilder();
        for (int i = 0; i < Keys; i += Batch)
        {
            text.Clear();
            replies.ResetWrittenCount();
            for (int k = i; k < i + Batch; k++) text.Append(System.Globalization.CultureInfo.InvariantCulture, $"SET key:{k:D10} value-of-the-key\r\nPEXPIRE key:{k:D10} {10_000 + (k % 50_000)}\r\n");
            byte[] request = Encoding.ASCII.GetBytes(text.ToString());
            Assert.Equal(request.Length, client.Execute(request, replies));
        }
    }

    public sealed class WithOneStripe : ActiveExpiryTests
    {
        protected override int Stripes => 1;
    }

    public sealed class WithManyStripes : ActiveExpiryTests;
}
