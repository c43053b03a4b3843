using System.Globalization;
using System.Net.Sockets;
using System.Text;
using RedKite.Server.Diagnostics.Package;

namespace RedKite.Server.Tests.Diagnostics.Package;

/// <summary>DEBUG PACKAGE.</summary>
public class PackageCommandTests
{
    [Fact]
    public async Task Replies_the_package_while_the_loop_serves_others()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } }, TestContext.Current.CancellationToken);
        using var client = new TcpClient("127.0.0.1", server.Port);
        await using NetworkStream stream = client.GetStream();
        await stream.WriteAsync("DEBUG PACKAGE LOG 1\r\nPING\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
        using var other = new TcpClient("127.0.0.1", server.Port);
        await using NetworkStream otherStream = other.GetStream();
        await otherStream.WriteAsync("PING\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
        var pong = new byte[7];
        await otherStream.ReadExactlyAsync(pong, TestContext.Current.CancellationToken);
        Assert.Equal("+PONG\r\n", Encoding.ASCII.GetString(pong));
        Assert.False(stream.DataAvailable, "the package is still being built");
        Assert.Contains("ERR a debug package is being built already", server.Execute("DEBUG", "PACKAGE").Text, StringComparison.Ordinal);

        byte[] package = await ReadBulk(stream);
        Assert.Contains("manifest.json", DebugPackageTests.Entries(package).Keys);
        await stream.ReadExactlyAsync(pong, TestContext.Current.CancellationToken);
        Assert.Equal("+PONG\r\n", Encoding.ASCII.GetString(pong));
    }

    [Fact]
    public async Task Caller_in_the_process_gets_the_package_too()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        RedKiteReply reply = server.Execute("DEBUG", "PACKAGE", "LOG", "0");
        Assert.Contains("info.txt", DebugPackageTests.Entries(reply.Bytes.ToArray()).Keys);
    }

    [Theory]
    [InlineData("ERR syntax error", "LOG")]
    [InlineData("ERR syntax error", "NOSUCH", "1")]
    [InlineData("ERR LOG must be between 0 and 15 seconds", "LOG", "16")]
    [InlineData("ERR TRACE must be between 0 and 30 seconds", "TRACE", "-1")]
    public async Task Wrong_options_are_refused(string error, params string[] options)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        Assert.Equal(error, server.Execute(["DEBUG", "PACKAGE", .. options]).Text);
    }

    [Fact]
    public async Task Other_subcommands_stay_protected_and_package_needs_diagnostics()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["diagnostics"] = "no" } }, TestContext.Current.CancellationToken);
        Assert.StartsWith("ERR DEBUG command not allowed.", server.Execute("DEBUG", "SLEEP", "0").Text, StringComparison.Ordinal);
        Assert.Equal("ERR there is no debug package because the setting 'diagnostics' is off", server.Execute("DEBUG", "PACKAGE").Text);
    }

    [Fact]
    public async Task Client_that_was_unblocked_gets_no_package()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        using var client = new TcpClient("127.0.0.1", server.Port);
        await using NetworkStream stream = client.GetStream();
        await stream.WriteAsync("DEBUG PACKAGE LOG 1\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Blocked.Count == 1, 60_000), "it waits");
        long id = server.Engine.Clients.InOrder.First(session => session.Connection is not null).Id;
        Assert.Equal(1, server.Execute("CLIENT", "UNBLOCK", id.ToString(CultureInfo.InvariantCulture)).Integer);
        var reader = new StreamReader(stream, Encoding.Latin1);
        Assert.Equal("-ERR the debug package was not ready in time", await reader.ReadLineAsync(TestContext.Current.CancellationToken));
        Assert.True(SpinWait.SpinUntil(() => server.Packages!.TryReserve(), 60_000), "the package ends");
        server.Packages!.Release();
        await stream.WriteAsync("PING\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
        Assert.Equal("+PONG", await reader.ReadLineAsync(TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task Stopping_server_cancels_it()
    {
        RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        string? error = null;
        Assert.True(server.Packages!.TryReserve());
        server.Packages.Begin(PackageOptions.Default, (_, failure) => error = failure);
        await server.StopAsync().WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.Equal("The server is stopping.", error);
        Assert.False(server.Packages.TryReserve());
    }

    private static async Task<byte[]> ReadBulk(NetworkStream stream)
    {
        var head = new StringBuilder();
        var one = new byte[1];
        while (!head.ToString().EndsWith("\r\n", StringComparison.Ordinal))
        {
            await stream.ReadExactlyAsync(one, TestContext.Current.CancellationToken);
            head.Append((char)one[0]);
        }

        Assert.Equal('$', head[0]);
        var bytes = new byte[int.Parse(head.ToString().AsSpan(1).TrimEnd(), CultureInfo.InvariantCulture) + 2];
        await stream.ReadExactlyAsync(bytes, TestContext.Current.CancellationToken);
        return bytes[..^2];
    }
}
