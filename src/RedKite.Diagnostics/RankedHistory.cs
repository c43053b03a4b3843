namespace RedKite.Server.Diagnostics;

/// <summary>What a command or a loop did in a second: the values of its kind's series. NaN: unknown.</summary>
/// <param name="Id">Its position in <see cref="RankedHistory.Names"/>.</param>
internal readonly record struct RankedRecord(int Id, float[] Values);

/// <summary>
/// What each command, or each event loop, did in every second of the last hour and every minute of the last two weeks, in a fixed amount of
/// memory: a second or a minute has a limited number of records. If more were active, those with the most of the first series are
/// kept, and the others are unknown. An idle command takes no record.
/// </summary>
/// <remarks>
/// <para>Memory: a record is an id and the values, of two bytes each. With its time and count a slot of 20 commands takes 249 bytes and one of 16
/// loops 137, which is 5.6 and 3.1 MiB for 3,600 seconds and 20,160 minutes.</para>
/// <para>Rejected: a row for each of 400 commands, as metrics have, takes 180 MiB. Blocks that are compressed take little, but not a fixed amount.</para>
/// </remarks>
internal sealed class RankedHistory
{
    /// <summary>How many commands or loops may have names: there are 430 commands, and the setting `loops` is at most 1024.</summary>
    internal const int NamesMax = 1024;

    private readonly Lock _lock = new();
    private readonly bool _takesNames;
    private readonly List<string> _names = [];
    private readonly Dictionary<string, int> _ids = new(StringComparer.Ordinal);
    private readonly SlotRing<RecordBlock> _seconds;
    private readonly SlotRing<RecordBlock> _minutes;
    private readonly Dictionary<int, float[]> _minuteSums = []; // of peaks the largest
    private int _minuteSeconds;
    private long _minute = -1;
    private long _latestSecond;

    /// <param name="names">The names of the ids; null: those that are read from a debug package.</param>
    internal RankedHistory(RankedKind kind, IEnumerable<string>? names)
    {
        Kind = kind;
        _takesNames = names is null;
        foreach (string name in names ?? []) AddName(name);
        _seconds = new SlotRing<RecordBlock>(MetricHistory.SecondsKept, () => new RecordBlock(kind));
        _minutes = new SlotRing<RecordBlock>(MetricHistory.MinutesKept, () => new RecordBlock(kind));
    }

    internal RankedKind Kind { get; }

    /// <summary>The name of each id.</summary>
    internal IReadOnlyList<string> Names => _names;

    /// <summary>The id of a name; -1: it has none.</summary>
    internal int Find(string name) => _ids.GetValueOrDefault(name, -1);

    /// <summary>The id of a name that was read; -1: it is not known here.</summary>
    /// <exception cref="InvalidDataException">There are too many names.</exception>
    internal int IdOf(string name) => Find(name) is >= 0 and var id ? id : _takesNames ? AddName(name) : -1;

    /// <summary>Adds the records of a second. A second that is not later than the last one is left out.</summary>
    internal void Add(long unixSeconds, IReadOnlyCollection<RankedRecord> records)
    {
        lock (_lock)
        {
            if (unixSeconds <= _latestSecond && _latestSecond - unixSeconds < MetricHistory.SecondsKept) return;
            _latestSecond = unixSeconds;
            Keep(_seconds, unixSeconds, records);
            if (unixSeconds / 60 != _minute) EndMinute();
            _minute = unixSeconds / 60;
            _minuteSeconds++;
            foreach (RankedRecord record in records) AddToMinute(record);
        }
    }

    /// <summary>A series of one id, every second of a time range, oldest first; those that were not observed are left out.</summary>
    internal List<HistoryPoint> Seconds(int id, int series, long fromUnixSeconds, long toUnixSeconds) => Points(_seconds, 1, id, series, fromUnixSeconds, toUnixSeconds);

    /// <summary>The same of every minute.</summary>
    internal List<HistoryPoint> Minutes(int id, int series, long fromUnixSeconds, long toUnixSeconds) => Points(_minutes, 60, id, series, fromUnixSeconds, toUnixSeconds);

    /// <summary>Copies every second, oldest first: its Unix time, the ids, and the values of one id after those of the other.</summary>
    internal void ForEachSecond(Action<long, ReadOnlySpan<ushort>, ReadOnlySpan<float>> visit) => ForEach(_seconds, visit);

    /// <summary>The same of every finished minute; its time is its number since 1970.</summary>
    internal void ForEachMinute(Action<long, ReadOnlySpan<ushort>, ReadOnlySpan<float>> visit) => ForEach(_minutes, visit);

    /// <summary>Adds a minute of an earlier run. Minutes come oldest first. Of too many records the first are kept.</summary>
    internal void RestoreMinute(long minute, ReadOnlySpan<ushort> ids, ReadOnlySpan<float> values)
    {
        lock (_lock)
        {
            (RecordBlock block, int slot) = _minutes.Open(minute);
            block.Clear(slot);
            int width = Kind.Series.Length;
            for (int i = 0; i < ids.Length; i++) block.Append(slot, ids[i], values.Slice(i * width, width));
            _latestSecond = Math.Max(_latestSecond, minute * 60);
        }
    }

