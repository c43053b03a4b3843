using RedKite.Server.Model;

namespace RedKite.Server.Loops;

/// <summary>
/// Makes every loop see a changed user. Until all have, no command takes the short path, so that the check of the invoker, which
/// reads the user's current permissions, decides about every command. A batch that a loop has begun is finished.
/// </summary>
internal sealed class UserChanges(AttentionWord attention, Func<SessionLoop[]> currentLoops)
{
    private readonly Lock _counting = new();
    private int _awaited; // loops that have not seen a change yet

    /// <summary>Announces that a user's permissions have changed. From any thread.</summary>
    internal void Begin(User user)
    {
        SessionLoop[] loops = currentLoops();
        if (loops.Length == 0) return; // not started yet
        lock (_counting)
        {
            _awaited += loops.Length;
            attention.Set(ServerAttention.UsersChange, on: true);
        }

        foreach (SessionLoop loop in loops)
        {
            loop.Loop.Post(() =>
            {
                loop.NoteUser(user);
                End();
            });
        }
    }

    private void End()
    {
        lock (_counting)
        {
            if (--_awaited == 0) attention.Set(ServerAttention.UsersChange, on: false);
        }
    }
}
