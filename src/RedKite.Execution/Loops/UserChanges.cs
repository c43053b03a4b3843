using RedKite.Server.Execution;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Loops;

/// <summary>
/// Makes every loop see a changed user. Until all have, no command takes the short path, so that the check of the invoker, which
/// reads the user's current permissions, decides about every command. A batch that a loop has begun is finished. Subscribers to channels
/// that the user may no longer access are closed.
/// </summary>
internal sealed class UserChanges(Engine engine, Func<SessionLoop[]> currentLoops)
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
            engine.Attention.Set(ServerAttention.UsersChange, on: true);
        }

        CloseDenied(user);
        foreach (SessionLoop loop in loops)
        {
            loop.Loop.Post(() =>
            {
                loop.NoteUser(user);
                End();
            });
        }
    }

    // Before the command that has changed the user replies, as in Redis. A client that subscribes meanwhile, by the old permissions, is closed by its loop.
    private void CloseDenied(User user)
    {
        if (user.Permissions is not { AreGone: false } permissions) return;
        long steps = AccessPattern.RequestStepsMax;
        foreach (Session session in engine.Clients.All)
        {
            if (session.User != user || session.Connection is not { } connection || session.Subscriptions is not { Count: > 0 } subscriptions || subscriptions.AreAllowedBy(permissions, ref steps)) continue;
            engine.Note(TimelineKind.ChannelDenied, session);
            if (session.IsExecuting && connection.Loop.IsCurrent)
            {
                session.CloseAfterReply(); // it has changed its own user
                continue;
            }

            session.Blocked?.TryEnd();
            engine.Clients.Kill(session, drops: false);
        }
    }

    private void End()
    {
        lock (_counting)
        {
            if (--_awaited == 0) engine.Attention.Set(ServerAttention.UsersChange, on: false);
        }
    }
}
