namespace RedKite.Server.Config;

/// <summary>
/// A configuration that cannot be used. The message is exactly one line that names where (file and line, or the
/// arguments), the directive and what is allowed: print it and exit with code 1.
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
