using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>
/// Dumps and RDB files of other servers' releases, with a value of each type and encoding: forms have changed within one RDB version, and none of them may stop a start.
/// The files in Corpus were written by the servers that they name; each line has a key, a command with its reply there, and the key's DUMP, the last line the RDB file.
/// </summary>
public sealed class CorpusTests
{
    private static readonly string Folder = Path.Combine(RepositoryRoot.Path, "tests", "RedKite.Server.Tests", "Durability", "Corpus");

    public static TheoryData<string> Files => [.. Directory.GetFiles(Folder, "*.txt").Select(static path => Path.GetFileNameWithoutExtension(path)!).Order(StringComparer.Ordinal)];

    [Theory]
    [MemberData(nameof(Files))]
    public async Task Dumps_are_restored(string release)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Loops = 1, Settings = { ["diagnostics"] = "no" } }, TestContext.Current.CancellationToken);
        Line[] lines = [.. Read(release)];
        foreach (Line line in lines)
        {
            ReadOnlyMemory<byte>[] restore = ["RESTORE"u8.ToArray(), System.Text.Encoding.UTF8.GetBytes(line.Key), "0"u8.ToArray(), line.Bytes];
            Assert.Equal("OK", server.CreateClient().Execute(restore).Text);
        }

        Check(server, lines);
    }

    [Theory]
    [MemberData(nameof(Files))]
    public async Task Files_are_loaded(string release)
    {
        using var folder = new TemporaryFolder();
        string[] last = (await File.ReadAllLinesAsync(Path.Combine(Folder, release + ".txt"), TestContext.Current.CancellationToken))[^1].Split('\t');
        Assert.Equal("file", last[0]);
        await File.WriteAllBytesAsync(folder.File("dump.rdb"), Convert.FromBase64String(last[1]), TestContext.Current.CancellationToken);
        var options = new RedKiteOptions { Loops = 1, DataDirectory = folder.Path, Persistence = RedKitePersistence.None, Settings = { ["diagnostics"] = "no" } };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Check(server, [.. Read(release)]);
    }

    private static void Check(RedKiteServer server, Line[] lines)
    {
        Assert.Equal(lines.Length, server.Execute("DBSIZE").Integer);
        foreach (Line line in lines) Assert.Equal($"{line.Key}: {line.Reply}", $"{line.Key}: {Shown(server.Execute(line.Command.Split(' ')))}");
    }

    private static string Shown(RedKiteReply reply) => reply.IsNull ? "(nil)" : reply.Kind == ReplyKind.Array ? $"[{string.Join(' ', reply.Items.Select(Shown))}]" : reply.Text!;

    private static IEnumerable<Line> Read(string release) =>
        File.ReadLines(Path.Combine(Folder, release + ".txt")).Where(static line => line[0] != '#').Select(static line => line.Split('\t')).Where(static parts => parts.Length == 4)
            .Select(static parts => new Line(parts[0], parts[1], parts[2], Convert.FromBase64String(parts[3])));

    private sealed record Line(string Key, string Command, string Reply, byte[] Bytes);
}
