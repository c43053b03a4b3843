using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Long work on one stream, so that nodes fill, empty and disappear as in Redis, by entries and by bytes.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class EntryStreamTests(TranscriptServers servers) : TranscriptTests(servers)
{
    [Theory]
    [InlineData(100, 4096)]
    [InlineData(0, 4096)]
    [InlineData(0, 6000)]
    [InlineData(7, 0)]
    [InlineData(1000, 20000)]
    public void Node_boundaries_match_redis(int entriesMax, int bytesMax)
    {
        PairedConnection connection = Open();
        connection.Run($"CONFIG SET stream-node-max-entries {entriesMax}").IsOk();
        connection.Run($"CONFIG SET stream-node-max-bytes {bytesMax}").IsOk();
        Random random = new(entriesMax + bytesMax);
        for (int i = 1; i <= 3_000; i++)
        {
            string value = random.Next(5) switch
            {
                0 => random.Next(200).ToString(CultureInfo.InvariantCulture),
                1 => (random.NextInt64() >> random.Next(63)).ToString(CultureInfo.InvariantCulture),
                2 => new string('v', random.Next(120)) + ".",
                3 => new string('w', random.Next(random.Next(20) == 0 ? 3_000 : 70)) + "!",
                _ => $"value-{random.Next(1000)}",
            };
            string names = random.Next(10) == 0 ? "other" : "name";
            long ms = (long)i * i * 3;
            connection.Run($"XADD s {ms}-{random.Next(3)} {names} {value} second 12.5").IsBulk(connection.Run("XREVRANGE s + - COUNT 1").Items[0].Items[0].Text);
            if (random.Next(4) == 0) connection.Run($"XDEL s {ms - random.Next(20_000)} {ms}-1");
            if (i % 100 == 0) connection.Run($"XTRIM s MAXLEN ~ {random.Next(400)}");
            if (i % 130 == 0) connection.Run($"XTRIM s MINID ~ {ms - random.Next(400_000)}");
            if (i % 170 == 0) connection.Run($"XTRIM s MAXLEN {random.Next(300)}");
            if (i % 50 == 0) connection.Run("XINFO STREAM s");
        }

        connection.Run("XRANGE s - +");
        connection.Run("XREVRANGE s + -");
    }

    [Fact]
    public void Consumers_of_a_group_share_a_stream_to_its_end()
    {
        PairedConnection connection = Open();
        connection.Run("XGROUP CREATE s g 0 MKSTREAM").IsOk();
        for (int i = 1; i <= 1_500; i++) connection.Run($"XADD s {i} a {i} b {i % 7}");
        foreach (string consumer in (string[])["a", "b", "c"]) connection.Run($"XGROUP CREATECONSUMER s g {consumer}").IsInteger(1);
        Random random = new(3);
        for (int i = 0; i < 1_000; i++)
        {
            string consumer = ((string[])["a", "b", "c"])[random.Next(3)];
            int id = random.Next(1_600);
            switch (random.Next(9))
            {
                case 0 or 1 or 2: connection.Run($"XREADGROUP GROUP g {consumer} COUNT {1 + random.Next(6)} STREAMS s >"); break;
                case 3: connection.Run($"XREADGROUP GROUP g {consumer} COUNT 5 STREAMS s {id}"); break;
                case 4: connection.Run($"XACK s g {id} {id + 1} {id + 2} {random.Next(1_500)}"); break;
                case 5: connection.Run($"XCLAIM s g {consumer} 0 {id} {id + 1} {id + 5}"); break;
                case 6: connection.Run($"XAUTOCLAIM s g {consumer} 0 {id} COUNT {1 + random.Next(20)} JUSTID"); break;
                case 7: connection.Run($"XDEL s {id} {random.Next(1_500)}"); break;
                default: connection.Run($"XPENDING s g {id} + 20 {consumer}"); break;
            }

            if (i % 100 == 0) connection.Run("XPENDING s g");
            if (i % 250 == 0) connection.Run("XINFO STREAM s FULL COUNT 0");
        }

        connection.Run("XGROUP DELCONSUMER s g a");
        connection.Run("XINFO CONSUMERS s g");
        connection.Run("XPENDING s g - + 2000");
        connection.Run("XTRIM s MAXLEN 10");
        connection.Run("XAUTOCLAIM s g b 0 0 COUNT 500");
        connection.Run("XPENDING s g");
        connection.Run("XGROUP DESTROY s g").IsInteger(1);
        connection.Run("XINFO STREAM s FULL");
    }

    [Fact]
    public void Xsetid_lowers_the_last_id_to_the_highest_deleted_one()
    {
        PairedConnection connection = Open();
        connection.Run("XADD s 1-1 a 1").IsBulk("1-1");
        connection.Run("XADD s 30-1 a 1").IsBulk("30-1");
        connection.Run("XDEL s 30-1").IsInteger(1);
        connection.Run("XADD s 40-1 a 1").IsBulk("40-1");
        connection.Run("XSETID s 0-1");
        connection.Run("XSETID s 3 MAXDELETEDID 2-2").IsError("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id");
        connection.Run("XSETID s 35");
        connection.Run("XDEL s 40-1").IsInteger(1);
        connection.Run("XSETID s 39-5");
        connection.Run("XSETID s 40-1 ENTRIESADDED 3 MAXDELETEDID 2-2").IsOk();
        connection.Run("XSETID s 3 ENTRIESADDED 3 MAXDELETEDID 3-1");
        connection.Run("XSETID s 3 ENTRIESADDED 3 MAXDELETEDID 2-2").IsOk();
        connection.Run("XINFO STREAM s");
        connection.Run("XADD s 4-* a 2").IsBulk("4-0");
        connection.Run("XADD s 31-* a 2").IsBulk("31-0");
        connection.Run("XSETID s 5");
        connection.Run("XRANGE s - +");
        connection.Run("XREVRANGE s + -");
        connection.Run("XREAD STREAMS s 2");
        connection.Run("XTRIM s MINID 4");
        connection.Run("XINFO STREAM s");
    }

    [Fact]
    public void Resp3_replies_have_maps()
    {
        PairedConnection connection = Open();
        connection.Run("XADD s 1 a 1").IsBulk("1-0");
        connection.Run("XADD t 2 a 1").IsBulk("2-0");
        connection.Run("XGROUP CREATE s g 0").IsOk();
        connection.Run("XGROUP CREATECONSUMER s g c").IsInteger(1);
        connection.Run("HELLO 3");
        connection.Run("XREAD STREAMS s t none 0 0 0");
        connection.Run("XREAD STREAMS s $").IsNull();
        connection.Run("XREADGROUP GROUP g c STREAMS s >");
        connection.Run("XREADGROUP GROUP g c STREAMS s >").IsNull();
        connection.Run("XDEL s 1").IsInteger(1);
        connection.Run("XREADGROUP GROUP g c STREAMS s 0");
        connection.Run("XRANGE s - + COUNT 0").IsNull();
        connection.Run("XPENDING s g");
        connection.Run("XAUTOCLAIM s g c 0 0");
        connection.Run("XPENDING s g");
        connection.Run("XINFO STREAM s");
        connection.Run("XINFO STREAM t FULL");
        connection.Run("XINFO GROUPS s");
        connection.Run("XINFO CONSUMERS s g");
    }
}
