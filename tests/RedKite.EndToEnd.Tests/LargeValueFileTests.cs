using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>Values of ten million elements through a save, a rewrite and loading, with writers and readers beside them.</summary>
[Long]
public sealed class LargeValueFileTests : IDisposable
{
    private const int Elements = 10_000_000;
    private const int ElementsPerCommand = 1_000;
    private const int CommandsPerBatch = 100;
    private const int PatienceMs = 600_000;

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("SADD value", " member:{0}", "SCARD value", "SREM value member:0")]
    [InlineData("HSET value", " field:{0} value:{0}", "HLEN value", "HDEL value field:0")]
    [InlineData("ZADD value", " {0} member:{0}", "ZCARD value", "ZREM value member:0")]
    [InlineData("RPUSH value", " element:{0}", "LLEN value", "LPOP value")]
    [InlineData("XADD value *", " field:{0} value:{0}", "XLEN value", "XTRIM value MINID 1")]
    public void Ten_million_elements_are_saved_and_loaded(string command, string element, string count, string change)
    {
        string digest;
        long elements;
        using (ServerProcess server = Start("--save", "", "--appendfsync", "everysec"))
        {
            using RespConnection client = server.Connect();
            client.SetTimeout(PatienceMs);
            Fill(client, command, element);
            elements = client.Run(count).Number;
            client.Run("BGSAVE").IsSimple("Background saving started");
            client.Run(change); // waits until the value is written
            WaitFor(client, "rdb_bgsave_in_progress:0");
            Assert.Contains("rdb_last_bgsave_status:ok", client.Run("INFO persistence").Text, StringComparison.Ordinal);
            client.Run("CONFIG SET appendonly yes").IsOk();
            WaitFor(client, "aof_rewrites:1");
            client.Run(change);
            client.Run("BGREWRITEAOF");
            client.Run(change);
            WaitFor(client, "aof_rewrite_in_progress:0");
            Assert.Contains("aof_last_bgrewrite_status:ok", client.Run("INFO persistence").Text, StringComparison.Ordinal);
            digest = Digest(client);
            server.Signal("TERM");
            Assert.Equal(0, server.WaitForExit(PatienceMs));
        }

        using (ServerProcess server = Start("--save", "", "--appendonly", "yes"))
        {
            using RespConnection client = Transfers.ConnectWhenLoaded(server);
            client.SetTimeout(PatienceMs);
            Assert.Equal(digest, Digest(client));
        }

        using ServerProcess saved = Start("--save", "");
        using RespConnection reader = Transfers.ConnectWhenLoaded(saved);
        reader.SetTimeout(PatienceMs);
        Assert.InRange(reader.Run(count).Number, elements - 1, elements); // the snapshot point may follow the change
    }

    private static void Fill(RespConnection client, string command, string element)
    {
        // A stream has one entry for each command.
        bool isStream = command.StartsWith("XADD", StringComparison.Ordinal);
        int perCommand = isStream ? 1 : ElementsPerCommand;
        int perBatch = isStream ? 10_000 : CommandsPerBatch;
        var format = CompositeFormat.Parse(element);
        var request = new StringBuilder();
        for (int at = 0; at < Elements;)
        {
            request.Clear();
            int commands = 0;
            for (; commands < perBatch && at < Elements; commands++)
            {
                request.Append(command);
                for (int i = 0; i < perCommand && at < Elements; i++, at++) request.AppendFormat(CultureInfo.InvariantCulture, format, at);
                request.Append("\r\n");
            }

            client.Send(request.ToString());
            for (int i = 0; i < commands; i++) Assert.False(client.Read().IsError);
        }
    }

    private static void WaitFor(RespConnection client, string line) =>
        Assert.True(SpinWait.SpinUntil(() => client.Run("INFO persistence").Text.Contains(line + "\r\n", StringComparison.Ordinal), PatienceMs), $"timed out waiting for {line}");

    private static string Digest(RespConnection client) => client.Run("DEBUG DIGEST-VALUE value").Items[0].Text;

    private ServerProcess Start(params string[] options) => Transfers.Start("redkite", ["--dir", _folder.Path, .. options]);
}
