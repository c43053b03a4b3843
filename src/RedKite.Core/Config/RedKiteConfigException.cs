namespace RedKite;

/// <summary>
/// A configuration that cannot be used. The message has one line for each fault, with the place (file and line, "arguments" or "options"), the
/// directive, and what is allowed. The program prints it and exits with status 1.
/// </summary>
public sealed class RedKiteConfigException : Exception
{
    /// <summary>A configuration that cannot be used for a reason that is not said.</summary>
    public RedKiteConfigException() : this("the configuration cannot be used")
    {
    }

    /// <summary>A configuration with one fault.</summary>
    public RedKiteConfigException(string message) : base(message) => Faults = [message];

    /// <summary>A configuration with one fault, which another exception has revealed.</summary>
    public RedKiteConfigException(string message, Exception inner) : base(message, inner) => Faults = [message];

    internal RedKiteConfigException(IReadOnlyList<string> faults) : base(string.Join('\n', faults)) => Faults = faults;

    /// <summary>Everything that is wrong, one line each; at least one.</summary>
    public IReadOnlyList<string> Faults { get; }
}
