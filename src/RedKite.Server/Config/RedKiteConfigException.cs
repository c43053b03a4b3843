namespace RedKite;

/// <summary>
/// A configuration that cannot be used. The message is one line with the place (file and line, or "arguments"), the
/// directive, and what is allowed. The program prints it and exits with status 1.
/// </summary>
public sealed class RedKiteConfigException : Exception
{
    public RedKiteConfigException() : this("the configuration cannot be used")
    {
    }

    public RedKiteConfigException(string message) : base(message)
    {
    }

    public RedKiteConfigException(string message, Exception inner) : base(message, inner)
    {
    }
}
