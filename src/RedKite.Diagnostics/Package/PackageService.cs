using System.Diagnostics;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Logging;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>
/// Builds debug packages on a thread of its own, one at a time, so that neither a loop nor a pool thread waits. A caller reserves a
/// package first, and begins it once it can take the result.
/// </summary>
internal sealed class PackageService(PackageSources sources) : IDisposable
{
    private const int StopSecondsMax = 10;

    private readonly CancellationTokenSource _stopping = new();
    private int _reserved;
    private volatile Thread? _thread;

    /// <summary>Reserves the next package; false: one is being built.</summary>
    internal bool TryReserve() => !_stopping.IsCancellationRequested && Interlocked.CompareExchange(ref _reserved, 1, 0) == 0;

    /// <summary>Ends a reservation that is not used.</summary>
    internal void Release() => Volatile.Write(ref _reserved, 0);

    /// <summary>Builds the package that was reserved.</summary>
    /// <param name="options">What is in it.</param>
    /// <param name="done">Takes the package, or the error, on the package's thread. The next package may begin before it returns.</param>
    internal void Begin(PackageOptions options, Action<byte[]?, string?> done)
    {
        _thread = new Thread(() => Build(options, done)) { Name = "debug-package", IsBackground = true, Priority = ThreadPriority.BelowNormal };
        _thread.Start();
    }

    /// <summary>Cancels the package that is being built, and waits for its thread.</summary>
    public void Dispose()
    {
        _stopping.Cancel();
        if (_thread is { } thread && thread != Thread.CurrentThread) thread.Join(TimeSpan.FromSeconds(StopSecondsMax));
    }

    private void Build(PackageOptions options, Action<byte[]?, string?> done)
    {
        byte[]? package = null;
        string? error = null;
        long start = Stopwatch.GetTimestamp();
        try
        {
            package = DebugPackage.Build(sources, options, _stopping.Token);
            ServerEvents.PackageWritten(package.Length);
            sources.Parts.Core.Log.Notice(LogEvents.PackageBuilt, string.Create(System.Globalization.CultureInfo.InvariantCulture, $"A debug package of {package.Length} bytes was built in {Stopwatch.GetElapsedTime(start).TotalMilliseconds:0} ms."));
        }
#pragma warning disable CA1031 // Whatever fails, the server continues and the caller gets an answer.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            error = _stopping.IsCancellationRequested ? "The server is stopping." : failure.Message;
        }

        Release();
        done(package, error);
    }
}
