using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Server.Durability;

namespace RedKite.Server.Tests.Durability;

public sealed class LogReplayTests : IAsyncLifetime
{
    private const string Multi = "*1\r\n$5\r\nMULTI\r\n", Exec = "*1\r\n$4\r\nEXEC\r\n";

    private DiskServer _disk = null!;

    public async ValueTask InitializeAsync() => _disk = await DiskServer.StartAsync();

    public ValueTask DisposeAsync() => _disk.DisposeAsync();

    [Theory]
    [InlineData(100)]
    [InlineData(1_000_000)]
    public void Whole_units_are_executed_whatever_their_length(int unitBytesMax)
    {
        string many = string.Concat(Enumerable.Range(0, 1000).Select(i => Set($"k{i}", "v"))), large = Set("large", new string('x', 400_000));
        string text = Set("a", "1") + Multi + many + large + Exec + large + Multi + Set("b", "2") + Exec;
        Assert.Equal(AofRead.End, Replay(text, unitBytesMax, out string executed));
        Assert.Equal(text.Replace(Multi, "", StringComparison.Ordinal).Replace(Exec, "", StringComparison.Ordinal), executed);
    }

    [Theory]
    [InlineData(100)]
    [InlineData(1_000_000)]
    public void Of_a_unit_without_its_end_nothing_is_executed(int unitBytesMax)
    {
        string many = string.Concat(Enumerable.Range(0, 1000).Select(i => Set($"k{i}", "v")));
        Assert.Equal(AofRead.Truncated, Replay(Set("a", "1") + Multi + many + Set("large", new string('x', 400_000)), unitBytesMax, out string executed));
        Assert.Equal(Set("a", "1"), executed);
    }

    [Fact]
    public void Request_that_is_not_executed_stops_the_replay()
    {
        AofException refused = Assert.Throws<AofException>(() => Replay(Set("a", "1"), 100, out _, execute: _ => 0));
        Assert.Contains("log: at byte ", refused.Message, StringComparison.Ordinal);
    }

    private static string Set(string key, string value) => $"*3\r\n$3\r\nSET\r\n${key.Length}\r\n{key}\r\n${value.Length}\r\n{value}\r\n";

    private AofRead Replay(string text, int unitBytesMax, out string executed, RequestReplay? execute = null)
    {
        var received = new StringBuilder();
        string path = Path.Combine(_disk.Folder, "log");
        using IOpenFile file = _disk.Files.Create(path);
        file.Write(0, Encoding.ASCII.GetBytes(text));
        using var reader = new AofReader(file);
        var replay = new LogReplay(execute ?? Receive, _disk.Server.Engine.Commands, unitBytesMax);
        AofRead end = replay.Execute(file, reader, _ => { }, TestContext.Current.CancellationToken);
        executed = received.ToString();
        return end;

        int Receive(Span<byte> requests)
        {
            received.Append(Encoding.ASCII.GetString(requests));
            return requests.Length;
        }
    }
}
