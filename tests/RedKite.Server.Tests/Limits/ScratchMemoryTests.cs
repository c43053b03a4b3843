using System.Globalization;
using RedKite.Server.Tests.Commands;
using RedKite.Store.Memory;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Limits;

/// <summary>
/// Commands whose own work needs memory in proportion to the data, in a process that has no more of it than is always free: they do without, in parts, or
/// reply an error and have changed nothing.
/// </summary>
public sealed class ScratchMemoryTests : IAsyncLifetime
{
    private const int Few = 100;
    private const int Members = 12_000;
    private const int Drawn = 2_500; // less than a quarter, and more than is free with the table in which they are looked up

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync()
    {
        ScratchMemory.Refuses = false;
        return _transcript.DisposeAsync();
    }

    [Theory]
    [InlineData("SADD", "SRANDMEMBER", Members, Drawn)]
    [InlineData("HSET", "HRANDFIELD", Members, Drawn)]
    [InlineData("ZADD", "ZRANDMEMBER", 100_000, 9_000)] // ranks, which are sorted and not looked up
    public void Sample_is_chosen_without_memory(string add, string command, int members, int few)
    {
        Fill(add, members);
        foreach (bool refuses in (bool[])[false, true])
        {
            ScratchMemory.Refuses = refuses;
            foreach (int count in (int[])[Few, few, members / 2])
            {
                string[] drawn = [.. Run($"{command} k {count}").Items.Select(item => item.Text)];
                Assert.Equal(count, drawn.Distinct().Count());
                Assert.All(drawn, name => Assert.InRange(int.Parse(name.AsSpan(1), CultureInfo.InvariantCulture), 0, members - 1));

                // From everywhere: of a uniform sample the mean is within five of its deviations.
                double mean = drawn.Average(name => int.Parse(name.AsSpan(1), CultureInfo.InvariantCulture));
                Assert.InRange(mean, (members / 2) - (5 * members / Math.Sqrt(12.0 * count)), (members / 2) + (5 * members / Math.Sqrt(12.0 * count)));
            }

            Assert.Equal(few, Run($"{command} k -{few}").Items.Count);
        }
    }

    [Fact]
    public void Members_that_cannot_be_chosen_are_not_removed()
    {
        Fill("SADD", Members);
        ScratchMemory.Refuses = true;
        Run($"SPOP k {Drawn}").IsError("ERR Insufficient memory, failed allocating transient memory for SPOP");
        Run("SCARD k").IsInteger(Members);
        Assert.Equal(Few, Run($"SPOP k {Few}").Items.Count);
        ScratchMemory.Refuses = false;
        Assert.Equal(Drawn, Run($"SPOP k {Drawn}").Items.Count);
        Run("SCARD k").IsInteger(Members - Few - Drawn);
    }

    [Fact]
    public void Fields_of_a_packed_hash_that_cannot_be_listed_are_an_error()
    {
        const int Fields = 9_000;
        Run($"CONFIG SET hash-max-listpack-entries {Fields}").IsOk();
        Fill("HSET", Fields);
        Run("OBJECT ENCODING k").IsBulk("listpack");
        Assert.Equal(3, Run("HRANDFIELD k -3").Items.Count);
        ScratchMemory.Refuses = true;
        Run("HRANDFIELD k -3").IsError("ERR Insufficient memory, failed allocating transient memory for HRANDFIELD");
        Assert.Equal(Drawn, Run($"HRANDFIELD k {Drawn}").Items.Select(item => item.Text).Distinct().Count());
    }

    [Fact]
    public void Elements_of_a_vector_set_come_in_order_and_at_random_in_parts()
    {
        const int Elements = 9_500;
        for (int i = 0; i < Elements; i++) Run($"VADD v VALUES 1 1 e{i * 7 % Elements} EF 1 M 4");
        string[] names = [.. Enumerable.Range(0, Elements).Select(i => $"e{i}").Order(StringComparer.Ordinal)];
        foreach (bool refuses in (bool[])[false, true])
        {
            ScratchMemory.Refuses = refuses;
            Run("VRANGE v - +").IsArray(names);
            Run($"VRANGE v - + {Elements - 10}").IsArray(names[..^10]);
            Run("VRANGE v [e5 (e9").IsArray([.. names.Where(name => string.CompareOrdinal(name, "e5") >= 0 && string.CompareOrdinal(name, "e9") < 0)]);
            Run("VRANGE v (e9 [e9").IsArray();
            foreach (int count in (int[])[Few, Elements / 3, Elements - 1, Elements]) Assert.Equal(count, Run($"VRANDMEMBER v {count}").Items.Select(item => item.Text).Distinct().Intersect(names).Count());
        }
    }

