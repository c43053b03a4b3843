using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;

namespace RedKite.TimeSeries.Store;

/// <summary>A key's series as commands see it. The key's stripe is locked.</summary>
internal readonly unsafe ref struct Series
{
    private readonly SeriesData* _data;
    private readonly Arena _arena;

    private Series(SeriesData* data, Arena arena)
    {
        _data = data;
        _arena = arena;
    }

    internal bool Exists => _data != null;

    internal ref SeriesSettings Settings => ref _data->Settings;

    internal long Count => _data->Samples;

    internal int ChunkCount => _data->ChunkCount;

    internal ulong Version => _data->Version;

    internal long MemoryBytes => SeriesData.Bytes(_data);

    internal SeriesLabels Labels => new(_data->Labels.Bytes);

    internal Span<byte> Rules => _data->Rules.Bytes;

    /// <summary>The key whose samples are compacted into this series; empty: none.</summary>
    internal ReadOnlySpan<byte> Source => _data->Source.Bytes;

    internal bool IsEmpty => _data->ChunkCount == 0;

    /// <summary>The newest sample. Not of an empty series.</summary>
    internal Sample Last => new(_data->LastChunk->Last, BitConverter.UInt64BitsToDouble(_data->LastChunk->LastValue));

    /// <summary>The time of the oldest sample that is stored: it may be older than the retention period, and is not seen then.</summary>
    internal long FirstStoredTime => IsEmpty ? 0 : _data->Chunks->First;

    internal long FirstTime => FirstStoredTime >= OldestTime ? FirstStoredTime : TryFrom(OldestTime, out Sample first) ? first.Time : 0;

    internal long LastTime => IsEmpty ? 0 : Last.Time;

    /// <summary>
    /// The time before which nothing is seen any more. What is older is stored until its chunk is dropped, so nothing may depend on it: chunks begin and end elsewhere on
    /// a replica. It is removed before the time would become an earlier one.
    /// </summary>
    internal long OldestTime => Settings.Retention == 0 || IsEmpty ? 0 : Math.Max(0, LastTime - Settings.Retention);

    internal static Series Of(Database database, Entry entry) => entry.Exists ? new((SeriesData*)entry.Root.Structure, database.ArenaOf(entry)) : default;

    /// <summary>For reading: an entry without its database.</summary>
    internal static Series OfBlock(nint entry) => new((SeriesData*)Entry.FromBlock(entry).Root.Structure, null!);

    /// <summary>Creates an empty one at a missing key.</summary>
    internal static Series Create(Database database, ReadOnlySpan<byte> key, ulong hash, uint accessClock, scoped in SeriesSettings settings)
    {
        Entry entry = database.WriteValue(key, hash, default, new ValueHeader(SeriesType.Instance.Number, ValueEncoding.OwnStructure, accessClock), ValueRoot.Bytes, Database.NoExpiry);
        Arena arena = database.ArenaOf(hash);
        SeriesData* data = SeriesData.Create(arena, settings);
        entry.Root = new ValueRoot { Structure = (byte*)data };
        return new Series(data, arena);
    }

    internal void SetLabels(ReadOnlySpan<byte> labels) => SeriesData.SetText(_arena, &_data->Labels, labels);

    internal void SetRules(ReadOnlySpan<byte> rules) => SeriesData.SetText(_arena, &_data->Rules, rules);

    /// <summary>Adds room for a further rule.</summary>
    internal void GrowRules(int bytes)
    {
        int old = _data->Rules.Length;
        _data->Rules.Data = old == 0 ? _arena.Allocate(bytes) : _arena.Reallocate(_data->Rules.Data, old, old + bytes);
        _data->Rules.Length = old + bytes;
    }

    /// <summary>Removes the last bytes of the rules.</summary>
    internal void ShrinkRules(int bytes)
    {
        int left = _data->Rules.Length - bytes;
        if (left > 0) _data->Rules = new SeriesText { Data = _arena.Reallocate(_data->Rules.Data, _data->Rules.Length, left), Length = left };
        else SetRules(default);
    }

    /// <summary>Of a destination, the value of the bucket that is open at its source.</summary>
    internal bool TryPending(out Sample sample)
    {
        sample = _data->Pending;
        return sample.Time >= 0 && (IsEmpty || sample.Time > LastTime);
    }

    /// <summary>What <see cref="SetPending"/> has set; its time is negative if that is nothing.</summary>
    internal Sample Pending => _data->Pending;

    internal void SetPending(Sample? sample) => _data->Pending = sample ?? new Sample(-1, 0);

    internal void SetSource(ReadOnlySpan<byte> key) => SeriesData.SetText(_arena, &_data->Source, key);

    internal bool TryFind(long time, out double value) => SeriesData.TryFind(_data, time, out value);

    internal void Put(long time, double value)
    {
        SeriesData.Put(_data, _arena, new Sample(time, value));
        SeriesData.Trim(_data, _arena);
    }

    /// <summary>Removes the samples of a range.</summary>
    /// <returns>How many of those that were seen.</returns>
    internal long Remove(long from, long to)
    {
        RemoveUnseen();
        return SeriesData.Remove(_data, _arena, from, to);
    }

    internal void SetRetention(long retention)
    {
        RemoveUnseen();
        Settings.Retention = retention;
        SeriesData.Trim(_data, _arena);
    }

    private void RemoveUnseen()
    {
        if (FirstStoredTime < OldestTime) SeriesData.Remove(_data, _arena, 0, OldestTime - 1);
    }

    internal (long First, long Last, int Count, int Bytes) ChunkAt(int index)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)index, (uint)_data->ChunkCount);
        Chunk* chunk = _data->Chunks + index;
        return (chunk->First, chunk->Last, chunk->Count, chunk->Capacity);
    }

    /// <summary>A chunk as files have it.</summary>
    internal ReadOnlySpan<byte> ChunkBytes(int index, out int bits, out int count, out bool isCompressed)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)index, (uint)_data->ChunkCount);
        Chunk* chunk = _data->Chunks + index;
        (bits, count, isCompressed) = (chunk->Bits, chunk->Count, chunk->IsCompressed);
        return new ReadOnlySpan<byte>(chunk->Data, (chunk->Bits + 7) / 8);
    }

    /// <summary>Appends the samples of a chunk from a file.</summary>
    /// <returns>False: they are damaged.</returns>
    internal bool TryAppendChunk(ReadOnlySpan<byte> bytes, int bits, int count, bool isCompressed)
    {
        if (bits <= 0 || (bits + 7) / 8 != bytes.Length || count is <= 0 or > Chunk.SamplesMax) return false;
        fixed (byte* data = bytes)
        {
            var reader = new ChunkReader(data, bits, count, isCompressed);
            while (reader.MoveNext())
            {
                Sample sample = reader.Current;
                if (sample.Time < 0 || (!IsEmpty && sample.Time <= LastTime) || double.IsInfinity(sample.Value)) return false;
                SeriesData.Append(_data, _arena, sample);
            }

            return reader.IsAtEnd;
        }
    }

    /// <summary>The chunk that has the first sample at a time or later; the number of chunks if none has.</summary>
    internal int ChunkFrom(long time)
    {
        int index = SeriesData.Find(_data, time);
        return index >= 0 && _data->Chunks[index].Last >= time ? index : index + 1;
    }

    /// <summary>The samples of the chunks that a range concerns.</summary>
    internal long CountAbout(long from, long to)
    {
        long count = 0;
        for (int index = ChunkFrom(from); index < ChunkCount && _data->Chunks[index].First <= to; index++) count += _data->Chunks[index].Count;
        return count;
    }

    /// <summary>Reads the samples of a chunk.</summary>
    /// <param name="index">The chunk.</param>
    /// <param name="samples">Room for <see cref="Chunk.SamplesMax"/> of them.</param>
    internal int Read(int index, Span<Sample> samples)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)index, (uint)_data->ChunkCount);
        var reader = ChunkReader.Of(_data->Chunks + index);
        int count = 0;
        while (reader.MoveNext()) samples[count++] = reader.Current;
        return count;
    }

    /// <summary>The newest sample before a time, unless it is too old to be seen.</summary>
    internal bool TryBefore(long time, out Sample sample)
    {
        sample = default;
        int index = time <= 0 ? -1 : SeriesData.Find(_data, time - 1);
        if (index < 0) return false;
        var reader = ChunkReader.Of(_data->Chunks + index);
        while (reader.MoveNext() && reader.Current.Time < time) sample = reader.Current;
        return sample.Time >= OldestTime;
    }

    /// <summary>The first sample at a time or later.</summary>
    internal bool TryFrom(long time, out Sample sample)
    {
        sample = default;
        int index = ChunkFrom(time);
        if (index == ChunkCount) return false;
        var reader = ChunkReader.Of(_data->Chunks + index);
        while (reader.MoveNext() && reader.Current.Time < time)
        {
        }

        sample = reader.Current;
        return true;
    }
}
