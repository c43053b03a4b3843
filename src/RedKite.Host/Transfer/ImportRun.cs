using System.Diagnostics;
using System.Globalization;
using RedKite.Persistence.Rdb;

namespace RedKite.Host.Transfer;

/// <summary>What an import does, besides copying keys.</summary>
internal sealed record ImportOptions
{
    /// <summary>Whether keys that the target has stay as they are; otherwise they are replaced.</summary>
    internal bool KeepsExisting { get; init; }

    /// <summary>Whether keys are copied with the commands of their type, not with DUMP and RESTORE.</summary>
    internal bool IsPlain { get; init; }

    /// <summary>Whether users are copied, except the default one.</summary>
    internal bool CopiesUsers { get; init; }
}

/// <summary>
/// Copies a running server's data into another one: functions, then each database with SCAN, each key with DUMP and RESTORE or, where the
/// target does not take the dump, with the commands of its type. Both servers go on meanwhile.
/// </summary>
internal sealed class ImportRun : IDumpTarget
{
    // Redis's and RedKite's default for the largest argument, less what surrounds it.
    private const long DumpBytesMax = (512L * 1024 * 1024) - 1024;
    private const int SaveMs = 1000;
    private const int FailuresShownMax = 20;

    private readonly SourceServer _source;
    private readonly TargetServer _target;
    private readonly ImportOptions _options;
    private readonly ImportState _state;
    private readonly TransferProgress _progress;
    private readonly PlainCopy _plainCopy;
    private readonly List<byte[]> _refused = []; // by RESTORE: to be copied with commands
    private byte[] _current = [];
    private bool _isAbsolute;
    private bool _isPlain;

    internal ImportRun(SourceServer source, TargetServer target, ImportOptions options, ImportState state, TransferProgress progress)
    {
        (_source, _target, _options, _state, _progress) = (source, target, options, state, progress);
        _plainCopy = new PlainCopy(source, target, state.Scratch, options.KeepsExisting);
        _isPlain = options.IsPlain;
    }

    /// <summary>The number of keys that the target had and that stayed.</summary>
    internal long Kept { get; private set; }

    /// <summary>What could not be copied, the first ones.</summary>
    internal List<string> Failures { get; } = [];

    internal long FailureCount { get; private set; }

    internal int Functions { get; private set; }

    internal int Users { get; private set; }

    /// <summary>Copies what the state has not passed yet; false: it was asked to stop, and the state is saved.</summary>
    /// <param name="stops">Whether to stop; asked after every few hundred keys.</param>
    internal bool Run(Func<bool> stops)
    {
        if (_state.Database < 0)
        {
            CopyFunctions();
            if (_options.CopiesUsers) CopyUsers();
        }

        SortedDictionary<int, long> databases = _source.Databases();
        _progress.KeysTotal = databases.Values.Sum();
        foreach (int database in databases.Keys)
        {
            if (database < _state.Database) continue;
            if (database > _state.Database) (_state.Database, _state.Cursor) = (database, "0");
            else if (_state.Cursor == ImportState.Done) continue;
            if (!CopyDatabase(stops)) return false;
        }

        return true;
    }

    private bool CopyDatabase(Func<bool> stops)
    {
        _source.Select(_state.Database);
        _target.Select(_state.Database);
        _plainCopy.RemoveScratch();
        long saved = Stopwatch.GetTimestamp();
        _state.Save();
        while (_state.Cursor != ImportState.Done)
        {
            string cursor = _state.Cursor;
            IReadOnlyList<byte[]> keys = _source.Scan(ref cursor);
            CopyKeys(keys);
            _state.Cursor = cursor == "0" ? ImportState.Done : cursor;
            bool isStopped = stops();
            if (isStopped || Stopwatch.GetElapsedTime(saved).TotalMilliseconds >= SaveMs)
            {
                _state.Save();
                saved = Stopwatch.GetTimestamp();
            }

            if (isStopped) return false;
        }

        return true;
    }

    private void CopyKeys(IReadOnlyList<byte[]> keys)
    {
        _refused.Clear();
        if (_isPlain) _refused.AddRange(keys);
        else _source.ReadDumps(keys, this);
        _target.Drain();
        string[] types = _source.TypesOf(_refused);
        for (int i = 0; i < types.Length; i++)
        {
            PlainOutcome? outcome = _plainCopy.Copy(_refused[i], types[i], Count, out string problem);
            if (outcome is { } known) Count(known);
            if (outcome == PlainOutcome.Failed) AddFailure(string.Create(CultureInfo.InvariantCulture, $"database {_state.Database}, key {RdbTypes.Shown(_refused[i])}: {problem}"));
            ShowProgress();
        }

        _target.Drain();
    }