    [Fact]
    public void Entries_are_delivered_in_parts()
    {
        const int Entries = 5_000;
        const int AtOnce = ScratchMemory.FreeBytes / 16 / 2;
        const int ClaimedAtOnce = ScratchMemory.FreeBytes / 24 / 4;
        for (int i = 1; i <= Entries; i++) Run($"XADD s {i}-0 f v");
        Run("XGROUP CREATE s g 0").IsOk();
        ScratchMemory.Refuses = true;
        List<string> ids = [];
        while (Run("XREADGROUP GROUP g c STREAMS s >") is { IsNull: false } reply)
        {
            RespValue[] entries = [.. reply.Items[0].Items[1].Items];
            Assert.InRange(entries.Length, 1, AtOnce);
            ids.AddRange(entries.Select(entry => entry.Items[0].Text));
        }

        Assert.Equal(Enumerable.Range(1, Entries).Select(i => $"{i}-0"), ids);
        Run("XPENDING s g").Items[0].IsInteger(Entries);

        // The same entries again, from another consumer.
        RespValue[] claimed = [.. Run("XREADGROUP GROUP g d CLAIM 0 STREAMS s >").Items[0].Items[1].Items];
        Assert.Equal(Enumerable.Range(1, ClaimedAtOnce).Select(i => $"{i}-0"), claimed.Select(entry => entry.Items[0].Text));
        ScratchMemory.Refuses = false;
        Assert.Equal(Entries, Run("XREADGROUP GROUP g d CLAIM 0 STREAMS s >").Items[0].Items[1].Items.Count);
    }

    [Fact]
    public void Places_and_subsequences_that_cannot_be_kept_are_an_error()
    {
        const int Places = 3_000;
        for (int i = 0; i < Places; i += 1_000) Run("GEOADD g " + string.Join(' ', Enumerable.Range(i, 1_000).Select(n => $"{n % 180}.5 {n % 80}.5 p{n}")));
        Run("SETRANGE a 4000 x");
        Run("SETRANGE b 4000 x");
        const string All = "FROMLONLAT 0 0 BYRADIUS 30000 km";
        ScratchMemory.Refuses = true;
        Run($"GEOSEARCH g {All}").IsError("ERR Insufficient memory, failed allocating transient memory for GEOSEARCH");
        Run($"GEOSEARCHSTORE d g {All}").IsError("ERR Insufficient memory, failed allocating transient memory for GEOSEARCHSTORE");
        Assert.Equal(Few, Run($"GEOSEARCH g {All} COUNT {Few}").Items.Count);
        Run("LCS a b").IsError("ERR Insufficient memory, failed allocating transient memory for LCS");
        Run("LCS a none LEN").IsInteger(0);
        Run("LCS a b LEN").IsInteger(4_001);
        ScratchMemory.Refuses = false;
        Assert.Equal(Places, Run($"GEOSEARCH g {All} DESC").Items.Count);
        Assert.Equal(4_001, Run("LCS a b").Text.Length);
    }

    [Fact]
    public void Deleted_entries_are_forgotten_in_parts()
    {
        const int Entries = 5_000;
        for (int i = 1; i <= Entries; i++) Run($"XADD s {i}-0 f v");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c STREAMS s >");
        Run("XTRIM s MAXLEN 0").IsInteger(Entries);
        ScratchMemory.Refuses = true;
        List<string> ids = [];
        string next = "0";
        do
        {
            RespValue reply = Run($"XAUTOCLAIM s g d 0 {next} COUNT 1000000");
            next = reply.Items[0].Text;
            Assert.InRange(reply.Items[2].Items.Count, 1, ScratchMemory.FreeBytes / 16 / 2);
            ids.AddRange(reply.Items[2].Items.Select(id => id.Text));
        }
        while (next != "0-0");
        Assert.Equal(Enumerable.Range(1, Entries).Select(i => $"{i}-0"), ids);
        Run("XPENDING s g").Items[0].IsInteger(0);
    }

    [Fact]
    public void Elements_of_any_length_move_between_lists()
    {
        string large = new('x', 300_000);
        foreach (string element in (string[])["a", large, "b", large + "y", "c"]) Run($"RPUSH l {element}");
        Run("LMOVEM l m LEFT RIGHT COUNT 5 BULK").IsArray("a", large, "b", large + "y", "c");
        Run("LRANGE m 0 -1").IsArray("a", large, "b", large + "y", "c");
        Run("LMOVEM m m LEFT LEFT COUNT 5 OBO");
        Run("LRANGE m 0 -1").IsArray("c", large + "y", "b", large, "a");
    }

    private void Fill(string add, int count)
    {
        for (int i = 0; i < count; i += 1_000)
        {
            IEnumerable<string> members = Enumerable.Range(i, 1_000).Select(n => add switch
            {
                "HSET" => $"m{n} v",
                "ZADD" => $"{n} m{n}",
                _ => $"m{n}",
            });
            Run($"{add} k {string.Join(' ', members)}");
        }
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
