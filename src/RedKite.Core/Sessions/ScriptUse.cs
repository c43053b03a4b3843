using System.Collections.Concurrent;
using System.Text;

namespace RedKite.Server.Sessions;

/// <summary>The use of a cached script or function. The thread that runs it writes; any thread reads.</summary>
/// <param name="name">The SHA-1 of a script, or a function's name.</param>
/// <param name="library">A function's library; null: it is a script.</param>
/// <param name="text">The beginning of the text.</param>
internal sealed class ScriptUse(string name, string? library, string text)
{
    private const int TextMax = 200;

    private long _calls;
    private long _failed;
    private long _totalNs;
    private long _longestNs;
    private long _lastUseMs;

    internal string Name => name;

    internal string? Library => library;

    /// <summary>The beginning of a script's text, or of its library's.</summary>
    internal string Text => text;

    internal long Calls => Volatile.Read(ref _calls);

    /// <summary>Runs that ended with an error.</summary>
    internal long Failed => Volatile.Read(ref _failed);

    internal long TotalNs => Volatile.Read(ref _totalNs);

    internal long LongestNs => Volatile.Read(ref _longestNs);

    /// <summary>When it last ran, in Unix milliseconds; 0: never.</summary>
    internal long LastUseMs => Volatile.Read(ref _lastUseMs);

    /// <summary>Counts a run.</summary>
    internal void Note(long ns, bool hasFailed, long nowMs)
    {
        Volatile.Write(ref _calls, _calls + 1);
        if (hasFailed) Volatile.Write(ref _failed, _failed + 1);
        Volatile.Write(ref _totalNs, _totalNs + ns);
        if (ns > _longestNs) Volatile.Write(ref _longestNs, ns);
        Volatile.Write(ref _lastUseMs, nowMs);
    }

    /// <summary>The beginning of a text, as far as it is kept.</summary>
    internal static string Beginning(ReadOnlySpan<byte> text) => Encoding.Latin1.GetString(text[..Math.Min(text.Length, TextMax)]);
}

/// <summary>The uses of all cached scripts and functions; the caches' limits bound their number. From any thread.</summary>
internal sealed class ScriptUses
{
    private readonly ConcurrentDictionary<ScriptUse, bool> _all = [];

    internal IEnumerable<ScriptUse> All => _all.Keys;

    internal ScriptUse Add(ScriptUse use)
    {
        _all[use] = true;
        return use;
    }

    internal void Remove(ScriptUse use) => _all.TryRemove(use, out _);
}
