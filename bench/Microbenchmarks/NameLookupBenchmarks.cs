using System.Collections.Concurrent;
using System.Collections.Frozen;
using System.Text;
using BenchmarkDotNet.Attributes;
using RedKite.Protocol;

namespace RedKite.Microbenchmarks;

/// <summary>
/// Case-insensitive name lookup against the base library's dictionaries. Each thread uses its own casing of each name; to
/// the lookup an unseen casing costs the same as a known one. The times are one thread's calls while the others make
/// theirs.
/// </summary>
public class NameLookupBenchmarks
{
    private const int Calls = 50_000;

    private readonly Barrier _start = new(1);
    private readonly Barrier _end = new(1);
    private readonly List<Thread> _threads = [];
    private string[][] _casings = [];
    private byte[][][] _utf8Habits = [];
    private NameLookup<string> _lookup = null!;
    private Dictionary<string, string> _dictionary = null!;
    private ConcurrentDictionary<string, string> _concurrent = null!;
    private FrozenDictionary<string, string> _frozen = null!;
    private string[] _missing = [];
    private Action<int>? _work;

    [Params(8, 250, 500_000)]
    public int Names { get; set; }

    [Params(1, 8, 16, 32)]
    public int Threads { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        string[] names = [.. SampleNames(new Random(1))];
        _lookup = new NameLookup<string>();
        foreach (string name in names) _lookup.TryAdd(name, name);
        _dictionary = names.ToDictionary(name => name, StringComparer.OrdinalIgnoreCase);
        _concurrent = new ConcurrentDictionary<string, string>(_dictionary, StringComparer.OrdinalIgnoreCase);
        _frozen = _dictionary.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);
        _missing = [.. Enumerable.Range(0, Calls).Select(i => $"no-{i}")];
        _casings = [.. Enumerable.Range(0, Threads).Select(thread => CasingsOf(names, thread))];
        _utf8Habits = [.. _casings.Select(habits => habits.Select(Encoding.UTF8.GetBytes).ToArray())];
        _start.AddParticipants(Threads);
        _end.AddParticipants(Threads);
        for (int i = 0; i < Threads; i++)
        {
            int number = i;
            var thread = new Thread(() => Serve(number)) { IsBackground = true };
            thread.Start();
            _threads.Add(thread);
        }
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        _work = null;
        _start.SignalAndWait();
        foreach (Thread thread in _threads) thread.Join();
        _threads.Clear();
        _start.RemoveParticipants(Threads);
        _end.RemoveParticipants(Threads);
    }

    [Benchmark(Baseline = true, OperationsPerInvoke = Calls)]
    public void NameLookupOfCharacters() => Run(thread =>
    {
        foreach (string name in _casings[thread]) Check(_lookup.TryGetValue(name, out _));
    });

    [Benchmark(OperationsPerInvoke = Calls)]
    public void NameLookupOfUtf8() => Run(thread =>
    {
        foreach (byte[] name in _utf8Habits[thread]) Check(_lookup.TryGetValue(name, out _));
    });

    [Benchmark(OperationsPerInvoke = Calls)]
    public void NameLookupMiss() => Run(_ =>
    {
        foreach (string name in _missing) Check(!_lookup.TryGetValue(name, out string? _));
    });

    [Benchmark(OperationsPerInvoke = Calls)]
    public void Dictionary() => Run(thread =>
    {
        foreach (string name in _casings[thread]) Check(_dictionary.TryGetValue(name, out _));
    });

    [Benchmark(OperationsPerInvoke = Calls)]
    public void DictionaryBySpan() => Run(thread =>
    {
        Dictionary<string, string>.AlternateLookup<ReadOnlySpan<char>> bySpan = _dictionary.GetAlternateLookup<ReadOnlySpan<char>>();
        foreach (string name in _casings[thread]) Check(bySpan.TryGetValue(name, out _));
    });

    [Benchmark(OperationsPerInvoke = Calls)]
    public void ConcurrentDictionary() => Run(thread =>
    {
        foreach (string name in _casings[thread]) Check(_concurrent.TryGetValue(name, out _));
    });

    [Benchmark(OperationsPerInvoke = Calls)]
    public void FrozenDictionary() => Run(thread =>
    {
        foreach (string name in _casings[thread]) Check(_frozen.TryGetValue(name, out _));
    });

    [Benchmark(OperationsPerInvoke = Calls)]
    public void FrozenDictionaryBySpan() => Run(thread =>
    {
        FrozenDictionary<string, string>.AlternateLookup<ReadOnlySpan<char>> bySpan = _frozen.GetAlternateLookup<ReadOnlySpan<char>>();
        foreach (string name in _casings[thread]) Check(bySpan.TryGetValue(name, out _));
    });

    [Benchmark(OperationsPerInvoke = Calls)]
    public void FrozenDictionaryMiss() => Run(_ =>
    {
        foreach (string name in _missing) Check(!_frozen.TryGetValue(name, out string? _));
    });

    // Every thread makes all the calls; the time is divided by one thread's calls, so contention shows as a longer time.
    private void Run(Action<int> work)
    {
        _work = work;
        _start.SignalAndWait();
        _end.SignalAndWait();
    }

    private void Serve(int thread)
    {
        while (true)
        {
            _start.SignalAndWait();
            if (_work is not { } work) return;
            work(thread);
            _end.SignalAndWait();
        }
    }

    private static void Check(bool expected)
    {
        if (!expected) throw new InvalidOperationException("a lookup failed");
    }

    private HashSet<string> SampleNames(Random random)
    {
        string[] words = "user order item config client buffer output limit max min name value key list set hash stream get put add".Split(' ');
        var names = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        while (names.Count < Names)
        {
            string name = words[random.Next(words.Length)];
            for (int more = random.Next(3); more > 0; more--) name += "-" + words[random.Next(words.Length)];
            names.Add(Names > 250 ? name + random.Next(Names * 4) : name);
        }

        return names;
    }

    private static string[] CasingsOf(string[] names, int thread)
    {
        var random = new Random(thread);
        var favourites = new Dictionary<string, string>();
        var calls = new string[Calls];
        for (int i = 0; i < Calls; i++)
        {
            string name = names[random.Next(names.Length)];
            if (!favourites.TryGetValue(name, out string? favourite))
            {
                favourite = string.Concat(name.Select(c => random.Next(2) == 0 ? char.ToUpperInvariant(c) : c));
                favourites.Add(name, favourite);
            }

            calls[i] = favourite;
        }

        return calls;
    }
}
