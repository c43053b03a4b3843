using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Persistence.Tests.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Tests.Aof;

public class ValueCommandsTests
{
    [Fact]
    public void Stream_that_commands_cannot_express_is_a_payload()
    {
        using ValueWorld world = NewStream();
        string written = Write(world, ValueCommands.PayloadBytesMax);
        Assert.StartsWith("*4\r\n$7\r\nRESTORE\r\n$1\r\ns\r\n$1\r\n0\r\n$", written, StringComparison.Ordinal);
    }

    [Fact]
    public void Payload_that_servers_would_refuse_is_a_failure_that_names_the_key()
    {
        using ValueWorld world = NewStream();
        FileFailure failure = Assert.Throws<FileFailure>(() => Write(world, payloadBytesMax: 20));
        Assert.Contains("'s' as a command (aof-use-rdb-preamble yes has no such limit)", failure.Message, StringComparison.Ordinal);
        Assert.Equal(FileFailure.TooLarge, failure.Error);
    }

    [Theory]
    [InlineData(10)]
    [InlineData(65_535)]
    [InlineData(65_536)]
    [InlineData(200_000)]
    public void Arguments_of_any_length_arrive_in_order(int length)
    {
        var written = new StringBuilder();
        var output = new CommandOutput(piece => written.Append(Encoding.Latin1.GetString(piece)));
        string text = new('x', length);
        output.Select(7);
        output.Begin("SET"u8, 2).Argument(Encoding.Latin1.GetBytes(text)).Argument(-5);
        output.Flush();
        Assert.Equal($"*2\r\n$6\r\nSELECT\r\n$1\r\n7\r\n*3\r\n$3\r\nSET\r\n${length}\r\n{text}\r\n$2\r\n-5\r\n", written.ToString());
    }

    // It remembers ids of producers.
    private static ValueWorld NewStream()
    {
        var world = new ValueWorld();
        world.Make("s", DataType.Stream, new Random(1));
        StreamValue.Of(world.Database, world.Find("s")).ConfigureProducers(100, 10);
        return world;
    }

    private static string Write(ValueWorld world, int payloadBytesMax)
    {
        var written = new StringBuilder();
        var output = new CommandOutput(piece => written.Append(Encoding.Latin1.GetString(piece)));
        using (var values = new ValueCommands(output, payloadBytesMax)) values.Write(world.Database, world.Find("s"));
        output.Flush();
        return written.ToString();
    }
}
