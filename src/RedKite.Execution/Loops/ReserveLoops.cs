using System.Net.Sockets;
using RedKite.Net;
using RedKite.Server.Logging;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Loops;

/// <summary>
/// Serves clients while a script is busy. The loop that runs the script cannot serve any until it ends, and it may be the one that accepts connections
/// (the others do not wait for its keys any more: <see cref="ScriptMutex.NoteBusy"/>). So a reserve loop accepts new connections and takes over the idle clients
/// of the script's loop; its clients get BUSY, and may end the script. When the script has ended, the reserve's clients go to the
/// script's loop as soon as they are idle. Clients that are on their way to the script's loop, as new ones or as those of an earlier
/// script's reserve, go to the reserve.
/// </summary>
/// <remarks>
/// Clients that are subscribed, tracked, blocked, encrypted, or in the middle of something stay where they are, in both directions, and .NET's sockets
/// cannot move a connection. A reserve that keeps clients is not used for the next script. The number of connections that it accepts is
/// limited, because they are better served by the other loops afterwards.
/// </remarks>
/// <param name="newLoop">Makes a loop that is not started.</param>
/// <param name="current">The loop of the calling thread; null: it belongs to no loop, such as a caller in the process.</param>
/// <param name="listeners">The listeners.</param>
internal sealed class ReserveLoops(Func<SessionLoop> newLoop, Func<SessionLoop?> current, Func<IEnumerable<ListeningSocket>> listeners, ServerLog log)
{
    private const int LoopsMax = 4;
    private const int ConnectionsMax = 64;

    private readonly List<SessionLoop> _loops = []; // used by the thread of the running script alone
    private SessionLoop? _serving; // and these
    private SessionLoop? _relieved;
    private volatile EventLoop? _accepting;
    private volatile int _movedCount;

    /// <summary>The loop for new connections while a script is busy; null: the loops share them as usual.</summary>
    internal EventLoop? Accepting => _accepting is { } loop && loop.ConnectionCount - _movedCount < ConnectionsMax ? loop : null;

    /// <summary>
    /// Begins to serve clients elsewhere, because a script is busy. On its thread, when commands get BUSY already: the reserve must not
    /// wait for the script's keys.
    /// </summary>
    internal void Begin(RunningScript.Run run)
    {
        SessionLoop? reserve = _loops.Find(loop => loop.Loop.ConnectionCount == 0);
        if (reserve is null && _loops.Count == LoopsMax)
        {
            log.OfClient(LogEvents.ReserveLoopsInUse, isWarning: true, $"A script runs long, and all {LoopsMax} reserve loops have clients: new connections may wait until it ends. It is ", run.Name);
            return;
        }

        if (reserve is null)
        {
            try
            {
                reserve = newLoop();
            }
            catch (Exception failure) when (failure is SocketException or IOException)
            {
                log.OfClient(LogEvents.ReserveLoopsInUse, isWarning: true, $"A script runs long, and no reserve loop can begin ({failure.Message}): new connections may wait until it ends. It is ", run.Name);
                return;
            }

            _loops.Add(reserve);
            reserve.Loop.Start();
        }

        _serving = reserve;
        _relieved = current();
        EventLoop accepting = reserve.Loop;
        accepting.Post(reserve.EndReturn);
        _movedCount = _relieved?.BeginRelief(reserve) ?? 0;
        _accepting = accepting;
        if (accepting.AcceptsBeside) return;
        accepting.Post(() =>
        {
            foreach (ListeningSocket listener in listeners()) accepting.Listen(listener);
        });
    }

    /// <summary>Stops serving clients elsewhere, because the script has ended. On its thread.</summary>
    internal void End()
    {
        if (_accepting is not { } accepting) return;
        _accepting = null;
        if (!accepting.AcceptsBeside) accepting.Post(accepting.StopListening);
        if (_relieved is not { } relieved) return;
        relieved.EndRelief();
        SessionLoop reserve = _serving!;
        accepting.Post(() => reserve.BeginReturn(relieved));
    }
}