    private void Count(PlainOutcome outcome)
    {
        if (outcome == PlainOutcome.Copied) _state.Keys++;
        else if (outcome == PlainOutcome.Kept) Kept++;
    }

    // RESTORE key ttl dump [REPLACE] [ABSTTL]
    public bool Begin(byte[] key, long expiry, long bytes)
    {
        // The first dump whose version the target refused says that it refuses all of them.
        if (bytes > DumpBytesMax || _isPlain)
        {
            _refused.Add(key);
            return false;
        }

        _isAbsolute = _source.HasAbsoluteTimes && expiry > 0;
        _current = key;
        ServerLink link = _target.Link;
        link.Begin(4 + (_options.KeepsExisting ? 0 : 1) + (_isAbsolute ? 1 : 0));
        link.Add("RESTORE");
        link.Add(key);
        link.Add(Math.Max(expiry, 0));
        link.BeginWord(bytes);
        return true;
    }

    public void Piece(ReadOnlySpan<byte> piece) => _target.Link.Piece(piece);

    public void End()
    {
        ServerLink link = _target.Link;
        link.EndWord();
        if (!_options.KeepsExisting) link.Add("REPLACE");
        if (_isAbsolute) link.Add("ABSTTL");
        byte[] key = _current;
        _target.Expect(reply => Restored(key, reply));
        ShowProgress();
    }

    private void Restored(byte[] key, Reply reply)
    {
        if (!reply.IsError)
        {
            _state.Keys++;
        }
        else if (reply.Text.StartsWith("BUSYKEY", StringComparison.Ordinal) && _options.KeepsExisting)
        {
            Kept++;
        }
        else if (reply.Text.Contains("payload version", StringComparison.OrdinalIgnoreCase))
        {
            if (!_isPlain) _progress.Line($"{_target.Link.Address} does not take dumps of this version; copying with the commands of each type");
            _isPlain = true;
            _refused.Add(key);
        }
        else if (reply.Text.Contains("Bad data format", StringComparison.OrdinalIgnoreCase))
        {
            _refused.Add(key);
        }
        else
        {
            throw _target.Refused(reply);
        }
    }

    // FUNCTION LIST and LOAD understand each other across versions; a server before 7.0 has neither.
    private void CopyFunctions()
    {
        Reply libraries = _source.Link.Run("FUNCTION", "LIST", "WITHCODE");
        if (libraries.IsError && libraries.Text.Contains("unknown command", StringComparison.OrdinalIgnoreCase)) return;
        if (libraries.IsError) throw _source.Link.Refused(libraries);
        foreach (Reply library in libraries.Array)
        {
            string code = library["library_code"]?.Text ?? "";
            Reply loaded = _options.KeepsExisting ? _target.Link.Run("FUNCTION", "LOAD", code) : _target.Link.Run("FUNCTION", "LOAD", "REPLACE", code);
            if (!loaded.IsError) Functions++;
            else if (!(_options.KeepsExisting && loaded.Text.Contains("already exists", StringComparison.Ordinal))) AddFailure($"functions {library["library_name"]?.Text}: {loaded.Text}");
        }
    }

    private void CopyUsers()
    {
        foreach (Reply line in _source.Link.RunOrFail("ACL", "LIST").Array)
        {
            List<string> rules = SplitRules(line.Text);
            if (rules is not ["user", { } name, ..] || name == "default") continue;
            Reply set = _target.Link.Run(["ACL", "SETUSER", name, "reset", .. rules[2..].Select(rule => (Word)rule)]);
            if (!set.IsError) Users++;
            else AddFailure($"user {name}: " + (set.Text.Contains('#', StringComparison.Ordinal) ? "the server does not take its password" : set.Text));
        }
    }

    // At spaces, but a selector in parentheses is one rule.
    private static List<string> SplitRules(string line)
    {
        List<string> rules = [];
        foreach (string word in line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            if (rules.Count > 0 && rules[^1].StartsWith('(') && !rules[^1].EndsWith(')')) rules[^1] += " " + word;
            else rules.Add(word);
        }

        return rules;
    }

    private void AddFailure(string line)
    {
        FailureCount++;
        if (Failures.Count < FailuresShownMax) Failures.Add(line);
    }

    private void ShowProgress() => _progress.Show(_state.Keys + Kept, _source.Link.Received, string.Create(CultureInfo.InvariantCulture, $"database {_state.Database}: "));
}
