using System.Globalization;

namespace RedKite.Figures.Behaviors;

/// <summary>
/// A server with behaviors, as a host would start it: this program in another process ("behavior-server PORT DEPTH"), with the
/// garbage collector and the JIT settings of the redkite program.
/// </summary>
internal static class BehaviorServer
{
    internal const string Verb = "behavior-server";

    /// <summary>RedKite with this many behaviors of a class each; 0: without the chain.</summary>
    internal static ServerKind Kind(string name, int depth) => new(
        name,
        string.Create(CultureInfo.InvariantCulture, $"dotnet '{typeof(BehaviorServer).Assembly.Location}' {Verb} {{port}} {depth}"));

    /// <summary>Serves until the process is killed.</summary>
    internal static async Task RunAsync(int port, int depth)
    {
        var options = new RedKiteOptions { Port = port, Settings = { ["loops"] = "1", ["save"] = "" } };
        foreach (Behavior behavior in Make(depth)) options.Behaviors.Add(behavior);
        await using RedKiteServer server = await RedKiteServer.StartAsync(options);
        await server.Stopped;
    }

    /// <summary>Behaviors of a class each, as in a host: each counts the command after the next one has returned.</summary>
    internal static IEnumerable<Behavior> Make(int depth)
    {
        Type mark = typeof(int);
        for (int i = 0; i < depth; i++)
        {
            yield return (Behavior)Activator.CreateInstance(typeof(Counting<>).MakeGenericType(mark))!;
            mark = typeof(Mark<>).MakeGenericType(mark);
        }
    }

    private readonly struct Mark<T>;

    private sealed class Counting<TMark> : Behavior
    {
        internal long Calls;

        public override void Invoke(ref CommandCall call)
        {
            Next.Invoke(ref call);
            Calls++;
        }
    }
}
