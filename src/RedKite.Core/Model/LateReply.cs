namespace RedKite.Server.Model;

/// <summary>
/// Identifies one wait that another thread ends by a reply, and holds that reply for a caller that is only about to wait: the thread that
/// replies sets it and then looks whether the client waits; the client's thread begins to wait and then looks whether it is set. So one of them sees
/// the other, and <see cref="BlockedClient.TryEnd"/> decides between them.
/// </summary>
internal sealed class LateReply
{
    private byte[]? _reply;

    /// <summary>The reply; null: there is none yet.</summary>
    internal byte[]? Reply => Volatile.Read(ref _reply);

    /// <summary>Sets the reply, unless there is one. A full barrier.</summary>
    internal void Set(byte[] reply) => Interlocked.CompareExchange(ref _reply, reply, null);
}
