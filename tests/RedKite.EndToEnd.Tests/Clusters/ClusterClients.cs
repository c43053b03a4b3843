using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.TestSupport;
using StackExchange.Redis;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>Clients of several makers that write to a cluster and read from it until they are stopped, and write down what they see.</summary>
internal sealed class ClusterClients : IDisposable
{
    internal const string Python = "python", Ioredis = "ioredis", NodeRedis = "node-redis", StackExchange = "stackexchange", RedisCli = "redis-cli";

    /// <summary>Has no history: it sees itself to it that each of its jobs is done.</summary>
    internal const string BullMq = "bullmq";

    private const int PauseMs = 8;
    private const int PauseOfCliMs = 100;
    private const int TimeoutMs = 2_000;
    private const int EndMs = 120_000;
    private const int ValuesCount = 6;
    private const int PushesPerList = 60;

    private readonly ClusterHistory _history;
    private readonly ClusterNodes _nodes;
    private readonly string[] _names;
    private readonly CancellationTokenSource _end = new();
    private readonly List<(string Name, Process Process, StringBuilder Errors)> _scripts = [];
    private readonly List<Task> _tasks = [];
    private readonly List<DirectClient> _direct = [];
    private volatile string _said = ""; // what a script has printed last

    /// <param name="nodes">The cluster.</param>
    /// <param name="history">Where they write.</param>
    /// <param name="seed">Of what they draw.</param>
    /// <param name="names">Which clients.</param>
    internal ClusterClients(ClusterNodes nodes, ClusterHistory history, int seed, params string[] names)
    {
        (_nodes, _history, _names) = (nodes, history, [.. names.Where(static name => name != BullMq)]);
        for (int node = 0; node < nodes.Count; node++) _direct.Add(new DirectClient(nodes, history, node, seed + node));
        foreach (string name in names)
        {
            string[] shared = [name, seed.ToString(CultureInfo.InvariantCulture), string.Join(',', _names), .. nodes.Addresses];
            switch (name)
            {
                case BullMq:
                    Start(name, "node", [Path.Combine(ChildProgram.ScriptFolder, "node", "cluster_queue.js"), .. nodes.Addresses]);
                    break;
                case Python:
                    Start(name, File.Exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3", [Path.Combine(ChildProgram.ScriptFolder, "python", "cluster_writer.py"), history.FileOf(name), .. shared]);
                    break;
                case Ioredis or NodeRedis:
                    Start(name, "node", [Path.Combine(ChildProgram.ScriptFolder, "node", "cluster_writer.js"), name, history.FileOf(name), .. shared]);
                    break;
                case RedisCli:
                    _tasks.Add(Task.Factory.StartNew(() => WorkByCli(new Random(seed)), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default));
                    break;
                default:
                    _tasks.Add(WorkByLibrary(new Random(seed)));
                    break;
            }
        }
    }

    /// <summary>Each client has so many more writes acknowledged, and so have the direct ones together.</summary>
    internal void WaitForProgress(int writes, string after)
    {
        Dictionary<string, int> before = _names.ToDictionary(static name => name, _history.Acknowledged);
        int direct = Direct();
        _nodes.WaitFor(() => AllRun() && Array.TrueForAll(_names, name => _history.Acknowledged(name) >= before[name] + (name == RedisCli ? Math.Min(writes, 3) : writes)) && Direct() >= direct + writes, () => $"acknowledged writes {after}: {Progress(before)}");
    }

    /// <summary>Ends them, and reads what is there at the end.</summary>
    internal void Stop()
    {
        _end.Cancel();
        foreach (DirectClient client in _direct) client.Stop();
        foreach ((_, Process process, _) in _scripts) process.StandardInput.Close();
        Task.WaitAll([.. _tasks]);
        foreach ((string name, Process process, StringBuilder errors) in _scripts)
        {
            Assert.True(process.WaitForExit(EndMs), $"{name} does not end");
            process.WaitForExit();
            lock (errors) Assert.True(process.ExitCode == 0, $"{name}: {errors}");
            if (name == BullMq) Assert.Matches("^[1-9][0-9]* jobs completed$", _said);
        }

        foreach (string name in _names) _history.Acknowledged(name);
        Direct();
    }

    /// <summary>Reads all keys, and writes down who has which slots and keys. Everything works, and nobody writes.</summary>
    internal void ReadAtEnd()
    {
        const string Reader = "end";
        (string Key, bool IsList)[] keys = [.. _history.Keys()];
        for (int node = 0; node < _nodes.Count; node++)
        {
            string place = _nodes.PlaceOf(node).Text;
            using RespConnection client = _nodes.Connect(node, EndMs);
            bool isPrimary = client.Run("ROLE").Items[0].Text == "master";
            foreach (RespValue range in client.Run("CLUSTER SLOTS").Items)
            {
                if (!range.Items.Skip(2).Any(owner => owner.Items[1].Number == _nodes.PlaceOf(node).Port && owner.Items[0].Text == _nodes.PlaceOf(node).Address.ToString())) continue;
                _history.WriteLine(Reader, $"slots\t{place}\t{(isPrimary ? "primary" : "replica")}\t{range.Items[0].Number}\t{range.Items[1].Number}");
            }

            foreach (RespValue key in client.Run("KEYS *").Items.Where(static key => !key.Text.StartsWith("{bull}", StringComparison.Ordinal))) _history.WriteLine(Reader, $"held\t{place}\t{key.Text}");
            if (!isPrimary) continue;
            foreach ((string key, bool isList) in keys)
            {
                long begin = ClusterHistory.Now;
                RespValue reply = client.Run(isList ? $"LRANGE {key} 0 -1" : $"GET {key}");
                if (reply.IsError) continue; // another shard's
                if (isList) _history.Write(Reader, key, "range", reply.Items.Count == 0 ? "-" : string.Join(',', reply.Items.Select(static item => item.Text)), begin, "ok", place);
                else _history.Write(Reader, key, "get", reply.IsNull ? "-" : reply.Text, begin, "ok", place);
            }
        }
    }

    public void Dispose()
    {
        _end.Cancel();
        foreach (DirectClient client in _direct) client.Dispose();
        foreach ((_, Process process, _) in _scripts)
        {
            if (!process.HasExited) process.Kill(entireProcessTree: true);
            process.Dispose();
        }

        try
        {
            Task.WaitAll([.. _tasks]);
        }
        catch (AggregateException)
        {
            // Stop has told.
        }

        _end.Dispose();
    }

    private int Direct() => Enumerable.Range(0, _nodes.Count).Sum(node => _history.Acknowledged(string.Create(CultureInfo.InvariantCulture, $"direct{node}")));

    private string Progress(Dictionary<string, int> before) => string.Join(", ", before.Select(pair => string.Create(CultureInfo.InvariantCulture, $"{pair.Key} {_history.Acknowledged(pair.Key) - pair.Value}")));

    // None has ended early.
    private bool AllRun()
    {
        foreach ((string name, Process process, StringBuilder errors) in _scripts)
        {
            lock (errors) Assert.False(process.HasExited, $"{name} has ended: {errors}");
        }

        return true;
    }

    private void Start(string name, string program, string[] arguments)
    {
        var process = new Process { StartInfo = new ProcessStartInfo(program, arguments) { RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true } };
        var errors = new StringBuilder();
        process.ErrorDataReceived += (_, line) =>
        {
            lock (errors) errors.AppendLine(line.Data);
        };
        process.OutputDataReceived += (_, line) => _said = line.Data ?? _said;
        process.Start();
        process.BeginErrorReadLine();
        process.BeginOutputReadLine();
        _scripts.Add((name, process, errors));
    }

    private async Task WorkByLibrary(Random random)
    {
        await Task.Yield();
        var options = new ConfigurationOptions { AbortOnConnectFail = false, ConnectTimeout = 1_000, AsyncTimeout = TimeoutMs, SyncTimeout = TimeoutMs, BacklogPolicy = BacklogPolicy.FailFast, ConfigCheckSeconds = 2 };
        foreach (string address in _nodes.Addresses) options.EndPoints.Add(address);
        await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync(options);
        IDatabase database = multiplexer.GetDatabase();
        for (int number = 1, pushed = 0; !_end.IsCancellationRequested; number++)
        {
            (string kind, string key, string value) = Draw(random, StackExchange, number, ref pushed);
            long begin = ClusterHistory.Now;
            string outcome = "unknown", error = "-";
            try
            {
                switch (kind)
                {
                    case "set":
                        await database.StringSetAsync(key, value);
                        break;
                    case "push":
                        await database.ListRightPushAsync(key, value);
                        break;
                    case "get":
                        value = (string?)await database.StringGetAsync(key) ?? "-";
                        break;
                    default:
                        value = await database.ListRangeAsync(key) is { Length: > 0 } elements ? string.Join(',', elements) : "-";
                        break;
                }

                outcome = "ok";
            }
            catch (RedisServerException failure)
            {
                // Of a redirect that it cannot follow it tells in its own words.
                error = failure.Message.Split(' ')[0] is var word && word.All(char.IsAsciiLetterUpper) ? word : "library:" + nameof(RedisServerException);
            }
            catch (Exception failure) when (failure is RedisException or TimeoutException)
            {
                error = "library:" + failure.GetType().Name;
            }

            _history.Write(StackExchange, key, kind, value, begin, outcome, error: error);
            await Task.Delay(outcome == "ok" ? PauseMs : 10 * PauseMs);
        }
    }

    // A program for each command, as in a shell.
    private void WorkByCli(Random random)
    {
        string program = OracleProgram.Cli;
        for (int number = 1, pushed = 0; !_end.IsCancellationRequested; number++)
        {
            (string kind, string key, string value) = Draw(random, RedisCli, number, ref pushed);
            NodePlace place = _nodes.PlaceOf(random.Next(_nodes.Count));
            string[] command = kind switch { "set" => ["SET", key, value], "push" => ["RPUSH", key, value], "get" => ["GET", key], _ => ["LRANGE", key, "0", "-1"] };
            long begin = ClusterHistory.Now;
            (string output, bool succeeded) = RunCli(program, ["-c", "-e", "-h", place.Address.ToString(), "-p", place.Port.ToString(CultureInfo.InvariantCulture), .. command]);
            string outcome = succeeded ? "ok" : "unknown", error = succeeded ? "-" : output.Split(' ', 2)[0].Trim();
            if (succeeded && kind is "get" or "range") value = output.Trim().Length == 0 ? "-" : output.Trim().Replace('\n', ',');
            if (error.Length == 0 || error == "Could" || error == "Error:") error = "connection";
            _history.Write(RedisCli, key, kind, value, begin, outcome, error: error);
            _end.Token.WaitHandle.WaitOne(PauseOfCliMs);
        }
    }

    private static (string Output, bool Succeeded) RunCli(string program, string[] arguments)
    {
        using Process process = Process.Start(new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true })!;
        Task<string> output = process.StandardOutput.ReadToEndAsync(), errors = process.StandardError.ReadToEndAsync();
        if (!process.WaitForExit(2 * TimeoutMs)) process.Kill(entireProcessTree: true);
        process.WaitForExit();
        string text = output.GetAwaiter().GetResult() + errors.GetAwaiter().GetResult();
        return (text, process.ExitCode == 0);
    }

    // What a client does next: the scripts draw alike.
    private (string Kind, string Key, string Value) Draw(Random random, string name, int number, ref int pushed)
    {
        string value = string.Create(CultureInfo.InvariantCulture, $"{name}:{number}"), reads = _names[random.Next(_names.Length)];
        return random.Next(10) switch
        {
            < 4 => ("set", string.Create(CultureInfo.InvariantCulture, $"{name}:v:{random.Next(ValuesCount)}"), value),
            < 6 => ("push", string.Create(CultureInfo.InvariantCulture, $"{name}:l:{pushed++ / PushesPerList}"), value),
            < 9 => ("get", string.Create(CultureInfo.InvariantCulture, $"{reads}:v:{random.Next(ValuesCount)}"), "-"),
            _ => ("range", string.Create(CultureInfo.InvariantCulture, $"{name}:l:{pushed / PushesPerList}"), "-"),
        };
    }
}
