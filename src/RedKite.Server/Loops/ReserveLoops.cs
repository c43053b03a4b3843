using RedKite.Net;
using RedKite.Server.Logging;
using RedKite.Server.Sessions;

namespace RedKite.Server.Loops;

/// <summary>
/// While a script runs for long, the loop that runs it and those that wait for its keys serve nobody, the loop that accepts perhaps
/// among them. A loop in reserve accepts new connections then: its clients get BUSY, and may end the script.
/// </summary>
/// <remarks>
/// The clients stay on that loop afterwards, so it is used for a later script only when it has none. Its number of clients is limited,
/// because most that connect meanwhile are better served by the other loops, afterwards.
/// </remarks>
internal sealed class ReserveLoops(Func<SessionLoop> newLoop, Func<IEnumerable<ListeningSocket>> listeners, ServerLog log)
{
    private const int LoopsMax = 4;
    private const int ConnectionsMax = 64;

    private readonly List<SessionLoop> _loops = []; // used by the thread of the running script alone
    private volatile SessionLoop? _accepting;

    /// <summary>The loop that gets new connections while a script is busy; null: none.</summary>
    internal EventLoop? Accepting => _accepting?.Loop;

    /// <summary>A script has begun or ceased to be busy. On the thread that runs it.</summary>
    internal void NoteBusy(RunningScript.Run run)
    {
        if (run.IsBusy) Begin(run);
        else End();
    }

    private void Begin(RunningScript.Run run)
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
            EventLoop started = reserve.Loop;
            started.Chooser = () => ChooseWhileBusy(started);
            _loops.Add(reserve);
            started.Start();
        }

        _accepting = reserve;
        EventLoop loop = reserve.Loop;
        loop.Post(() =>
        {
            foreach (ListeningSocket listener in listeners()) loop.Listen(listener);
        });
    }

    private void End()
    {
        if (_accepting is not { } reserve) return;
        _accepting = null;
        reserve.Loop.Post(reserve.Loop.StopListening);
    }

    // On the loop's thread, for each connection that it accepts.
    private static EventLoop ChooseWhileBusy(EventLoop loop)
    {
        if (loop.ConnectionCount >= ConnectionsMax - 1) loop.StopListening();
        return loop;
    }
}
