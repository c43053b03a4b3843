using RedKite.Net;
using RedKite.Server.Logging;
using RedKite.Server.Sessions;

namespace RedKite.Server.Loops;

/// <summary>
/// Serves new connections while a script is busy. The loop that runs the script cannot serve anyone until it ends, nor can a loop that waits for
/// its keys, and the loop that accepts connections may be one of them. So a loop in reserve accepts them; its clients get BUSY, and may
/// end the script.
/// </summary>
/// <remarks>
/// The clients stay on that loop when the script has ended, so a reserve that has clients is not used for the next script. The number of
/// its clients is limited, because most clients that connect during the script are better served by the other loops afterwards.
/// </remarks>
internal sealed class ReserveLoops(Func<SessionLoop> newLoop, Func<IEnumerable<ListeningSocket>> listeners, ServerLog log)
{
    private const int LoopsMax = 4;
    private const int ConnectionsMax = 64;

    private readonly List<SessionLoop> _loops = []; // used by the thread of the running script alone
    private volatile EventLoop? _accepting;

    /// <summary>The loop for new connections while a script is busy; null: the loops share them as usual.</summary>
    internal EventLoop? Accepting => _accepting is { ConnectionCount: < ConnectionsMax } loop ? loop : null;

    /// <summary>A script runs for long. On its thread.</summary>
    internal void Begin(RunningScript.Run run)
    {
        SessionLoop? reserve = _loops.Find(loop => loop.Loop.ConnectionCount == 0);
        if (reserve is null && _loops.Count == LoopsMax)
        {
            log.Warning($"The script {run.Name} runs long, and all {LoopsMax} loops in reserve have clients: new connections may wait until it ends.");
            return;
        }

        if (reserve is null)
        {
            reserve = newLoop();
            _loops.Add(reserve);
            reserve.Loop.Start();
        }

        EventLoop accepting = reserve.Loop;
        _accepting = accepting;
        if (accepting.AcceptsBeside) return;
        accepting.Post(() =>
        {
            foreach (ListeningSocket listener in listeners()) accepting.Listen(listener);
        });
    }

    /// <summary>The script has ended. On its thread.</summary>
    internal void End()
    {
        if (_accepting is not { } accepting) return;
        _accepting = null;
        if (!accepting.AcceptsBeside) accepting.Post(accepting.StopListening);
    }
}
