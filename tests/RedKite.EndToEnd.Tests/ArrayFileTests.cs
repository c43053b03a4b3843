using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>Arrays in files, and in dumps for a server that has none.</summary>
public sealed class ArrayFileTests : IDisposable
{
    private static readonly string[] Questions =
    [
        "ARSCAN array 0 18446744073709551614", "ARSCAN far 0 18446744073709551614", "ARNEXT array", "ARNEXT far", "ARLASTITEMS ring 3", "ARINFO ring FULL", "TYPE ring", "PEXPIRETIME ring",
    ];

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("yes", "yes")]
    [InlineData("yes", "no")]
    [InlineData("no", "yes")]
    public void Files_are_loaded(string appendOnly, string preamble)
    {
        using ServerProcess source = Transfers.Start("redkite", "--dir", _folder.Path, "--appendonly", appendOnly, "--aof-use-rdb-preamble", preamble);
        using RespConnection client = Transfers.ConnectWhenLoaded(source);
        Fill(client);
        if (appendOnly == "yes")
        {
            client.Run("BGREWRITEAOF");
            Assert.True(SpinWait.SpinUntil(() => client.Run("INFO persistence").Text is var info && info.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal) && info.Contains("aof_rewrite_scheduled:0", StringComparison.Ordinal), 60_000));
            client.Run("ARRING ring 3 later").IsInteger(2);
            client.Run("ARDELRANGE array 100 200").IsInteger(33);
            client.Run("CONFIG SET appendonly no").IsOk();
        }

        client.Run("SAVE").IsOk();
        using ServerProcess target = Transfers.Start("redkite", "--dir", _folder.Path, "--appendonly", appendOnly);
        using RespConnection other = Transfers.ConnectWhenLoaded(target);
        foreach (string question in Questions) Assert.Equal(client.Run(question).ToString(), other.Run(question).ToString());
    }

    [Fact]
    public void Other_servers_refuse_dumps_and_go_on()
    {
        if (OracleProgram.Redis8 is null) Assert.Skip(OracleProgram.Redis8Missing);
        using ServerProcess source = Transfers.Start("redkite");
        using ServerProcess target = Transfers.Start("redis 8");
        using RespConnection client = source.Connect();
        using RespConnection other = target.Connect();
        Fill(client);
        foreach (string key in (string[])["array", "far", "ring"])
        {
            byte[] dump = client.Run($"DUMP {key}").Payload!;
            Assert.Equal("ERR Bad data format", other.Run("RESTORE"u8.ToArray(), "k"u8.ToArray(), "0"u8.ToArray(), dump).Text);
        }

        other.Run("DBSIZE").IsInteger(0);
    }

    private static void Fill(RespConnection client)
    {
        client.Run("EVAL \"for i = 0, 2999 do redis.call('ARSET', KEYS[1], i * 3, i .. string.rep('x', i % 40)) end\" 1 array");
        client.Run("ARINSERT array first second").IsInteger(1);
        client.Run("ARSET far 18446744073709551613 a b").IsInteger(2);
        client.Run("ARSEEK far 18446744073709551615").IsInteger(1);
        client.Run("ARRING ring 3 a b c d e").IsInteger(1);
        client.Run("PEXPIREAT ring 4000000000000").IsInteger(1);
    }
}
