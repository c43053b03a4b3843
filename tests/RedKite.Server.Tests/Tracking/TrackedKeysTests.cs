using RedKite.Server.Tracking;

namespace RedKite.Server.Tests.Tracking;

/// <summary>The table of keys that clients have read.</summary>
public class TrackedKeysTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(5)]
    [InlineData(64)]
    [InlineData(65)]
    [InlineData(66)]
    [InlineData(67)]
    [InlineData(500)]
    public void Each_client_is_remembered_once(int clients)
    {
        var keys = new TrackedKeys();
        for (int round = 0; round < 3; round++)
        {
            for (int client = 1; client <= clients; client++)
            {
                Assert.Equal(round == 0, keys.Add(7, "key"u8, client, out bool isNew));
                Assert.Equal(round == 0 && client == 1, isNew);
            }
        }

        TrackedKeys.Readers readers = keys.Remove(7)!.Value;
        Assert.Equal(clients, readers.Count);
        Assert.Equal("key"u8.ToArray(), readers.Key);
        Assert.Equal(Enumerable.Range(1, clients).Select(client => (long)client), readers.Clients.Order());
        Assert.Equal(0, keys.Count);
        Assert.Null(keys.Remove(7));
    }
}
