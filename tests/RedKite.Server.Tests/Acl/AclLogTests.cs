using RedKite.TestSupport;

namespace RedKite.Server.Tests.Acl;

/// <summary>How ACL LOG groups denials: the same within a minute of the last time is one entry, if it is among the ten newest.</summary>
public sealed class AclLogTests : NetworkTests
{
    [Fact]
    public async Task Denials_are_grouped_by_their_age()
    {
        var clock = new ManualClock();
        await using RedKiteServer server = await StartAsync("auto", clock);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("ACL SETUSER u on nopass +@all ~a -flushall").IsOk();
        client.Run("AUTH u x").IsOk();
        for (int i = 0; i < 3; i++)
        {
            client.Run("GET b").IsError("NOPERM No permissions to access a key");
            clock.Advance(59_000);
        }

        Assert.Equal(["3 b"], Entries(client));
        clock.Advance(2_000); // more than a minute since the last time
        client.Run("GET b").IsError("NOPERM No permissions to access a key");
        Assert.Equal(["1 b", "3 b"], Entries(client));
        RespValue entry = client.Run("ACL LOG 1").Items[0];
        Assert.InRange(double.Parse(entry["age-seconds"]!.Text, System.Globalization.CultureInfo.InvariantCulture), 0, 1);
        clock.Advance(30_000);
        RespValue older = client.Run("ACL LOG").Items[1];
        Assert.InRange(double.Parse(older["age-seconds"]!.Text, System.Globalization.CultureInfo.InvariantCulture), 90, 95);
        Assert.Equal(118_000, older["timestamp-last-updated"]!.Number - older["timestamp-created"]!.Number);
        client.Run("FLUSHALL").IsError("NOPERM User u has no permissions to run the 'flushall' command");
        Assert.Equal(["1 flushall", "1 b", "3 b"], Entries(client));
    }

    [Fact]
    public async Task Only_the_ten_newest_entries_are_compared()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("ACL SETUSER u on nopass +@all ~a").IsOk();
        client.Run("AUTH u x").IsOk();
        foreach (int key in Enumerable.Range(0, 11)) Assert.True(client.Run("GET k" + key).IsError);
        Assert.True(client.Run("GET k1").IsError); // the tenth
        Assert.True(client.Run("GET k0").IsError); // the eleventh
        Assert.Equal(["1 k0", "2 k1", "1 k10"], Entries(client)[..3]);
        Assert.Equal(12, client.Run("ACL LOG 100").Items.Count);
    }

    private static string[] Entries(RespConnection client) => [.. client.Run("ACL LOG 100").Items.Select(entry => $"{entry["count"]!.Text} {entry["object"]!.Text}")];
}
