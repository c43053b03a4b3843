using RedKite.Server.Config;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics.Actions;

/// <summary>
/// Closes clients whose buffers hold more than `close-hogs-above`: unsent replies and unfinished requests together. A loop checks
/// its clients once a second and closes those that exceed it in two checks in a row, so that a burst that is read at once does not
/// close a client.
/// </summary>
internal sealed class HogClosing(Settings settings, ActionLog actions)
{
    /// <summary>Whether a client is to be closed. Once a second, on its loop.</summary>
    internal bool Closes(Session session, long bufferBytes)
    {
        ulong max = settings.CloseHogsAboveBytes;
        bool isAbove = max > 0 && (ulong)bufferBytes > max;
        bool wasAbove = session.Own.HoldsTooMuch;
        session.Own.HoldsTooMuch = isAbove;
        if (!isAbove || !wasAbove) return false;
        actions.Note(ActionTable.CloseHogs, $"a client was closed, because its buffers held {bufferBytes} bytes", session);
        return true;
    }
}
