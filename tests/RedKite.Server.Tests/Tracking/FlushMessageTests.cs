using System.Text;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Tracking;

/// <summary>
/// The invalidation of all keys, byte by byte as redis-server 8.0.2 and 8.6.3 send it: its null is in the protocol of the client that tracks, also where another
/// client gets it over the other protocol.
/// </summary>
public class FlushMessageTests
{
    private const string Push = ">2\r\n$10\r\ninvalidate\r\n";
    private const string Message = "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n";

    // The protocol of the client that tracks, that of the client that gets the messages (0: itself), and what it gets.
    private static readonly (int Tracking, int Receiving, string Expected)[] Cases =
    [
        (2, 2, Message + "$-1\r\n"),
        (2, 3, Push + "$-1\r\n"),
        (3, 2, Message + "_\r\n"),
        (3, 3, Push + "_\r\n"),
        (3, 0, Push + "_\r\n"),
    ];

    [Fact]
    public async Task All_keys_are_invalidated_in_the_protocol_of_the_client_that_tracks()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        foreach ((int tracking, int receiving, string expected) in Cases) Assert.Equal(expected, MessageOf(server.Server.Port, tracking, receiving));
    }

    [Theory]
    [InlineData("8.0")]
    [InlineData("8.6")]
    public void Redis_sends_the_same(string version)
    {
        using Oracle redis = Oracle.Of(version == "8.0" ? OracleProgram.Redis8 : OracleProgram.Redis86, "--save", "");
        foreach ((int tracking, int receiving, string expected) in Cases) Assert.Equal(expected, MessageOf(redis.Port, tracking, receiving));
    }

    private static string MessageOf(int port, int tracking, int receiving)
    {
        using RespConnection tracker = RespConnection.Connect(port);
        using RespConnection other = RespConnection.Connect(port);
        RespConnection receiver = receiving == 0 ? tracker : other;
        tracker.Run($"HELLO {tracking}");
        if (receiving != 0) receiver.Run($"HELLO {receiving}");
        long id = receiver.Run("CLIENT ID").Number;
        if (receiving == 2)
        {
            receiver.SendCommand("SUBSCRIBE __redis__:invalidate");
            receiver.Read();
        }

        tracker.Run(receiving == 0 ? "CLIENT TRACKING ON" : $"CLIENT TRACKING ON REDIRECT {id}").IsOk();
        tracker.Run("GET k");
        using RespConnection flusher = RespConnection.Connect(port);
        flusher.Run("FLUSHALL").IsOk();
        receiver.ReadAny();
        return Encoding.ASCII.GetString(receiver.LastBytes);
    }
}
