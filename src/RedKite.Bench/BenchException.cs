namespace RedKite.Bench;

/// <summary>The load cannot be made; the message, one line, says why. The exit status is the program's.</summary>
internal sealed class BenchException(string message, int exitStatus) : Exception(message)
{
    /// <summary>Exit status of a run that failed.</summary>
    internal const int RunFailed = 1;

    /// <summary>Exit status of wrong options.</summary>
    internal const int WrongOptions = 2;

    internal int ExitStatus { get; } = exitStatus;
}
