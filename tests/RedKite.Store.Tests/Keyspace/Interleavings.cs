namespace RedKite.Store.Tests.Keyspace;

/// <summary>
/// Threads of a model, as iterators. The code between two yields is one atomic step; a yield says when the next step can
/// be taken. The interleavings of the steps are explored by <see cref="Interleavings"/>.
/// </summary>
internal abstract class ThreadModel(Schedule schedule)
{
    /// <summary>The threads, each of which has to come to its end.</summary>
    internal List<IEnumerator<Step>> Threads { get; } = [];

    /// <summary>Steps that happen spontaneously, such as a store that becomes visible. It never ends.</summary>
    internal List<IEnumerator<Step>> Background { get; } = [];

    /// <summary>What must be true when all threads have ended.</summary>
    internal virtual void CheckEnd()
    {
    }

    /// <summary>Decides something that the model leaves open, such as whether time has passed.</summary>
    protected bool Maybe() => schedule.Choose(2) == 1;

    protected int Choose(int count) => schedule.Choose(count);

    protected static Step Now => default;

    protected static Step When(Func<bool> ready) => new(ready);

    protected static void Check(bool condition, string otherwise)
    {
        if (!condition) throw new ModelViolationException(otherwise);
    }
}

/// <summary>The next step of a thread: it can be taken when a condition holds, or at once.</summary>
internal readonly struct Step(Func<bool>? ready)
{
    internal bool IsReady => ready is null || ready();
}

/// <summary>A schedule violates the model's invariant. The message has the choices that lead there.</summary>
internal sealed class ModelViolationException(string message) : Exception(message);

/// <summary>The choices of one execution: given ones first, then by chance or the first possible.</summary>
internal sealed class Schedule(IReadOnlyList<int> prefix, Random? random)
{
    internal List<(int Choice, int Count)> Choices { get; } = [];

    internal int Choose(int count)
    {
        if (count == 1) return 0;
        int at = Choices.Count;
        int choice = at < prefix.Count ? prefix[at] : random?.Next(count) ?? 0;
        Choices.Add((choice, count));
        return choice;
    }

    public override string ToString() => string.Join(' ', Choices.Select(choice => choice.Choice));
}

/// <summary>Runs models under many schedules, and finds those in which threads wait for ever.</summary>
internal static class Interleavings
{
    private const int StepsMax = 20_000;

    /// <summary>Runs random schedules. Each model gets its own seed.</summary>
    internal static void ExploreRandomly(int schedules, Func<Schedule, int, ThreadModel> create)
    {
        for (int i = 0; i < schedules; i++)
        {
            int number = i;
            var schedule = new Schedule([], new Random(i));
            Run(schedule, each => create(each, number), preemptionsMax: int.MaxValue, $"seed {i}");
        }
    }

    /// <summary>Runs every schedule in which at most a given number of threads are interrupted where they could continue.</summary>
    /// <returns>How many there were.</returns>
    internal static int ExploreAll(int preemptionsMax, Func<Schedule, ThreadModel> create)
    {
        int count = 0;
        int[]? prefix = [];
        while (prefix is not null)
        {
            var schedule = new Schedule(prefix, random: null);
            Run(schedule, create, preemptionsMax, "all");
            count++;
            prefix = NextPrefix(schedule.Choices);
        }

        return count;
    }

    // The last choice that has an alternative left takes it; later choices start over.
    private static int[]? NextPrefix(List<(int Choice, int Count)> choices)
    {
        for (int i = choices.Count - 1; i >= 0; i--)
        {
            if (choices[i].Choice + 1 < choices[i].Count) return [.. choices.Take(i).Select(choice => choice.Choice), choices[i].Choice + 1];
        }

        return null;
    }

    private static void Run(Schedule schedule, Func<Schedule, ThreadModel> create, int preemptionsMax, string origin)
    {
        try
        {
            ThreadModel model = create(schedule);
            var alive = new List<IEnumerator<Step>>();
            foreach (IEnumerator<Step> thread in model.Threads)
            {
                if (thread.MoveNext()) alive.Add(thread);
            }

            foreach (IEnumerator<Step> background in model.Background) background.MoveNext();
            var ready = new List<IEnumerator<Step>>();
            IEnumerator<Step>? last = null;
            for (int steps = 0; alive.Count > 0; steps++)
            {
                if (steps == StepsMax) throw new ModelViolationException("The threads go on for ever.");
                ready.Clear();
                foreach (IEnumerator<Step> thread in alive)
                {
                    if (thread.Current.IsReady) ready.Add(thread);
                }

                bool lastIsReady = last is not null && ready.Contains(last);
                if (lastIsReady && preemptionsMax == 0)
                {
                    ready.Clear();
                    ready.Add(last!);
                }
                else if (lastIsReady)
                {
                    // First choice: to go on. So what is explored first has the fewest interruptions.
                    ready.Remove(last!);
                    ready.Insert(0, last!);
                }

                int threads = ready.Count;
                foreach (IEnumerator<Step> background in model.Background)
                {
                    if (background.Current.IsReady) ready.Add(background);
                }

                if (ready.Count == 0) throw new ModelViolationException($"{alive.Count} threads wait for ever.");
                int index = schedule.Choose(ready.Count);
                IEnumerator<Step> next = ready[index];
                if (index < threads)
                {
                    if (lastIsReady && next != last) preemptionsMax--;
                    last = next;
                }

                if (!next.MoveNext()) alive.Remove(next);
            }

            model.CheckEnd();
        }
        catch (ModelViolationException violation)
        {
            throw new ModelViolationException($"{violation.Message} ({origin}; choices: {schedule})");
        }
    }
}
