using System.Diagnostics;

namespace RedKite.Figures.Replication;

/// <summary>Pins the calling thread to a core, and with it the threads that it starts meanwhile.</summary>
internal readonly struct CoreOfThisThread : IDisposable
{
    private readonly nint _before;

    private CoreOfThisThread(nint before) => _before = before;

    internal static CoreOfThisThread Pin(int core)
    {
        if (!OperatingSystem.IsLinux()) return default;
        using Process process = Process.GetCurrentProcess();
        nint before = process.ProcessorAffinity;
        process.ProcessorAffinity = 1 << core; // on Linux that of the main thread, which measures
        return new CoreOfThisThread(before);
    }

    public void Dispose()
    {
        if (!OperatingSystem.IsLinux()) return;
        using Process process = Process.GetCurrentProcess();
        process.ProcessorAffinity = _before;
    }
}
