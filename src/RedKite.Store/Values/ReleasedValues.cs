using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Values;

/// <summary>
/// One stripe's values whose entries were removed. Small structures are freed at once; the rest of larger ones waits for the
/// background sweep, which frees a slice at a time, so that no command waits for a million elements. Used with the stripe's lock
/// held.
/// </summary>
internal sealed unsafe class ReleasedValues(Arena arena)
{
    private readonly Queue<Released> _waiting = new();

    private Released _current;
    private bool _hasCurrent;

    internal bool AreWaiting => _hasCurrent || _waiting.Count > 0;

    /// <summary>Values that wait for the background sweep. Read without the lock, it may be a moment old.</summary>
    internal int Waiting => _waiting.Count + (_hasCurrent ? 1 : 0);

    /// <summary>Values that were freed after the command that released them. Read without the lock, it may be a moment old.</summary>
    internal long FreedLater { get; private set; }

    /// <summary>Takes over the structure of an entry whose block is about to be freed or reused, and frees a slice of it.</summary>
    internal void Release(byte* entry) => Release(Take(entry));

    /// <summary>Takes over a group that was removed from its stream, and frees a slice of it.</summary>
    internal void Release(StreamGroupData* group)
    {
        // Wrapped in a stream, so that it is freed like one.
        StreamData* stream = StreamData.Create(arena);
        stream->Groups.Insert(arena, 0, (byte*)group);
        Release(new Released { Type = DataType.Stream, Root = new ValueRoot { Structure = (byte*)stream } });
    }

    /// <summary>Takes over what a stream has remembered of its producers, and frees a slice of it.</summary>
    internal void Release(in StreamProducers producers)
    {
        StreamData* stream = StreamData.Create(arena);
        stream->Producers = producers;
        Release(new Released { Type = DataType.Stream, Root = new ValueRoot { Structure = (byte*)stream } });
    }

    /// <summary>Takes over the part of an array that was removed, and frees a slice of it.</summary>
    internal void Release(ArrayData* removed) =>
        Release(new Released { Type = DataType.Array, Root = new ValueRoot { Structure = (byte*)removed } });

    /// <summary>Takes over the structure of an entry whose block is about to be freed, all of it for the background sweep.</summary>
    internal void SetAside(byte* entry) => _waiting.Enqueue(Take(entry));

    /// <summary>Frees a step of one value, the same one until all of it is freed.</summary>
    internal void FreeStep()
    {
        if (!_hasCurrent && !_waiting.TryDequeue(out _current)) return;
        _hasCurrent = FreeStep(ref _current);
        if (!_hasCurrent) FreedLater++;
    }

    /// <summary>Counts a value without a structure that was freed with the table of a flushed database.</summary>
    internal void NoteFreedLater() => FreedLater++;

    private void Release(Released released)
    {
        var slice = FreeingSlice.Begin();
        while (FreeStep(ref released))
        {
            if (!slice.IsOver) continue;
            _waiting.Enqueue(released);
            return;
        }
    }

    private static Released Take(byte* entry) =>
        new() { Type = EntryBlock.Type(entry), Root = EntryBlock.Root(entry) };

    // Whether something of it is left.
    private bool FreeStep(ref Released released) =>
        StoredTypes.Of(released.Type).FreeSlice(arena, ref released.Root, FreeingSlice.BlocksPerStep);

    private struct Released
    {
        public DataType Type;
        public ValueRoot Root;
    }
}
