using System.Globalization;

namespace RedKite.Figures.Types;

/// <summary>Pins the calling thread, which must be the main thread, to the load's cores until disposal.</summary>
internal sealed class PinnedThread : IDisposable
{
    internal PinnedThread() => Pin(Machine.LoadCpus);

    public void Dispose() => Pin(string.Create(CultureInfo.InvariantCulture, $"0-{Machine.Cores - 1}"));

    // The main thread's id is the process's id, and taskset changes one thread only.
    private static void Pin(string cpus)
    {
        if (ExternalProgram.Find("taskset") is { } taskset) ExternalProgram.Run(taskset, ["-p", "-c", cpus, Environment.ProcessId.ToString(CultureInfo.InvariantCulture)]);
    }
}
