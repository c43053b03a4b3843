using System.ComponentModel;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Ladder.Tests;

/// <summary>Each rung's server from a client's view: they differ only in speed.</summary>
public class StageTests(RunningStages stages) : IClassFixture<RunningStages>
{
    // Commands with the same reply bytes as in Redis, including errors. Keys are spread over all shards.
    private static readonly string[] Transcript =
    [
        "PING", "ping hello", "PING a b", "GET missing", "SET key value", "GET key", "set key other", "get key", "SET empty ''", "GET empty",
        "SET \"key with \\r\\n and \\x00\" \"\\x00\\xff\\r\\n$5\\r\\n*1\\r\\n\"", "GET \"key with \\r\\n and \\x00\"", "GET", "GET a b", "SET", "SET key",
        "GET key", "NOSUCH", "NOSUCH one two", "SET a 1", "SET b 2", "SET c 3", "SET a 4", "GET a", "GET b", "GET c", "PING", "GET a", "SET a 5", "GET a",
    ];

    public static TheoryData<string> Names => RunningStages.Names;

    [Theory]
    [MemberData(nameof(Names))]
    public void Set_and_get_reply_as_in_redis(string stage)
    {
        using RespConnection connection = RespConnection.Connect(stages.PortOf(stage));
        connection.Run("GET no-such-key").IsNull();
        connection.Run("SET color red").IsOk();
        connection.Run("GET color").IsBulk("red");
        connection.Run("PING").IsSimple("PONG");
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void Replies_match_redis(string stage)
    {
        byte[] requests = [.. Transcript.SelectMany(line => CommandLine.Encode(CommandLine.Split(line)))];
        byte[] expected = Exchange(Oracle.Port, requests);
        Assert.Equal(Encoding.Latin1.GetString(expected), Encoding.Latin1.GetString(Exchange(stages.PortOf(stage), requests)));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void Load_generator_greeting_commands_are_answered(string stage)
    {
        using RespConnection connection = RespConnection.Connect(stages.PortOf(stage));
        Assert.Equal('*', connection.Run("CONFIG GET save").Marker);
        Assert.Equal('*', connection.Run("COMMAND").Marker);
        connection.Run("PING").IsSimple("PONG");
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void Pipeline_sent_byte_by_byte_is_answered(string stage)
    {
        byte[] requests = [.. Transcript.SelectMany(line => CommandLine.Encode(CommandLine.Split(line)))];
        byte[] expected = Exchange(Oracle.Port, requests);
        using RespConnection connection = RespConnection.Connect(stages.PortOf(stage));
        for (int i = 0; i < requests.Length; i++) connection.Send(requests.AsSpan(i, 1));
        Assert.Equal(Encoding.Latin1.GetString(expected), Encoding.Latin1.GetString(ReadReplies(connection, expected.Length)));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Pipeline_in_uneven_pieces_is_answered_in_order(string stage)
    {
        // Values larger than one read, and more commands than a batch holds.
        var random = new Random(20_22);
        List<byte> requests = [];
        List<byte> expected = [];
        for (int i = 0; i < 3000; i++)
        {
            string key = $"{stage}:{i % 61}";
            string value = new((char)('a' + (i % 26)), random.Next(3) == 0 ? random.Next(9000) : random.Next(40));
            requests.AddRange(CommandLine.Encode([Encoding.ASCII.GetBytes("SET"), Encoding.ASCII.GetBytes(key), Encoding.ASCII.GetBytes(value)]));
            requests.AddRange(CommandLine.Encode([Encoding.ASCII.GetBytes("GET"), Encoding.ASCII.GetBytes(key)]));
            expected.AddRange(Encoding.ASCII.GetBytes($"+OK\r\n${value.Length}\r\n{value}\r\n"));
        }

        using RespConnection connection = RespConnection.Connect(stages.PortOf(stage));
        byte[] sent = [.. requests];
        Task sending = Task.Run(() =>
        {
            for (int at = 0; at < sent.Length;)
            {
                int bytes = Math.Min(sent.Length - at, random.Next(1, 20_000));
                connection.Send(sent.AsSpan(at, bytes));
                at += bytes;
            }
        }, TestContext.Current.CancellationToken);
        byte[] replies = ReadReplies(connection, expected.Count);
        await sending;
        Assert.True(expected.SequenceEqual(replies), $"{replies.Length} bytes of {expected.Count} expected, the first difference at {expected.Zip(replies).TakeWhile(pair => pair.First == pair.Second).Count()}");
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void Replies_do_not_wait_for_an_incomplete_request(string stage)
    {
        using RespConnection connection = RespConnection.Connect(stages.PortOf(stage));
        connection.Send("*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$2\r\n12\r\n*2\r\n$3\r\nGET\r\n$4\r\nha");
        connection.Read().IsOk();
        connection.Send("lf\r\n*2\r\n$3\r\nGET\r\n$");
        connection.Read().IsBulk("12");
        connection.Send("4\r\nhalf\r\n");
        connection.Read().IsBulk("12");
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void Clients_share_the_keys(string stage)
    {
        using RespConnection first = RespConnection.Connect(stages.PortOf(stage));
        using RespConnection second = RespConnection.Connect(stages.PortOf(stage));
        first.Run("SET shared 1").IsOk();
        second.Run("GET shared").IsBulk("1");
        second.Run("SET shared 22").IsOk();
        first.Run("GET shared").IsBulk("22");
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void Invalid_request_closes_after_the_preceding_replies(string stage)
    {
        byte[] requests = "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n!4\r\n"u8.ToArray();
        Assert.Equal("+PONG\r\n-ERR Protocol error: expected '$', got '!'\r\n", Encoding.Latin1.GetString(Exchange(stages.PortOf(stage), requests)));
        Assert.Equal("-ERR Protocol error: invalid multibulk length\r\n", Encoding.Latin1.GetString(Exchange(stages.PortOf(stage), "*x\r\n"u8.ToArray())));
        Assert.Equal("-ERR Protocol error: invalid bulk length\r\n", Encoding.Latin1.GetString(Exchange(stages.PortOf(stage), "*1\r\n$-1\r\n"u8.ToArray())));
    }

    [Fact]
    [Long]
    public void Busy_wait_spins_on_an_incomplete_request_and_answers_the_whole_one()
    {
        using StageProcess stage = RunningStages.Start("5-busy");
        using RespConnection connection = RespConnection.Connect(stage.Port);
        connection.Run("SET whole 1").IsOk();
        connection.Run("GET whole").IsBulk("1");

        connection.Send("*2\r\n$3\r\nGET\r\n$5\r\nwh");
        TimeSpan before = stage.Cpu;
        // A tenth of a core in the first second, or in a later one if the machine is busy.
        for (int seconds = 0; seconds < 10 && stage.Cpu - before < TimeSpan.FromMilliseconds(100); seconds++) Thread.Sleep(1000);
        Assert.True(stage.Cpu - before > TimeSpan.FromMilliseconds(100), $"it used {stage.Cpu - before} of CPU: it did not spin");

        connection.Send("ole\r\n");
        connection.Read().IsBulk("1");
    }

    private static ServerProcess Oracle => OracleServer.Value;

    private static readonly Lazy<ServerProcess> OracleServer = new(() =>
    {
        try
        {
            return ServerProcess.Start(ServerProgram.Oracle);
        }
        catch (Win32Exception)
        {
            Assert.Skip("redis-server is not installed here");
            throw;
        }
    });

    // Until the server closes, which it does after the client has finished sending.
    private static byte[] Exchange(int port, byte[] requests)
    {
        using RespConnection connection = RespConnection.Connect(port);
        connection.Send(requests);
        connection.FinishSending();
        return connection.ReadUntilQuiet(quietMs: 0, expectClose: true).Bytes;
    }

    private static byte[] ReadReplies(RespConnection connection, int expectedBytes)
    {
        byte[] replies = connection.ReadUntilQuiet(quietMs: 20, expectedBytes).Bytes;
        Assert.True(replies.Length >= expectedBytes, $"only {replies.Length} of {expectedBytes} bytes came");
        return replies;
    }
}