    private int AddName(string name)
    {
        if (_names.Count == NamesMax) throw new InvalidDataException($"the history of {Kind.Name} has too many names");
        _ids.Add(name, _names.Count);
        _names.Add(name);
        return _names.Count - 1;
    }

    // Those with the most of the first series, in its order.
    private static void Keep(SlotRing<RecordBlock> ring, long time, IEnumerable<RankedRecord> records)
    {
        (RecordBlock block, int slot) = ring.Open(time);
        block.Clear(slot);
        foreach (RankedRecord record in records.OrderByDescending(record => record.Values[0])) block.Append(slot, (ushort)record.Id, record.Values);
    }

    private void AddToMinute(RankedRecord record)
    {
        if (!_minuteSums.TryGetValue(record.Id, out float[]? sums))
        {
            _minuteSums.Add(record.Id, [.. record.Values]);
            return;
        }

        for (int i = 0; i < sums.Length; i++)
        {
            float value = record.Values[i];
            if (!Kind.Series[i].IsPeak) sums[i] += value;
            else if (float.IsNaN(sums[i]) || value > sums[i]) sums[i] = value;
        }
    }

    // A command's mean is over all seconds of the minute that were observed: it did nothing in those that have no record of it.
    private void EndMinute()
    {
        if (_minute >= 0) Keep(_minutes, _minute, _minuteSums.Select(pair => new RankedRecord(pair.Key, [.. pair.Value.Select((sum, i) => Kind.Series[i].IsPeak ? sum : sum / _minuteSeconds)])));
        _minuteSums.Clear();
        _minuteSeconds = 0;
    }

    private List<HistoryPoint> Points(SlotRing<RecordBlock> ring, int unit, int id, int series, long fromUnixSeconds, long toUnixSeconds)
    {
        float idle = Kind.IsIdleWhenAbsent && !Kind.Series[series].IsPeak ? 0 : float.NaN;
        var points = new List<HistoryPoint>();
        lock (_lock)
        {
            foreach ((long time, RecordBlock block, int slot) in ring.Range(fromUnixSeconds / unit, toUnixSeconds / unit))
            {
                float value = block.TryGet(slot, (ushort)id, series, out float found) ? found : block.IsFull(slot) ? float.NaN : idle;
                points.Add(new HistoryPoint(time * unit, value, value));
            }
        }

        return points;
    }

    private void ForEach(SlotRing<RecordBlock> ring, Action<long, ReadOnlySpan<ushort>, ReadOnlySpan<float>> visit)
    {
        var values = new float[Kind.RecordsMax * Kind.Series.Length];
        lock (_lock)
        {
            foreach ((long time, RecordBlock block, int slot) in ring.Range(0, long.MaxValue))
            {
                ReadOnlySpan<ushort> ids = block.Ids(slot);
                visit(time, ids, values.AsSpan(0, block.CopyValues(slot, values)));
            }
        }
    }

    private sealed class RecordBlock(RankedKind kind)
    {
        private readonly int _records = kind.RecordsMax;
        private readonly int _width = kind.Series.Length;
        private readonly RankedSeries[] _series = kind.Series;
        private readonly byte[] _counts = new byte[SlotRing<RecordBlock>.BlockSlots];
        private readonly ushort[] _ids = new ushort[SlotRing<RecordBlock>.BlockSlots * kind.RecordsMax];
        private readonly ShortFloat[] _values = new ShortFloat[SlotRing<RecordBlock>.BlockSlots * kind.RecordsMax * kind.Series.Length];

        internal void Clear(int slot) => _counts[slot] = 0;

        internal bool IsFull(int slot) => _counts[slot] == _records;

        internal ReadOnlySpan<ushort> Ids(int slot) => _ids.AsSpan(slot * _records, _counts[slot]);

        internal void Append(int slot, ushort id, ReadOnlySpan<float> values)
        {
            if (IsFull(slot)) return;
            int at = (slot * _records) + _counts[slot]++;
            _ids[at] = id;
            for (int i = 0; i < _width; i++) _values[(at * _width) + i] = _series[i].IsPeak ? ShortFloat.Up(values[i]) : ShortFloat.Nearest(values[i]);
        }

        internal bool TryGet(int slot, ushort id, int series, out float value)
        {
            int at = Ids(slot).IndexOf(id);
            value = at < 0 ? float.NaN : _values[(((slot * _records) + at) * _width) + series].Value;
            return at >= 0;
        }

        internal int CopyValues(int slot, Span<float> values)
        {
            int count = _counts[slot] * _width;
            for (int i = 0; i < count; i++) values[i] = _values[(slot * _records * _width) + i].Value;
            return count;
        }
    }
}
