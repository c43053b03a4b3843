using BenchmarkDotNet.Attributes;
using RedKite.Server.Config;
using RedKite.Server.Logging;

namespace RedKite.Microbenchmarks;

/// <summary>Logging a line: to a file, to an unwritable file, to a host's delegate, and below the log level.</summary>
public class ServerLogBenchmarks
{
    private const string Line = "DB loaded from append only file: 0.123 seconds";

    private string _folder = "";
    private ServerLog _toFile = null!;
    private ServerLog _toMissingFolder = null!;
    private ServerLog _toHost = null!;
    private int _length;

    [GlobalSetup]
    public void Setup()
    {
        _folder = Directory.CreateTempSubdirectory("redkite-log-").FullName;
        var settings = new Settings { LogLevel = LogLevel.Notice, LogFilePath = "server.log", DirectoryPath = _folder };
        _toFile = new ServerLog(settings, sink: null);
        _toMissingFolder = new ServerLog(new Settings { LogFilePath = "missing/server.log", DirectoryPath = _folder }, sink: null);
        _toHost = new ServerLog(settings, entry => _length += entry.Message.Length);
    }

    [GlobalCleanup]
    public void Cleanup() => Directory.Delete(_folder, recursive: true);

    [Benchmark(Baseline = true)]
    public void ToFile() => _toFile.Notice(LogEvents.ClientMessage, Line);

    [Benchmark]
    public void Lost() => _toMissingFolder.Warning(LogEvents.ClientMessage, Line);

    [Benchmark]
    public void ToHost() => _toHost.Notice(LogEvents.ClientMessage, Line);

    [Benchmark]
    public void BelowTheLevel() => _toFile.Verbose(LogEvents.ClientMessage, Line);
}
