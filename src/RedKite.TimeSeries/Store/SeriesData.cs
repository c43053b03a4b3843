using System.Runtime.InteropServices;
using RedKite.Store.Memory;
using RedKite.Store.Values;

namespace RedKite.TimeSeries.Store;

/// <summary>Bytes of a series beside its samples, in a block of their own.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SeriesText
{
    internal byte* Data;
    internal int Length;

    internal readonly Span<byte> Bytes => new(Data, Length);
}

/// <summary>A series: its settings, labels and rules, and a directory of chunks in ascending order of time. All blocks may move.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SeriesData
{
    private const int DirectoryMin = 1;

    // A chunk into which a sample is inserted is divided when it is as full: in the middle, so that the next ones find room.
    private const int FullPart = 8;

    internal SeriesSettings Settings;
    internal Chunk* Chunks;
    internal int ChunkCount;
    internal int ChunkCapacity;
    internal SeriesText Labels;
    internal SeriesText Rules;
    internal SeriesText Source;
    internal long Samples;

    /// <summary>Of a destination, the value of the bucket that is open at its source; its time is negative if there is none.</summary>
    internal Sample Pending;

    /// <summary>Another one after each change, but for samples that are appended, or dropped because they are old. No other series has had it.</summary>
    internal ulong Version;

    private static long _created;

    internal static SeriesData* Create(Arena arena, in SeriesSettings settings)
    {
        var data = (SeriesData*)arena.Allocate(sizeof(SeriesData));
        *data = new SeriesData { Settings = settings, Version = (ulong)Interlocked.Increment(ref _created) << 32, Pending = new Sample(-1, 0), ChunkCapacity = DirectoryMin, Chunks = (Chunk*)arena.Allocate(DirectoryMin * sizeof(Chunk)) };
        return data;
    }

    internal readonly Chunk* LastChunk => ChunkCount == 0 ? null : Chunks + ChunkCount - 1;

    /// <summary>Memory of all blocks.</summary>
    internal static long Bytes(SeriesData* data)
    {
        long bytes = BlockSize.RoundUp(sizeof(SeriesData)) + BlockSize.RoundUp((long)data->ChunkCapacity * sizeof(Chunk)) + TextBytes(data->Labels) + TextBytes(data->Rules) + TextBytes(data->Source);
        if (data->ChunkCount == 0) return bytes;

        // All but the last ones are about as large as the first.
        return bytes + ((data->ChunkCount - 1) * BlockSize.RoundUp(data->Chunks->Capacity)) + BlockSize.RoundUp(data->LastChunk->Capacity);
    }

    internal static void SetText(Arena arena, SeriesText* text, ReadOnlySpan<byte> bytes)
    {
        byte* block = null;
        if (!bytes.IsEmpty) block = arena.Allocate(bytes.Length);
        bytes.CopyTo(new Span<byte>(block, bytes.Length));
        if (text->Data != null) arena.Free(text->Data, text->Length);
        *text = new SeriesText { Data = block, Length = bytes.Length };
    }

    /// <summary>The last chunk that begins at a time or earlier; -1: none does.</summary>
    internal static int Find(SeriesData* data, long time)
    {
        int low = 0, high = data->ChunkCount;
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (data->Chunks[middle].First <= time) low = middle + 1;
            else high = middle;
        }

        return low - 1;
    }

    internal static bool TryFind(SeriesData* data, long time, out double value)
    {
        value = 0;
        int index = Find(data, time);
        if (index < 0 || data->Chunks[index].Last < time) return false;
        Chunk* chunk = data->Chunks + index;
        if (chunk->Last == time)
        {
            value = BitConverter.UInt64BitsToDouble(chunk->LastValue);
            return true;
        }

        var reader = ChunkReader.Of(chunk);
        while (reader.MoveNext())
        {
            if (reader.Current.Time < time) continue;
            value = reader.Current.Value;
            return reader.Current.Time == time;
        }

        return false;
    }

    /// <summary>Appends a sample later than all.</summary>
    internal static void Append(SeriesData* data, Arena arena, in Sample sample)
    {
        data->Samples++;
        if (data->ChunkCount > 0 && data->LastChunk->IsCompressed == data->Settings.IsCompressed && Chunk.TryAppend(data->LastChunk, arena, data->Settings.ChunkBytes, sample)) return;
        Chunk chunk = Chunk.Create(data->Settings.IsCompressed);
        Chunk.TryAppend(&chunk, arena, data->Settings.ChunkBytes, sample);
        Replace(data, arena, data->ChunkCount, 0, &chunk, 1);
    }

    /// <summary>Adds a sample anywhere, or gives the one of its time another value.</summary>
    internal static void Put(SeriesData* data, Arena arena, in Sample sample)
    {
        if (data->ChunkCount == 0 || sample.Time > data->LastChunk->Last)
        {
            Append(data, arena, sample);
            return;
        }

        data->Version++;
        Rewrite(data, arena, Math.Max(0, Find(data, sample.Time)), sample.Time, sample.Time, sample, adds: true);
    }

    /// <summary>Removes all samples of a range.</summary>
    /// <returns>Their number.</returns>
    internal static long Remove(SeriesData* data, Arena arena, long from, long to)
    {
        if (data->ChunkCount == 0 || from > to) return 0;
        long before = data->Samples;
        data->Version++;
        int first = Math.Max(0, Find(data, from));
        if (data->Chunks[first].First < from && data->Chunks[first].Last >= from)
        {
            int chunks = data->ChunkCount;
            Rewrite(data, arena, first, from, to, default, adds: false);
            first += 1 + (data->ChunkCount - chunks);
        }
        else if (data->Chunks[first].Last < from)
        {
            first++;
        }

        int end = first;
        while (end < data->ChunkCount && data->Chunks[end].Last <= to) end++;
        Drop(data, arena, first, end - first);
        if (first < data->ChunkCount && data->Chunks[first].First <= to) Rewrite(data, arena, first, from, to, default, adds: false);
        return before - data->Samples;
    }

    /// <summary>Drops chunks whose samples are all older than the retention period allows.</summary>
    internal static void Trim(SeriesData* data, Arena arena)
    {
        if (data->Settings.Retention == 0 || data->ChunkCount == 0) return;
        long oldest = data->LastChunk->Last - data->Settings.Retention;
        int count = 0;
        while (data->Chunks[count].Last < oldest) count++;
        Drop(data, arena, 0, count);
    }

    internal static bool FreeSlice(SeriesData* data, Arena arena, int blocksMax)
    {
        for (; data->ChunkCount > 0; data->ChunkCount--)
        {
            if (blocksMax-- <= 0) return true;
            Chunk.Free(data->LastChunk, arena);
        }

        foreach (nint text in (ReadOnlySpan<nint>)[(nint)(&data->Labels), (nint)(&data->Rules), (nint)(&data->Source)]) SetText(arena, (SeriesText*)text, default);
        arena.Free((byte*)data->Chunks, (long)data->ChunkCapacity * sizeof(Chunk));
        arena.Free((byte*)data, sizeof(SeriesData));
        return false;
    }

    internal static bool Move(BlockMover mover, ref SeriesData* data, ref MoveCursor cursor, ref int work)
    {
        if (cursor.IsAtStart)
        {
            data = (SeriesData*)Moved(mover, (byte*)data, sizeof(SeriesData), ref work);
            data->Chunks = (Chunk*)Moved(mover, (byte*)data->Chunks, (long)data->ChunkCapacity * sizeof(Chunk), ref work);
            foreach (nint text in (ReadOnlySpan<nint>)[(nint)(&data->Labels), (nint)(&data->Rules), (nint)(&data->Source)])
            {
                var moved = (SeriesText*)text;
                if (moved->Data != null) moved->Data = Moved(mover, moved->Data, moved->Length, ref work);
            }
        }

        int next = (int)Math.Min(cursor.Position, (ulong)data->ChunkCount);
        for (; work > 0 && next < data->ChunkCount; next++) data->Chunks[next].Data = Moved(mover, data->Chunks[next].Data, data->Chunks[next].Capacity, ref work);
        cursor = cursor.At((ulong)next);
        return next < data->ChunkCount;
    }

    /// <summary>Adds a chunk that was copied.</summary>
    internal static void Add(SeriesData* data, Arena arena, in Chunk chunk)
    {
        Chunk added = chunk;
        data->Samples += chunk.Count;
        Replace(data, arena, data->ChunkCount, 0, &added, 1);
    }

    private static long TextBytes(in SeriesText text) => text.Data == null ? 0 : BlockSize.RoundUp(text.Length);

    private static byte* Moved(BlockMover mover, byte* block, long bytes, ref int work)
    {
        work--;
        byte* moved = mover.Copy(block, bytes);
        if (moved == null) return block;
        mover.Free(block, bytes);
        work -= BlockMover.WorkPerMove;
        return moved;
    }

    private static void Drop(SeriesData* data, Arena arena, int first, int count)
    {
        if (count == 0) return;
        for (int i = first; i < first + count; i++)
        {
            data->Samples -= data->Chunks[i].Count;
            Chunk.Free(data->Chunks + i, arena);
        }

        Replace(data, arena, first, count, null, 0);
    }

    // Writes a chunk anew without the samples of a range, and with another one. With one more sample it may become two chunks, or three.
    private static void Rewrite(SeriesData* data, Arena arena, int index, long from, long to, in Sample sample, bool adds)
    {
        const int PartsMax = 32; // of the smallest chunks; another window costs a few bits for each sample behind
        Chunk* parts = stackalloc Chunk[PartsMax];
        Chunk old = data->Chunks[index];
        bool isCompressed = old.IsCompressed;
        int bytesMax = Math.Max(data->Settings.ChunkBytes, old.Capacity);
        bool divides = adds && (old.Count == Chunk.SamplesMax || old.Bits / 8 > bytesMax - (bytesMax / FullPart));
        int countMax = divides ? Math.Max(1, old.Count / 2) : Chunk.SamplesMax, count = 0, written = 0;
        var reader = ChunkReader.Of(&old);
        bool pending = adds;
        while (reader.MoveNext())
        {
            Sample next = reader.Current;
            if (pending && next.Time >= sample.Time)
            {
                Write(sample);
                pending = false;
            }

            if (next.Time < from || next.Time > to) Write(next);
        }

        if (pending) Write(sample);
        data->Samples += written - old.Count;
        Chunk.Free(&old, arena);
        Replace(data, arena, index, 1, parts, count);

        void Write(in Sample s)
        {
            written++;
            if (count > 0 && !(count == 1 && parts[0].Count >= countMax) && Chunk.TryAppend(parts + count - 1, arena, bytesMax, s)) return;
            parts[count] = Chunk.Create(isCompressed);
            Chunk.TryAppend(parts + count, arena, bytesMax, s);
            count++;
        }
    }

    private static void Replace(SeriesData* data, Arena arena, int index, int removed, Chunk* added, int count)
    {
        int total = data->ChunkCount - removed + count;
        if (total > data->ChunkCapacity)
        {
            int capacity = Math.Max(total, data->ChunkCapacity * 2);
            data->Chunks = (Chunk*)arena.Reallocate((byte*)data->Chunks, (long)data->ChunkCapacity * sizeof(Chunk), (long)capacity * sizeof(Chunk));
            data->ChunkCapacity = capacity;
        }

        var all = new Span<Chunk>(data->Chunks, data->ChunkCapacity);
        all[(index + removed)..data->ChunkCount].CopyTo(all[(index + count)..]);
        new Span<Chunk>(added, count).CopyTo(all[index..]);
        data->ChunkCount = total;
    }
}
