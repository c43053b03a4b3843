using BenchmarkDotNet.Attributes;
using RedKite.Protocol;
using RedKite.Server.Execution;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Memory;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Recording a slow command in a full log: with arguments that fit an entry, that are truncated, that are too many, and that
/// are secret. Whether a command is slow is decided before, so a fast one takes no time here.
/// </summary>
public class RequestLogBenchmarks
{
    private const int EntriesMax = 128;
    private const long SlowNs = 20_000_000;

    private readonly RequestLog _log = new(new LimitCounts(), new KeptMemory(new MemoryBudget())) { MaxLength = EntriesMax };
    private RedKiteServer _server = null!;
    private CommandExecutor _executor = null!;
    private Session _session = null!;
    private Request _get = null!;
    private Request _longValue = null!;
    private Request _manyKeys = null!;
    private Request _password = null!;

    [GlobalSetup]
    public void Setup()
    {
        _server = RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } }).GetAwaiter().GetResult();
        _executor = _server.Engine.NewExecutor();
        _session = _server.Engine.Clients.Add(null, _server.Engine.Clock.NowMs, _server.Engine.Users.InProcess, authenticated: true);
        _get = new Request(_server, "GET", "key:00000000001");
        _longValue = new Request(_server, "SET", "key:00000000001", new string('v', 65_536));
        _manyKeys = new Request(_server, ["MGET", .. Enumerable.Range(0, 200).Select(i => $"key:{i:d11}")]);
        _password = new Request(_server, "AUTH", "password");
        for (int i = 0; i < EntriesMax; i++) AddGet();
    }

    [GlobalCleanup]
    public void Cleanup() => _server.StopAsync().GetAwaiter().GetResult();

    [Benchmark(Baseline = true)]
    public void AddGet() => Add(_get);

    [Benchmark]
    public void AddCutArgument() => Add(_longValue);

    [Benchmark]
    public void AddTooManyArguments() => Add(_manyKeys);

    [Benchmark]
    public void AddSecret() => Add(_password, secret: 1);

    [Benchmark]
    public int ReadTen() => _log.Newest(10).Length;

    private void Add(Request request, int secret = 0)
    {
        var cmd = new CommandContext(_executor.Environment, _session, request.Bytes, _executor.Reply, database: 0);
        cmd.Begin(request.Command, request.Arguments, firstKeyHash: 0);
        if (secret > 0) cmd.Arguments.Redact(secret);
        _log.Add(LoggedRequest.ArgumentsOf(cmd), cmd.Count, clientAddress: "", clientName: "", _executor.Time.NowMs, SlowNs);
    }

    /// <summary>A command as the log receives it: its row, and its arguments as slices of the input.</summary>
    private sealed class Request
    {
        internal Request(RedKiteServer server, params string[] arguments)
        {
            Bytes = System.Text.Encoding.ASCII.GetBytes(string.Concat(arguments));
            Command = server.Engine.Commands.Find(Bytes.AsSpan(0, arguments[0].Length))!;
            Arguments = new ArgumentSlice[arguments.Length];
            int start = 0;
            for (int i = 0; i < arguments.Length; i++)
            {
                Arguments[i] = new ArgumentSlice(start, arguments[i].Length);
                start += arguments[i].Length;
            }
        }

        internal byte[] Bytes { get; }

        internal Command Command { get; }

        internal ArgumentSlice[] Arguments { get; }
    }
}
