using Microsoft.Diagnostics.Tracing.Etlx;
using Microsoft.Diagnostics.Tracing.EventPipe;

namespace RedKite.Traces;

/// <param name="Stacks">In time order.</param>
/// <param name="MethodsCompiled">Methods that the JIT compiled during the profile: many mean that the server was not warm.</param>
internal sealed record SampledProfile(IReadOnlyList<StackSample> Stacks, int MethodsCompiled);

/// <summary>Reads the stacks of a .nettrace file.</summary>
internal static class NetTraceReader
{
    // The frame between a method and its native call has no name; as the innermost frame it is omitted.
    private const string Unknown = "[unknown]";

    /// <param name="threadNames">The known names, by thread id.</param>
    internal static SampledProfile Read(string file, IReadOnlyDictionary<int, string> threadNames)
    {
        string indexed = Path.ChangeExtension(file, ".etlx"); // TraceEvent's own format, which maps addresses to methods
        try
        {
            TraceLog.CreateFromEventPipeDataFile(file, indexed);
            using var log = new TraceLog(indexed);
            using TraceLogEventSource source = log.Events.GetSource();
            List<StackSample> stacks = [];
            int compiled = 0;
            Dictionary<CodeAddressIndex, string> names = [];
            source.Clr.MethodLoadVerbose += method => compiled += method.IsJitted ? 1 : 0;
            new SampleProfilerTraceEventParser(source).ThreadSample += sample =>
            {
                List<string> frames = Frames(sample.CallStack(), names);
                if (frames.Count == 0) return; // a thread of the runtime
                string thread = threadNames.TryGetValue(sample.ThreadID, out string? name) ? $"{name} {sample.ThreadID}" : $"thread {sample.ThreadID}";
                stacks.Add(new StackSample(thread, StateOf(sample.Type, frames[^1]), frames));
            };
            source.Process();
            return new SampledProfile(stacks, compiled);
        }
        finally
        {
            File.Delete(indexed);
        }
    }

    private static SampledState StateOf(ClrThreadSampleType type, string innermost)
    {
        if (type == ClrThreadSampleType.Managed) return SampledState.Running;
        return WaitingMethods.Contains(innermost) ? SampledState.Waiting : SampledState.InCall;
    }

    private static List<string> Frames(TraceCallStack? innermost, Dictionary<CodeAddressIndex, string> names)
    {
        List<string> frames = [];
        for (TraceCallStack? at = innermost; at is not null; at = at.Caller)
        {
            TraceCodeAddress address = at.CodeAddress;
            if (!names.TryGetValue(address.CodeAddressIndex, out string? name))
            {
                name = NameOf(address);
                names.Add(address.CodeAddressIndex, name);
            }

            if (name != Unknown || frames.Count > 0) frames.Add(name);
        }

        frames.Reverse();
        return frames;
    }

    // Without the arguments: overloads count as one method here, as in perf's table.
    private static string NameOf(TraceCodeAddress address)
    {
        string name = address.FullMethodName;
        if (name.Length == 0) return address.ModuleName is { Length: > 0 } module ? $"[{module}]" : Unknown;
        int arguments = name.IndexOf('(', StringComparison.Ordinal);
        return arguments > 0 ? name[..arguments] : name;
    }
}
