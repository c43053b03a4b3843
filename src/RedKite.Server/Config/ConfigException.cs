namespace RedKite.Server.Config;

/// <summary>
/// A configuration that cannot be used. The message is one line with the place (file and line, or "arguments"), the
/// directive, and what is allowed. The program prints it and exits with status 1.
/// </summary>
public sealed class ConfigException : Exception
{
    public ConfigException() : this("the configuration cannot be used")
    {
    }

    public ConfigException(string message) : base(message)
    {
    }

    public ConfigException(string message, Exception inner) : base(message, inner)
    {
    }
}
