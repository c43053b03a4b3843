using System.Text;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Tracking;

/// <summary>The invalidation of all keys: in the protocol of the client that gets it. Redis writes it in that of the client that tracks (docs/reference/differences.md).</summary>
public class FlushMessageTests
{
    private const string Push = ">2\r\n$10\r\ninvalidate\r\n";
    private const string Message = "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n";

    [Theory]
    [InlineData(2, 3, Push + "_\r\n")]
    [InlineData(3, 2, Message + "$-1\r\n")]
    [InlineData(3, 3, Push + "_\r\n")]
    [InlineData(2, 2, Message + "$-1\r\n")]
    public async Task All_keys_are_invalidated_in_the_receivers_protocol(int tracking, int receiving, string expected)
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        using RespConnection tracker = RespConnection.Connect(server.Server.Port);
        using RespConnection receiver = RespConnection.Connect(server.Server.Port);
        tracker.Run($"HELLO {tracking}");
        receiver.Run($"HELLO {receiving}");
        long id = receiver.Run("CLIENT ID").Number;
        if (receiving == 2)
        {
            receiver.SendCommand("SUBSCRIBE __redis__:invalidate");
            receiver.Read();
        }

        tracker.Run($"CLIENT TRACKING ON REDIRECT {id}").IsOk();
        tracker.Run("GET k");
        server.Run("FLUSHALL").IsOk();
        receiver.ReadAny();
        Assert.Equal(expected, Encoding.ASCII.GetString(receiver.LastBytes));
    }
}
