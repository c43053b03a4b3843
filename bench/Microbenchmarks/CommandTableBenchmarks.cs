using BenchmarkDotNet.Attributes;
using RedKite.Protocol;
using RedKite.Server.Commands;
using RedKite.Server.Model;

namespace RedKite.Microbenchmarks;

/// <summary>Command lookup by name: the table, and <see cref="NameLookup{TValue}"/> over the same names.</summary>
public class CommandTableBenchmarks
{
    private const int Calls = 64;

    private readonly CommandTable _table = new(CommandFamilies.All);
    private readonly NameLookup<Command> _lookup = new();
    private byte[][] _names = [];

    [Params("GET SET", "mixed", "UNKNOWN")]
    public string Names { get; set; } = "";

    [GlobalSetup]
    public void Setup()
    {
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
