using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

namespace RedKite.Figures;

/// <summary>
/// A started server process and its temporary folder. Disposal, or the program's exit at the latest, kills the process and
/// deletes the folder. Killing loses nothing, because the server only holds data of the measurement.
/// </summary>
internal sealed class MeasuredProcess : IDisposable
{
    private static readonly TimeSpan StartTimeout = TimeSpan.FromSeconds(30);

    private readonly Process _process;
    private readonly string _folder;
    private int _disposals;

    internal MeasuredProcess(Process started, string folder)
    {
        _process = started;
        _folder = folder;
        AppDomain.CurrentDomain.ProcessExit += OnProgramExit;
    }

    internal int Id => _process.Id;

    /// <summary>User and system time of all threads, including ended ones.</summary>
    internal TimeSpan Cpu
    {
        get
        {
            _process.Refresh();
            return _process.TotalProcessorTime;
        }
    }

    internal static int FindFreePort()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return ((IPEndPoint)listener.LocalEndpoint).Port;
    }

    /// <summary>Waits until the server replies to a PING, perhaps that it is loading; false if it exits or the time is over.</summary>
    internal bool WaitForReply(int port, int pollMs)
    {
        var waiting = Stopwatch.StartNew();
        while (waiting.Elapsed < StartTimeout && !_process.HasExited)
        {
            try
            {
                using var connection = new SetupConnection(port);
                connection.Run("PING");
                return true;
            }
            catch (CannotMeasureException loading) when (loading.Message.Contains("LOADING", StringComparison.Ordinal))
            {
                return true;
            }
            catch (Exception notYet) when (notYet is SocketException or IOException)
            {
                Thread.Sleep(pollMs);
            }
        }

        return false;
    }

    public void Dispose()
    {
        // An interrupted run arrives here twice at once, from the signal's thread and from its own.
        if (Interlocked.Exchange(ref _disposals, 1) != 0) return;
        AppDomain.CurrentDomain.ProcessExit -= OnProgramExit;
        _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private void OnProgramExit(object? sender, EventArgs arguments) => Dispose();
}
