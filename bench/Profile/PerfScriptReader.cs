using System.Text.RegularExpressions;
using RedKite.Traces;

namespace RedKite.Profile;

/// <summary>
/// Reads the text of <c>perf script -F comm,pid,tid,ip,sym,dso</c>: a line for the thread, a line per frame from the
/// innermost outwards, an empty line. The runtime's map lists managed methods as
/// <c>instance void [Assembly] Namespace.Type::Method(arguments)[Tier]</c>; they get their usual .NET names.
/// </summary>
internal static partial class PerfScriptReader
{
    internal static IEnumerable<StackSample> Read(TextReader input)
    {
        string? thread = null;
        List<string> frames = [];
        while (input.ReadLine() is { } line)
        {
            if (line.Length == 0)
            {
                if (thread is not null && frames.Count > 0) yield return Sample(thread, frames);
                thread = null;
                frames = [];
            }
            else if (thread is null)
            {
                Match header = Header().Match(line);
                if (header.Success) thread = $"{header.Groups["name"].Value} {header.Groups["id"].Value}";
            }
            else if (Frame().Match(line) is { Success: true } frame)
            {
                frames.Add(Name(frame.Groups["symbol"].Value, frame.Groups["object"].Value));
            }
        }

        if (thread is not null && frames.Count > 0) yield return Sample(thread, frames);
    }

    private static StackSample Sample(string thread, List<string> innermostFirst)
    {
        innermostFirst.Reverse();
        return new StackSample(thread, SampledState.Running, innermostFirst);
    }

    private static string Name(string symbol, string file)
    {
        if (file.StartsWith("[kernel", StringComparison.Ordinal) || file.EndsWith(".ko", StringComparison.Ordinal)) return $"{symbol} [kernel]";
        string fileName = Path.GetFileName(file);
        if (symbol == "[unknown]") return $"[{fileName.Trim('[', ']')}]";
        return fileName.EndsWith(".map", StringComparison.Ordinal) || file.StartsWith("[JIT]", StringComparison.Ordinal)
            ? ManagedName(symbol)
            : $"{symbol} [{fileName}]";
    }

    private static string ManagedName(string symbol)
    {
        int colons = symbol.IndexOf("::", StringComparison.Ordinal);
        if (colons < 0) return symbol; // a runtime stub
        string type = symbol[..colons];
        type = type[(type.LastIndexOf("] ", StringComparison.Ordinal) is >= 0 and int at ? at + 2 : 0)..];
        string method = symbol[(colons + 2)..];
        int arguments = method.IndexOf('(', StringComparison.Ordinal);
        return $"{type}.{(arguments < 0 ? method : method[..arguments])}";
    }

    // loop-0  7838/7846    789.198459:
    [GeneratedRegex(@"^\s*(?<name>\S.*?)\s+\d+/(?<id>\d+)\b")]
    private static partial Regex Header();

    // 	ffffffff821ed511 do_syscall_64 ([kernel.kallsyms])
    [GeneratedRegex(@"^\s+[0-9a-f]+ (?<symbol>.*) \((?<object>[^()]+)(?: \(deleted\))?\)$")]
    private static partial Regex Frame();
}
