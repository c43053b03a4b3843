namespace RedKite.Server.Client;

/// <summary>
/// Whether this thread executes a custom command, whose keys are locked. A call of any client would lock further ones, out of order: it could wait for a thread that
/// waits for this one.
/// </summary>
internal static class LockedKeys
{
    [ThreadStatic]
    private static bool _areHeld;

    internal const string Message = "A custom command runs with its keys locked, so it must not call a server through a client or session: use the command's own RedKiteCommandKeys.";

    /// <returns>Whether it is the outermost one of the thread, which calls <see cref="End"/>.</returns>
    internal static bool Begin()
    {
        if (_areHeld) return false;
        _areHeld = true;
        CallerPool.ForgetThread();
        return true;
    }

    internal static void End() => _areHeld = false;

    /// <exception cref="InvalidOperationException">The thread executes a custom command.</exception>
    internal static void ThrowIfHeld()
    {
        if (_areHeld) throw new InvalidOperationException(Message);
    }
}
