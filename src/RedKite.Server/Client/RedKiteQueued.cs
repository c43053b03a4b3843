namespace RedKite;

/// <summary>The reply to a command of a batch or transaction, once that was executed.</summary>
public class RedKiteQueued
{
    private RedKiteReply? _reply;

    internal RedKiteQueued()
    {
    }

    /// <summary>Whether the command was executed.</summary>
    public bool HasReply => _reply is not null;

    /// <summary>The reply; an error is a reply, not an exception.</summary>
    /// <exception cref="InvalidOperationException">The command was not executed: its batch was not, or a watched key had changed.</exception>
    public RedKiteReply Reply
    {
        get => _reply ?? throw new InvalidOperationException("The command was not executed.");
        internal set => _reply = value;
    }
}

/// <summary>The reply to a command of a batch or transaction, with what the typed client's method of the same name returns.</summary>
/// <typeparam name="T">What it returns.</typeparam>
public sealed class RedKiteQueued<T> : RedKiteQueued
{
    private readonly Func<RedKiteReply, T> _read;

    internal RedKiteQueued(Func<RedKiteReply, T> read) => _read = read;

    /// <summary>The result.</summary>
    /// <exception cref="RedKiteException">The reply is an error.</exception>
    /// <exception cref="InvalidOperationException">The command was not executed: its batch was not, or a watched key had changed.</exception>
    public T Value => _read(Reply.OrThrow());
}
