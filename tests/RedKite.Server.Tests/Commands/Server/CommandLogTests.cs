using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>COMMANDLOG, with the replies of valkey-server 8.1.1.</summary>
public class CommandLogTests
{
    [Fact]
    public async Task Large_requests_and_replies_are_logged_with_their_bytes()
    {
        await using LiveServer server = await LiveServer.StartAsync("commandlog-request-larger-than", "150", "commandlog-reply-larger-than", "100");
        server.Run($"SET key {new string('x', 200)}").IsOk();
        server.Run("GET key").IsBulk(new string('x', 200));
        server.Run("GET nosuch");

        RespValue request = Assert.Single(server.Run("COMMANDLOG GET -1 large-request").Items);
        Assert.InRange(request.Items[2].Number, 200, 250);
        request.Items[3].IsArray("SET", "key", new string('x', 128) + "... (72 more bytes)");
        Assert.Equal(server.Client.LocalEndPoint.ToString(), request.Items[4].Text);

        RespValue reply = Assert.Single(server.Run("COMMANDLOG GET 10 large-reply").Items, entry => entry.Items[3].Items[0].Text == "GET");
        Assert.Equal(208, reply.Items[2].Number);
        server.Run("COMMANDLOG LEN large-request").IsInteger(1);
        server.Run("COMMANDLOG RESET large-request").IsOk();
        server.Run("COMMANDLOG LEN LARGE-REQUEST").IsInteger(0);
    }

    [Fact]
    public async Task Entries_have_as_many_arguments_and_bytes_as_the_settings_say()
    {
        await using LiveServer server = await LiveServer.StartAsync("commandlog-request-larger-than", "1", "slowlog-entry-max-argc", "3", "slowlog-entry-max-string-len", "2");
        server.Run("MSET abc 1 d 2").IsOk();
        RespValue entry = Assert.Single(server.Run("COMMANDLOG GET -1 large-request").Items, entry => entry.Items[3].Items[0].Text.StartsWith("MS", StringComparison.Ordinal));
        entry.Items[3].IsArray("MS... (2 more bytes)", "ab... (1 more bytes)", "... (3 more arguments)");
    }

    [Fact]
    public async Task Log_of_slow_commands_is_shared_with_slowlog()
    {
        await using LiveServer server = await LiveServer.StartAsync("slowlog-log-slower-than", "0");
        server.Run("SET key value").IsOk();
        server.Run("CONFIG SET slowlog-log-slower-than -1").IsOk();
        Assert.Equal(server.Run("SLOWLOG GET -1").Items.Count, server.Run("COMMANDLOG GET -1 slow").Items.Count);
        server.Run("COMMANDLOG RESET slow").IsOk();
        server.Run("SLOWLOG LEN").IsInteger(0);
    }

    // A megabyte, which is the default limit, behind small requests of one pipeline.
    [Fact]
    public async Task Large_request_in_a_pipeline_is_found()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Client.Send($"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$1100000\r\n{new string('x', 1_100_000)}\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
        for (int i = 0; i < 3; i++) server.Client.Read();
        server.Run("GET big");
        Assert.Equal("big", Assert.Single(server.Run("COMMANDLOG GET -1 large-request").Items).Items[3].Items[1].Text);
        RespValue reply = Assert.Single(server.Run("COMMANDLOG GET -1 large-reply").Items);
        reply.Items[3].IsArray("GET", "big");
        Assert.Equal(1_100_012, reply.Items[2].Number);
    }

    [Fact]
    public async Task Errors_are_those_of_valkey()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("COMMANDLOG GET").IsError("ERR wrong number of arguments for 'commandlog|get' command");
        server.Run("COMMANDLOG GET x slow").IsError("ERR count should be greater than or equal to -1");
        server.Run("COMMANDLOG GET -2 nosuch").IsError("ERR count should be greater than or equal to -1");
        server.Run("COMMANDLOG GET 1 nosuch").IsError("ERR type should be one of the following: slow, large-request, large-reply");
        server.Run("COMMANDLOG LEN nosuch").IsError("ERR type should be one of the following: slow, large-request, large-reply");
        server.Run("COMMANDLOG nosuch").IsError("ERR unknown subcommand 'nosuch'. Try COMMANDLOG HELP.");
    }
}
