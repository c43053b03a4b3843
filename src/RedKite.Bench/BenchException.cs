namespace RedKite.Bench;

/// <summary>The load cannot run; the message, one line, states why. Carries the program's exit status.</summary>
internal sealed class BenchException(string message, int exitStatus) : Exception(message)
{
    /// <summary>Exit status of a failed run.</summary>
    internal const int RunFailed = 1;

    /// <summary>Exit status of invalid options.</summary>
    internal const int WrongOptions = 2;

    internal int ExitStatus { get; } = exitStatus;
}
