using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.TestSupport;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>Files of servers that the tests cannot start.</summary>
public sealed class GoldenFileTests
{
    // Of valkey-server 9.1.2.
    private const string Valkey91 = """
        VkFMS0VZMDgw+gp2YWxrZXktdmVyBTkuMS4y+gpyZWRpcy1iaXRzwED6BWN0aW1lwkiBCGv6CHVzZWQtbWVtwjDfIAD6DnJlcGwtc3RyZWFtLWRiwAP6B3Jl
        cGwtaWQoZGYwODE0ZmMzOTU3MzE0Yjc3Y2E2NTUwZGJiZjcyMjg1MzU3OTEyN/oLcmVwbC1vZmZzZXTC+dMAAPoIYW9mLWJhc2XAAPVARCMhbHVhIG5hbWU9
        bGliCnJlZGlzLnJlZ2lzdGVyX2Z1bmN0aW9uKCdmJywgZnVuY3Rpb24oKSByZXR1cm4gMSBlbmQp/gD7CQEWAWgDAWHAAQBAlFKjAwAAAWIDdHdv////////
        //8BY8ADBUCUUqMDAAASAWwBAhISAAAAAwABAQIBhXRocmVlBv8LBGludHMOAgAAAAMAAAABAAIALAH8AECUUqMDAAAAAWsBdgAEdGV4dMMLQLQDYWJjYeCl
        AgFiYxUCc3QBEAAAAAAAAAABAAAAAAAAAAEoKAAAAA8AAgEAAQEBgWECAAECAQABAAGBYgIEAQIBAAEBAYFjAgQB/wIBAgEBAAACAQFnAQEBAQAAAAAAAAAB
        AAAAAAAAAAHZAzkZogEAAAEBAWPZAzkZogEAANkDORmiAQAAAQAAAAAAAAABAAAAAAAAAAEQBnBhY2tlZA0NAAAAAgCBZgKBdgL/EQF6FBQAAAAEAIFtAoMx
        LjUEgW4CAgH/FAFzDw8AAAADAIFhAoFiAgEB//4D+wEAAAVvdGhlcsAF/9Zp9KCRIF1i
        """;

    [Fact]
    public void File_of_valkey_9_is_read()
    {
        using var folder = new TemporaryFolder();
        File.WriteAllBytes(folder.File("dump.rdb"), Convert.FromBase64String(Valkey91));
        using var world = new FileWorld();
        world.Load(DiskFiles.Instance, folder.File("dump.rdb"));
        Assert.Equal((RdbFamily.Valkey, 80), (world.Family, world.Version));
        Assert.Equal("9.1.2", world.Fields["valkey-ver"]);
        Assert.Equal(["#!lua name=lib\nredis.register_function('f', function() return 1 end)"], world.Functions);
        Assert.Equal(
        [
            "Hash: a=1 until 4000000000000, b=two, c=3 until 4000000000005", "List: 1, 2, three", "Set: 1, 2, 300", "String: v", $"String: {string.Concat(Enumerable.Repeat("abc", 60))}",
            "Stream: length 2", "Hash: f=v", "SortedSet: m=1.5, n=2", "Set: 1, a, b",
        ], world.Describe(0));
        Assert.Equal(4_000_000_000_000, world.ExpiryOf(0, "k"));
        Assert.Equal(["String: 5"], world.Describe(3));
    }
}
