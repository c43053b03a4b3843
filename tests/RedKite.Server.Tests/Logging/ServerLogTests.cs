using System.Text.Json;
using RedKite.Server.Config;
using RedKite.Server.Logging;

namespace RedKite.Server.Tests.Logging;

public sealed class ServerLogTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-log-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void Lines_have_process_id_time_and_level_mark()
    {
        ServerLog log = ToFile("server.log");
        log.Notice(LogEvents.ClientMessage, "one");
        log.Verbose(LogEvents.ClientMessage, "not this one");
        log.Warning(LogEvents.ClientMessage, "two");
        log.NoteRole(isReplica: true);
        log.Notice(LogEvents.ClientMessage, "three");
        string[] lines = File.ReadAllLines(Path.Combine(_folder, "server.log"));
        Assert.Collection(lines, line => Assert.EndsWith(" * one", line), line => Assert.EndsWith(" # two", line), line => Assert.EndsWith(" * three", line));
        Assert.All(lines[..2], line => Assert.StartsWith($"{Environment.ProcessId}:M ", line));
        Assert.StartsWith($"{Environment.ProcessId}:S ", lines[2], StringComparison.Ordinal);
    }

    [Fact]
    public void Json_lines_have_time_level_process_and_message()
    {
        var settings = new Settings { LogFilePath = Path.Combine(_folder, "server.log"), LogLevel = LogLevel.Notice };
        var log = new ServerLog(settings, sink: null);
        settings.LogsJson = true;
        log.Warning(LogEvents.ClientMessage, "a \"quoted\" path C:\\x and\na second line");
        log.Notice(LogEvents.ClientMessage, "two");
        settings.LogsJson = false;
        log.Notice(LogEvents.ClientMessage, "three");
        string[] lines = File.ReadAllLines(settings.LogFilePath);
        using JsonDocument first = JsonDocument.Parse(lines[0]);
        Assert.Equal("a \"quoted\" path C:\\x and\na second line", first.RootElement.GetProperty("message").GetString());
        Assert.Equal("warning", first.RootElement.GetProperty("level").GetString());
        Assert.Equal(Environment.ProcessId, first.RootElement.GetProperty("pid").GetInt32());
        Assert.True(Math.Abs((DateTime.UtcNow - first.RootElement.GetProperty("time").GetDateTime()).TotalMinutes) < 5);
        using JsonDocument second = JsonDocument.Parse(lines[1]);
        Assert.Equal("notice", second.RootElement.GetProperty("level").GetString());
        Assert.EndsWith(" * three", lines[2], StringComparison.Ordinal);
    }

    // What a client wrote cannot look like another line.
    [Fact]
    public void Text_of_clients_stays_on_its_line()
    {
        const string Text = "a\r\n1:M 01 Jan 2026 00:00:00.000 * fake\x1b[2J\t\x85\u2028\0b";
        const string Shown = "a\\r\\n1:M 01 Jan 2026 00:00:00.000 * fake\\x1b[2J\\t\\x85\\u2028\\x00b";
        ServerLog log = ToFile("server.log");
        log.OfClient(LogEvents.ClientMessage, isWarning: false, "said: ", Text);
        log.Warning(LogEvents.ClientMessage, Text);
        string[] lines = File.ReadAllText(Path.Combine(_folder, "server.log")).Split(Environment.NewLine);
        Assert.Equal(3, lines.Length);
        Assert.EndsWith(" * said: " + Shown, lines[0], StringComparison.Ordinal);
        Assert.EndsWith(" # " + Shown, lines[1], StringComparison.Ordinal);
        Assert.EndsWith(" * said: " + Shown, log.Tail.Lines[0], StringComparison.Ordinal);

        var handed = new List<string>();
        new ServerLog(new Settings { LogLevel = LogLevel.Notice }, entry => handed.Add(entry.Message)).OfClient(LogEvents.ClientMessage, isWarning: true, "said: ", Text);
        Assert.Equal(["said: " + Shown], handed);

        var settings = new Settings { LogFilePath = Path.Combine(_folder, "json.log"), LogLevel = LogLevel.Notice, LogsJson = true };
        new ServerLog(settings, sink: null).OfClient(LogEvents.ClientMessage, isWarning: false, "said: ", Text);
        string json = Assert.Single(File.ReadAllText(settings.LogFilePath).TrimEnd().Split(['\n', '\r', '\x85', '\u2028']));
        using JsonDocument line = JsonDocument.Parse(json);
        Assert.Equal("said: " + Text, line.RootElement.GetProperty("message").GetString());
    }

    [Fact]
    public void Tail_keeps_the_last_lines()
    {
        var tail = new LogTail();
        for (int i = 0; i < LogTail.LinesMax + 5; i++) tail.Add($"line {i}");
        Assert.Equal(LogTail.LinesMax, tail.Lines.Length);
        Assert.Equal("line 5", tail.Lines[0]);
        Assert.Equal($"line {LogTail.LinesMax + 4}", tail.Lines[^1]);
        Assert.Equal(LogTail.LinesMax + 5, tail.Count);
        tail.Add(new string('x', 100_000));
        Assert.Equal(2000, tail.Lines[^1].Length);
    }

    [Fact]
    public void Unwritable_lines_are_counted_in_the_next_written_one()
    {
        ServerLog log = ToFile("later/server.log");
        Assert.Throws<RedKiteConfigException>(log.Open);
        log.Notice(LogEvents.ClientMessage, "one");
        log.Notice(LogEvents.ClientMessage, "two");
        Directory.CreateDirectory(Path.Combine(_folder, "later"));
        log.Notice(LogEvents.ClientMessage, "three");
        log.Notice(LogEvents.ClientMessage, "four");
        Assert.Collection(
            File.ReadAllLines(Path.Combine(_folder, "later", "server.log")),
            line => Assert.EndsWith(" # 2 lines before this one could not be written", line),
            line => Assert.EndsWith(" * three", line),
            line => Assert.EndsWith(" * four", line));
    }

    [Fact]
    public void Unwritable_lines_are_counted_as_JSON_too()
    {
        ServerLog log = ToFile("later/server.json", json: true);
        log.Notice(LogEvents.ClientMessage, "one");
        log.Notice(LogEvents.ClientMessage, "two");
        Directory.CreateDirectory(Path.Combine(_folder, "later"));
        log.Notice(LogEvents.ClientMessage, "three");
        Assert.Collection(
            File.ReadAllLines(Path.Combine(_folder, "later", "server.json")),
            line => Assert.Equal(("warning", "2 lines before this one could not be written"), Read(line)),
            line => Assert.Equal(("notice", "three"), Read(line)));

        static (string?, string?) Read(string line)
        {
            using JsonDocument json = JsonDocument.Parse(line);
            return (json.RootElement.GetProperty("level").GetString(), json.RootElement.GetProperty("message").GetString());
        }
    }

    [Fact]
    public void Exception_of_a_log_delegate_is_contained()
    {
        int called = 0;
        var log = new ServerLog(new Settings(), _ =>
        {
            called++;
            throw new ObjectDisposedException("logger");
        });
        log.Open();
        log.Warning(LogEvents.ClientMessage, "one");
        log.Warning(LogEvents.ClientMessage, "two");
        Assert.Equal(2, called);
    }

    private ServerLog ToFile(string path, bool json = false) => new(new Settings { LogFilePath = path, DirectoryPath = _folder, LogLevel = LogLevel.Notice, LogsJson = json }, sink: null);
}
