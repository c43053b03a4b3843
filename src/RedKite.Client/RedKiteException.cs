using System.Text;

namespace RedKite;

/// <summary>A command's error reply.</summary>
public sealed class RedKiteException : Exception
{
    /// <param name="errorClass">The error's class: ERR, WRONGTYPE, OOM, ...</param>
    /// <param name="message">The whole text, which begins with the class.</param>
    public RedKiteException(string errorClass, string message)
        : base(message) => ErrorClass = errorClass;

    /// <summary>The error's class, the first word of its text: ERR, WRONGTYPE, OOM, NOSCRIPT, READONLY, ...</summary>
    public string ErrorClass { get; }

    internal static RedKiteException Of(ReadOnlySpan<byte> text)
    {
        string message = Encoding.UTF8.GetString(text);
        int end = message.IndexOf(' ', StringComparison.Ordinal);
        return new RedKiteException(end < 0 ? message : message[..end], message);
    }
}
