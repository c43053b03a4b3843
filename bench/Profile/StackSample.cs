namespace RedKite.Profile;

/// <summary>What a thread was doing when its stack was taken.</summary>
internal enum ThreadState
{
    /// <summary>It ran managed code; of a profile that samples running threads alone, any code.</summary>
    Running,

    /// <summary>It was in a system call or native code that works (sending, receiving), as far as its innermost frame tells.</summary>
    InCall,

    /// <summary>It waited: for events, a lock, a timer.</summary>
    Waiting,
}

/// <summary>One stack of one thread.</summary>
/// <param name="Thread">The thread's name and id.</param>
/// <param name="Frames">Names of methods, the outermost first.</param>
internal sealed record StackSample(string Thread, ThreadState State, IReadOnlyList<string> Frames);
