using RedKite.Server.Execution.Blocking;
using RedKite.Server.Tests.Commands;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Blocking;

/// <summary>Clients that wait with XREADGROUP CLAIM get entries that become idle meanwhile, although nothing changes their keys.</summary>
public sealed class KeyLooksTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public void Key_is_taken_once_at_its_earliest_time()
    {
        var looks = new KeyLooks();
        KeyIdentity first = new(0, 1), second = new(0, 2);
        Assert.Equal(long.MaxValue, looks.NextMs);
        Assert.False(looks.TryTake(1_000, out _, out _));
        looks.Add(first, 50);
        looks.Add(second, 40);
        looks.Add(first, 60);
        looks.Add(first, 30);
        Assert.Equal(30, looks.NextMs);
        Assert.False(looks.TryTake(29, out _, out _));
        Assert.Equal([first, second], Taken(looks, 100));
        looks.Add(first, 70);
        Assert.Equal([first], Taken(looks, 100));
        Assert.Equal(long.MaxValue, looks.NextMs);
    }

    // Only a new key serves a client that waits for elements.
    [Fact]
    public void A_key_is_new_until_it_is_taken()
    {
        var looks = new KeyLooks();
        looks.Add(new KeyIdentity(0, 1), 30);
        looks.Add(new KeyIdentity(0, 1), 40, isNew: true);
        Assert.True(looks.TryTake(30, out _, out bool isNew) && isNew);
        looks.Add(new KeyIdentity(0, 1), 50);
        Assert.True(looks.TryTake(50, out _, out isNew) && !isNew);
    }

    [Fact]
    public async Task Entry_that_becomes_idle_serves_the_client_that_waits_for_longest()
    {
        await using LiveServer live = await LiveServer.StartAsync();
        live.Run("XGROUP CREATE s g $ MKSTREAM").IsOk();
        live.Run("XGROUP CREATE other g $ MKSTREAM").IsOk();
        using RespConnection first = RespConnection.Connect(live.Server.Port, PatienceMs);
        using RespConnection second = RespConnection.Connect(live.Server.Port, PatienceMs);
        first.SendCommand("XREADGROUP GROUP g a BLOCK 0 CLAIM 50 STREAMS other s > >");
        while (live.Server.Engine.Blocked.Count < 1) Thread.Sleep(1);
        second.SendCommand("XREADGROUP GROUP g b BLOCK 0 CLAIM 50 STREAMS s >");
        while (live.Server.Engine.Blocked.Count < 2) Thread.Sleep(1);
        live.Run("XADD s 1-1 f v").IsBulk("1-1");
        Assert.Equal(0, first.Read().Items[0].Items[1].Items[0].Items[3].Number);
        RespValue claimed = second.Read().Items[0].Items[1].Items[0];
        Assert.Equal(("1-1", 1L), (claimed.Items[0].Text, claimed.Items[3].Number));
        Assert.True(claimed.Items[2].Number >= 50);
        Assert.Equal(["b", "1"], live.Run("XPENDING s g").Items[3].Items[0].Items.Select(item => item.Text));
        Assert.Equal(0, live.Server.Engine.Blocked.Keys);
    }

    [Fact]
    public async Task Caller_in_the_process_is_served_and_its_deadline_holds()
    {
        await using LiveServer live = await LiveServer.StartAsync();
        live.Run("XGROUP CREATE s g $ MKSTREAM").IsOk();
        live.Run("XADD s 1-1 f v").IsBulk("1-1");
        live.Run("XREADGROUP GROUP g a STREAMS s >");
        Assert.True(live.Server.Execute("XREADGROUP", "GROUP", "g", "b", "BLOCK", "1", "CLAIM", "100000", "STREAMS", "s", ">").IsNull);
        Assert.Equal("1-1", live.Server.Execute("XREADGROUP", "GROUP", "g", "b", "BLOCK", "0", "CLAIM", "20", "STREAMS", "s", ">").Items[0].Items[1].Items[0].Items[0].Text);
    }

    [Fact]
    public async Task Entries_that_are_deleted_are_not_looked_at_again()
    {
        await using LiveServer live = await LiveServer.StartAsync();
        live.Run("XGROUP CREATE s g 0 MKSTREAM").IsOk();
        live.Run("XADD s 1-1 f v").IsBulk("1-1");
        live.Run("XREADGROUP GROUP g a STREAMS s >");
        live.Run("XDEL s 1-1").IsInteger(1);
        Assert.True(live.Run("XREADGROUP GROUP g b CLAIM 0 STREAMS s >").IsNull);
        using RespConnection client = RespConnection.Connect(live.Server.Port, PatienceMs);
        client.SendCommand("XREADGROUP GROUP g b BLOCK 0 CLAIM 1000000 STREAMS s >");
        while (live.Server.Engine.Blocked.Count < 1) Thread.Sleep(1);
        Assert.Equal(1, live.Run("XPENDING s g").Items[0].Number); // it stays pending
        live.Run("XADD s 2-1 f v").IsBulk("2-1");
        Assert.Equal("2-1", client.Read().Items[0].Items[1].Items[0].Items[0].Text);
    }

    private static List<KeyIdentity> Taken(KeyLooks looks, long nowMs)
    {
        List<KeyIdentity> keys = [];
        while (looks.TryTake(nowMs, out KeyIdentity key, out _)) keys.Add(key);
        return keys;
    }
}
