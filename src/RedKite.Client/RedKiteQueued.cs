namespace RedKite;

/// <summary>The reply to a command of a batch or transaction, once that was executed.</summary>
public class RedKiteQueued
{
    private const string NotYet = "The command was not executed: execute its batch or transaction first.";

    private RedKiteReply? _reply;
    private string _missing = NotYet;

    internal RedKiteQueued()
    {
    }

    /// <summary>Whether the command was executed.</summary>
    public bool HasReply => _reply is not null;

    /// <summary>The reply; an error is a reply, not an exception.</summary>
    /// <exception cref="InvalidOperationException">The command was not executed: its batch was not, or a watched key had changed; the message says which.</exception>
    public RedKiteReply Reply
    {
        get => _reply ?? throw new InvalidOperationException(_missing);
        internal set => _reply = value;
    }

    /// <summary>There will be no reply.</summary>
    /// <param name="reason">Why, as a sentence.</param>
    internal void Refuse(string reason) => _missing = reason;
}

/// <summary>The reply to a command of a batch or transaction, with what the typed client's method of the same name returns.</summary>
/// <typeparam name="T">What it returns.</typeparam>
public sealed class RedKiteQueued<T> : RedKiteQueued
{
    private readonly Func<RedKiteReply, T> _read;
    private (bool IsRead, T Value) _value;

    internal RedKiteQueued(Func<RedKiteReply, T> read) => _read = read;

    /// <summary>The result.</summary>
    /// <exception cref="RedKiteException">The reply is an error.</exception>
    /// <exception cref="InvalidOperationException">The command was not executed: its batch was not, or a watched key had changed; the message says which.</exception>
    public T Value
    {
        get
        {
            if (!_value.IsRead) _value = (true, _read(Reply.OrThrow()));
            return _value.Value;
        }
    }
}
