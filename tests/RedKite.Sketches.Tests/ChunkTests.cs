using System.Globalization;
using System.Text;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Sketches.Tests;

/// <summary>What SCANDUMP sends and LOADCHUNK gets, as it is and damaged.</summary>
public sealed class ChunkTests
{
    [Theory]
    [InlineData("BF", "BF.RESERVE f 0.001 3000 EXPANSION 30")]
    [InlineData("CF", "CF.RESERVE f 2000 EXPANSION 64")]
    public async Task Filters_are_dumped_and_loaded_in_chunks(string family, string create)
    {
        await using TypeServer server = await TypeServer.StartAsync(), other = await TypeServer.StartAsync();
        server.Run(create.Split(' '));
        for (int i = 0; i < 5; i++) Insert(server, family, i * 1000, 1000);
        List<(long Position, byte[] Data)> chunks = Chunks(server, family);
        Assert.True(chunks.Count > 3, $"{chunks.Count} chunks");
        foreach ((long position, byte[] data) in chunks) Assert.Equal("OK", Load(other, family, position, data));
        Assert.Equal(server.DigestOf("f"), other.DigestOf("f"));
        Assert.Equal(server.Run($"{family}.DEBUG", "f"), other.Run($"{family}.DEBUG", "f"));
        for (int position = 0; position < 200; position++) Assert.False(server.Client.Run(string.Create(CultureInfo.InvariantCulture, $"{family}.SCANDUMP f {position * 7}")).IsError);
    }

    // What a filter has become, whatever its chunks and what was done with it, can be dumped and restored: no file is refused at the next start.
    [Theory]
    [InlineData("BF", "BF.RESERVE f 0.01 20", "BF.ADD f x|BF.INSERT f ITEMS 1 2 3 4 5 6 7 8 9|BF.EXISTS f 1|BF.INFO f|BF.DEBUG f")]
    [InlineData("CF", "CF.RESERVE f 16 BUCKETSIZE 3", "CF.ADD f x|CF.DEL f 1|CF.DEL f 2|CF.INSERTNX f ITEMS 1 2 3 4 5 6 7 8 9|CF.COUNT f 5|CF.COMPACT f|CF.INFO f")]
    public async Task Damaged_chunks_do_no_harm(string family, string create, string uses)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true, "loops", "1");
        server.Run(create.Split(' '));
        Insert(server, family, 0, 60);
        List<(long Position, byte[] Data)> chunks = Chunks(server, family);
        var random = new Random(TestScale.GivenSeed ?? 20261129);
        int count = TestScale.Of(3000, 100_000), loaded = 0;
        long usedBefore = 0;
        using RedKiteSession client = server.Server.CreateSession();
        for (int i = 0; i < count; i++)
        {
            client.Execute("DEL", "f");
            int damaged = random.Next(4) == 0 ? random.Next(chunks.Count) : 0;
            for (int c = 0; c < chunks.Count; c++)
            {
                (long position, byte[] data) = chunks[c];
                if (c == damaged) (position, data) = Damaged(position, data, random);
                string reply = client.Execute([.. LoadChunk(family, position, data).Select(argument => (ReadOnlyMemory<byte>)argument)]).Text!;
                if (c == 0 && reply == "OK") loaded++;
            }

            foreach (string use in uses.Split('|')) Assert.NotNull(client.Execute(use.Split(' ')));
            RedKiteReply dump = client.Execute("DUMP", "f");
            if (!dump.IsNull) Assert.True(client.Execute("RESTORE"u8.ToArray(), "again"u8.ToArray(), "0"u8.ToArray(), dump.Bytes, "REPLACE"u8.ToArray()).Text == "OK", $"iteration {i}: {Convert.ToHexString(dump.Bytes.Span)}");
            if (i == 0) usedBefore = server.UsedBytes;
        }

        Assert.InRange(loaded, count / 4, count - (count / 10));
        server.CheckGuards();
        server.Run("DEL", "f", "again");
        server.WaitForMemory(usedBefore);
    }

    private static (long Position, byte[] Data) Damaged(long position, byte[] data, Random random)
    {
        byte[] damaged = [.. data];
        for (int changes = random.Next(1, 4); changes > 0; changes--) damaged[random.Next(damaged.Length)] = (byte)random.Next(random.Next(2) == 0 ? 4 : 256);
        if (random.Next(8) == 0) damaged = damaged[..random.Next(damaged.Length)];
        if (random.Next(8) == 0) position = random.Next(2) == 0 ? random.Next(-2, 20) : random.NextInt64();
        return (position, damaged);
    }

    private static void Insert(TypeServer server, string family, int start, int count) =>
        server.Run([$"{family}.INSERT", "f", "ITEMS", .. Enumerable.Range(start, count).Select(n => n.ToString(CultureInfo.InvariantCulture))]);

    private static List<(long Position, byte[] Data)> Chunks(TypeServer server, string family)
    {
        List<(long, byte[])> chunks = [];
        for (long position = 0; ;)
        {
            RespValue chunk = server.Client.Run(string.Create(CultureInfo.InvariantCulture, $"{family}.SCANDUMP f {position}"));
            position = chunk.Items[0].Number;
            if (position == 0) return chunks;
            chunks.Add((position, chunk.Items[1].Payload!));
        }
    }

    private static string Load(TypeServer server, string family, long position, byte[] data) =>
        server.Client.Run(LoadChunk(family, position, data)).Text;

    private static byte[][] LoadChunk(string family, long position, byte[] data) =>
        [.. new[] { $"{family}.LOADCHUNK", "f", position.ToString(CultureInfo.InvariantCulture) }.Select(Encoding.ASCII.GetBytes), data];
}
