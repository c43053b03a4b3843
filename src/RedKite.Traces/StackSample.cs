namespace RedKite.Traces;

/// <summary>A thread's activity at the time of a sample.</summary>
internal enum SampledState
{
    /// <summary>Running managed code, or any code in a profile that only samples running threads.</summary>
    Running,

    /// <summary>In a system call or native code that works (send, receive), according to the innermost frame.</summary>
    InCall,

    /// <summary>Waiting for events, a lock or a timer.</summary>
    Waiting,
}

/// <summary>One stack of one thread.</summary>
/// <param name="Thread">The thread's name and id.</param>
/// <param name="Frames">Method names, outermost first.</param>
internal sealed record StackSample(string Thread, SampledState State, IReadOnlyList<string> Frames);
