using RedKite.Protocol;

namespace RedKite.Figures.Names;

/// <summary>A way of looking up names, as a struct, so that each step has a loop of its own without an indirect call.</summary>
internal interface INameStep
{
    /// <summary>The name's number, or -1.</summary>
    int Find(string name);
}

/// <summary>A step of the table and its measurement.</summary>
internal abstract class LookupStep(string name)
{
    /// <summary>The steps in the order of docs/name-lookup.md, which have learned nothing yet; the last one is what RedKite uses.</summary>
    internal static IReadOnlyList<LookupStep> NewSteps() =>
    [
        new Measured<InsensitiveStep>("case-insensitive dictionary", new InsensitiveStep(NameSet.Names)),
        new Measured<ExactFirstStep>("exact match first", new ExactFirstStep(NameSet.Names)),
        new Measured<LearnedStep>("learned on the fly", new LearnedStep(NameSet.Names)),
        new Measured<ConcurrentStep>("concurrent dictionary", new ConcurrentStep(NameSet.Names)),
        new Measured<DirectStep>("direct comparison", new DirectStep(NameSet.Names)),
        new Measured<HappyStep>("small method for the happy case", new HappyStep(NameSet.Names)),
        new Measured<NameLookupStep>("NameLookup", new NameLookupStep(NameSet.Names)),
    ];

    internal string Name => name;

    /// <summary>The calls that all threads together make in this time.</summary>
    internal abstract double CountCalls(int threads, TimeSpan duration, bool mixed = true);

    /// <summary>The number of a name, through the step.</summary>
    internal abstract int Find(string text);

    private sealed class Measured<TStep>(string name, TStep step) : LookupStep(name)
        where TStep : struct, INameStep
    {
        private volatile bool _isOver;

        internal override int Find(string text) => step.Find(text);

        internal override double CountCalls(int threads, TimeSpan duration, bool mixed = true)
        {
            _isOver = false;
            long[] calls = new long[threads];
            using var start = new Barrier(threads + 1);
            Thread[] running = [.. Enumerable.Range(0, threads).Select(thread => new Thread(() => calls[thread] = Call(NameSet.CallsOf(thread, mixed), start)))];
            foreach (Thread thread in running) thread.Start();
            start.SignalAndWait();
            long began = System.Diagnostics.Stopwatch.GetTimestamp();
            Thread.Sleep(duration);
            _isOver = true;
            double seconds = System.Diagnostics.Stopwatch.GetElapsedTime(began).TotalSeconds;
            foreach (Thread thread in running) thread.Join();
            // With more threads than cores the sleep may end late, and the calls with it.
            return calls.Sum() / seconds * duration.TotalSeconds;
        }

        private long Call(string[] names, Barrier start)
        {
            start.SignalAndWait();
            TStep mine = step;
            long calls = 0;
            while (!_isOver)
            {
                int found = 0;
                foreach (string text in names) found += mine.Find(text) >= 0 ? 1 : 0;
                if (found != names.Length) throw new CannotMeasureException($"{Name} did not find a name");
                calls += names.Length;
            }

            return calls;
        }
    }

    /// <summary>The lookup that RedKite uses for commands and settings.</summary>
    private readonly struct NameLookupStep : INameStep
    {
        private readonly NameLookup<int> _lookup = new();

        internal NameLookupStep(string[] names)
        {
            for (int i = 0; i < names.Length; i++) _lookup.TryAdd(names[i], i);
        }

        public int Find(string name) => _lookup.TryGetValue(name, out int number) ? number : -1;
    }
}
