using System.Text;

namespace RedKite.Server.Metrics;

/// <summary>A call that executed for long.</summary>
/// <param name="Second">The number of the observed second in which it ended.</param>
/// <param name="Subject">What it works on: its first key, or its first argument. Calls of one command on one subject belong together.</param>
/// <param name="Text">The request as logs show it, cut.</param>
/// <param name="Ns">How long it executed, without waiting for locks.</param>
internal readonly record struct LongCall(long Second, string Name, string Subject, string Text, long ClientId, long Ns);

/// <summary>Calls of one command on one subject.</summary>
/// <param name="ClientId">The client whose calls took the most of that time.</param>
/// <param name="Clients">How many clients called it.</param>
internal sealed record LongCallSum(string Text, long Ns, long LongestNs, int Calls, long ClientId, int Clients);

/// <summary>
/// The last calls that executed for at least <see cref="Timeline.NoticeableNs"/>, by the observed second in which they ended, so that what a rule
/// has seen and whom a finding names are of the same seconds. Any thread adds, under a lock: such calls are rare.
/// </summary>
internal sealed class LongCalls
{
    internal const int CallsMax = 2048;
    private const int TextMax = 80;

    private readonly Lock _lock = new();
    private readonly LongCall[] _calls = new LongCall[CallsMax];
    private long _count;
    private long _totalNs;
    private long _second;

    /// <summary>The time of all such calls since the start.</summary>
    internal long TotalNs => Volatile.Read(ref _totalNs);

    /// <summary>Begins the next observed second.</summary>
    internal void BeginSecond()
    {
        lock (_lock) _second++;
    }

    /// <param name="command">The command's name.</param>
    /// <param name="subject">Its first key, or its first argument.</param>
    /// <param name="arguments">The request as logs show it.</param>
    /// <param name="clientId">0: a caller in the process.</param>
    /// <param name="ns">How long it executed, without waiting for locks.</param>
    internal void Note(string command, ReadOnlySpan<byte> subject, byte[][] arguments, long clientId, long ns)
    {
        string subjectText = Encoding.Latin1.GetString(subject[..Math.Min(subject.Length, TextMax)]);
        string text = TextOf(arguments);
        lock (_lock)
        {
            _calls[_count++ % CallsMax] = new LongCall(_second, command, subjectText, text, clientId, ns);
            _totalNs += ns;
        }
    }

    /// <summary>The longest call of the last observed seconds; null: there was none.</summary>
    internal LongCall? Longest(int seconds)
    {
        List<LongCall> calls = Of(seconds);
        return calls.Count == 0 ? null : calls.MaxBy(call => call.Ns);
    }

    /// <summary>The calls of the last observed seconds by name and subject, those that took most first.</summary>
    internal List<LongCallSum> Most(int seconds) =>
    [
        .. Of(seconds).GroupBy(call => (call.Name, call.Subject)).Select(calls =>
        {
            var clients = calls.GroupBy(call => call.ClientId).OrderByDescending(of => of.Sum(call => call.Ns)).ToList();
            return new LongCallSum(calls.Last().Text, calls.Sum(call => call.Ns), calls.Max(call => call.Ns), calls.Count(), clients[0].Key, clients.Count);
        }).OrderByDescending(sum => sum.Ns),
    ];

    // A second that has not ended counts as well.
    private List<LongCall> Of(int seconds)
    {
        lock (_lock)
        {
            var calls = new List<LongCall>();
            for (long i = Math.Max(0, _count - CallsMax); i < _count; i++)
            {
                if (_calls[i % CallsMax] is { } call && call.Second >= _second - seconds) calls.Add(call);
            }

            return calls;
        }
    }

    private static string TextOf(byte[][] arguments)
    {
        var bytes = new List<byte>(TextMax + 1);
        foreach (byte[] argument in arguments)
        {
            if (bytes.Count > TextMax) break;
            if (bytes.Count > 0) bytes.Add((byte)' ');
            bytes.AddRange(argument.AsSpan(0, Math.Min(argument.Length, TextMax + 1)));
        }

        return Encoding.UTF8.GetString([.. bytes.Take(TextMax)]) + (bytes.Count > TextMax ? "..." : "");
    }
}
