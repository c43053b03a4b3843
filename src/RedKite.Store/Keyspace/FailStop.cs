namespace RedKite.Store.Keyspace;

/// <summary>
/// Ends the process when an exception escapes while stripes are locked. A half-made change must not be seen by other
/// commands, and a stripe that stays locked would hang them; so the failing thread writes a crash report and ends the
/// process, in an embedding host too.
/// </summary>
/// <remarks>
/// It is called from an exception filter, which runs on the failing stack, before any <c>finally</c> releases a lock:
/// <code>
/// try { command.Handler(ref cmd); }
/// catch (Exception failure) when (keyspace.FailStop.Ends(failure, locked.Held, command.Name)) { throw; }
/// </code>
/// There is one such filter for each way into execution, at the place that knows what is held; handlers have none.
/// </remarks>
internal sealed class FailStop
{
    private const int CallbackMillisecondsMax = 5_000;

    // A reserve for the report in case the heap is exhausted.
    private const int ReserveBytes = 64 * 1024;

    private byte[]? _reserve = new byte[ReserveBytes];
    private PreparedReport[] _prepared = [];
    private int _ending;
    private TextWriter? _errors; // receives the report's path; null: standard error
    private Action<string, Exception> _terminate = Environment.FailFast;

    /// <summary>The folder of the crash report.</summary>
    internal string Folder { get; private set; } = Path.GetTempPath();

    /// <summary>The product's version, for the report.</summary>
    internal string Version { get; private set; } = "";

    /// <summary>
    /// The host's callback: runs on a separate thread for at most five seconds, while the stripes are still locked.
    /// </summary>
    internal event Action<CrashReport>? Ending;

    /// <summary>A test stands in for the process: the exception propagates when that has been told to end.</summary>
    /// <param name="errors">In place of standard error.</param>
    /// <param name="terminate">In place of ending the process.</param>
    internal void StandIn(TextWriter errors, Action<string, Exception> terminate) => (_errors, _terminate) = (errors, terminate);

    /// <summary>Sets what the report says and where, and makes the report that is written when the heap is exhausted.</summary>
    internal void Prepare(string folder, string version)
    {
        Folder = folder;
        Version = version;
        _prepared = [new PreparedReport(folder, version), new PreparedReport(Path.GetTempPath(), version)];
    }

    /// <summary>
    /// Ends the process, unless no stripe is locked. An exception filter: it is never true.
    /// </summary>
    /// <param name="failure">The exception that escapes.</param>
    /// <param name="held">The stripes that the current thread has locked.</param>
    /// <param name="command">The command that is being executed, or other work of the thread, if known.</param>
    internal bool Ends(Exception failure, StripeSet held, string? command)
    {
        if (!held.IsEmpty) End(failure, held, command);
        return false;
    }

    /// <summary>Ends the process, whether keys are locked or not.</summary>
    /// <param name="failure">The exception that cannot be handled.</param>
    /// <param name="held">The stripes that the current thread has locked.</param>
    /// <param name="command">The command that is being executed, or other work of the thread, if known.</param>
    internal void End(Exception failure, StripeSet held, string? command)
    {
        // Another thread is already here; this one must not continue either.
        if (Interlocked.Exchange(ref _ending, 1) != 0) Thread.Sleep(Timeout.Infinite);
        string? message = null;
        try
        {
            Volatile.Write(ref _reserve, null);
            CrashReport report = CrashReport.Of(failure, held, command, Version);
            report.Write(Folder);
            message = report.Path is null ? report.Text : $"RedKite: an exception escaped while keys were locked. Crash report: {report.Path}";
            (_errors ?? Console.Error).WriteLine(message);
            RunCallback(report);
        }
#pragma warning disable CA1031 // There may be no memory, no disk and no standard error: the process ends nevertheless.
        catch (Exception)
#pragma warning restore CA1031
        {
        }
        finally
        {
            _terminate(message ?? WritePrepared(command), failure);
        }

        Volatile.Write(ref _ending, 0);
    }

    // The report could not be made, so from here on nothing is allocated.
    private string WritePrepared(string? command)
    {
        try
        {
            foreach (PreparedReport report in _prepared)
            {
                if (report.TryWrite(command)) return report.Message;
            }
        }
#pragma warning disable CA1031 // Not on Linux, where writing allocates nothing: the process ends nevertheless.
        catch (Exception)
#pragma warning restore CA1031
        {
        }

        return "RedKite: an exception escaped while keys were locked.";
    }

    // Not on this thread: a callback that uses the server would wait for the stripes that this one holds.
    private void RunCallback(CrashReport report)
    {
        if (Ending is not { } callback) return;
        var thread = new Thread(() =>
        {
            try
            {
                callback(report);
            }
#pragma warning disable CA1031 // It is the host's, and the process ends in any case.
            catch (Exception)
#pragma warning restore CA1031
            {
            }
        })
        { IsBackground = true, Name = "redkite-fail-stop" };
        thread.Start();
        thread.Join(CallbackMillisecondsMax);
    }
}
