using BenchmarkDotNet.Attributes;
using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Microbenchmarks;

/// <summary>Command lookup by name: the table, and <see cref="NameLookup{TValue}"/> over the same names.</summary>
public class CommandTableBenchmarks
{
    private const int Calls = 64;

    private CommandTable _table = null!;
    private readonly NameLookup<Command> _lookup = new();
    private byte[][] _names = [];

    [Params("GET SET", "mixed", "UNKNOWN")]
    public string Names { get; set; } = "";

    [GlobalSetup]
    public void Setup()
    {
        RedKiteServer server = RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } }).GetAwaiter().GetResult();
        _table = server.Engine.Commands;
        server.StopAsync().GetAwaiter().GetResult();
        foreach (Command command in _table.Named) _lookup.TryAdd(command.Name, command);
        string[] names = Names == "mixed" ? [.. _table.Named.Select(command => command.Name)] : Names.Split(' ');
        var random = new Random(1);
        _names = [.. Enumerable.Range(0, Calls).Select(_ => System.Text.Encoding.ASCII.GetBytes(names[random.Next(names.Length)]))];
    }

    [Benchmark(Baseline = true, OperationsPerInvoke = Calls)]
    public int CommandTable()
    {
        int found = 0;
        foreach (byte[] name in _names)
        {
            if (_table.Find(name) is { } command) found += command.Arity;
        }

        return found;
    }

    [Benchmark(OperationsPerInvoke = Calls)]
    public int NameLookup()
    {
        int found = 0;
        foreach (byte[] name in _names)
        {
            if (_lookup.TryGetValue(name, out Command? command)) found += command.Arity;
        }

        return found;
    }
}
