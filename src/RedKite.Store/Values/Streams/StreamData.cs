using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// A stream: a tree of nodes, the ids and counters of the stream, its groups and its producers. It is one block in the arena, which does not move;
/// the entry's root points to it. <see cref="StreamAppender"/> adds entries.
/// </summary>
/// <remarks>
/// A node is freed when its last entry is deleted, but trimming may leave a node without live entries. <see cref="Tail"/> is the
/// last node, or null if it has to be looked up again. <see cref="TailKey"/> is its key, <see cref="TailId"/> the id of its last
/// entry, deleted or not. The ids of live entries ascend. A deleted entry may have a higher id than later entries, if XSETID
/// lowered the last id in between.
/// </remarks>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct StreamData
{
    internal IdTree Nodes; // values: addresses of nodes
    internal byte* Tail;
    internal StreamId TailKey;
    internal StreamId TailId;
    internal bool IsTailDeleted;

    /// <summary>Whether the last id was ever lowered; otherwise all ids ascend, those of deleted entries too.</summary>
    internal bool HasLoweredLastId;

    /// <summary>The number of live entries.</summary>
    internal long Length;

    /// <summary>The size of all nodes' blocks, in bytes.</summary>
    internal long NodeBytes;

    /// <summary>The highest id that was ever added, or the one that XSETID has set.</summary>
    internal StreamId LastId;

    /// <summary>The id of the first entry; 0-0 if the stream is empty.</summary>
    internal StreamId FirstId;

    /// <summary>The highest id that was ever deleted explicitly, not by trimming.</summary>
    internal StreamId MaxDeletedId;

    /// <summary>The number of entries that were ever added.</summary>
    internal long EntriesAdded;

    internal NamedTable Groups; // of StreamGroupData

    /// <summary>What is remembered of producers, so that they can add an entry twice.</summary>
    internal StreamProducers Producers;

    internal static StreamData* Create(Arena arena)
    {
        var data = (StreamData*)arena.Allocate(sizeof(StreamData));
        *data = new StreamData { Nodes = IdTree.Empty(sizeof(byte*)) };
        return data;
    }

    /// <summary>The size of the stream with its nodes, groups and producers, in bytes.</summary>
    internal static long Bytes(StreamData* data)
    {
        long bytes = BlockSize.RoundUp(sizeof(StreamData)) + data->NodeBytes + data->Nodes.Bytes + data->Groups.Bytes + data->Producers.Bytes;
        for (int i = 0; i < data->Groups.Count; i++) bytes += StreamGroupData.Bytes((StreamGroupData*)data->Groups[i]);
        return bytes;
    }

    /// <summary>Completes a copy that has its source's nodes, groups and producers: copies the other fields.</summary>
    internal void TakeOverState(StreamData source)
    {
        Producers.TakeOverNumbers(source.Producers);
        source.Nodes = Nodes;
        source.Groups = Groups;
        source.Producers = Producers;
        source.Tail = null;
        this = source;
    }

    /// <summary>Frees about the given number of blocks at most.</summary>
    /// <returns>Whether something is left.</returns>
    internal static bool FreeSlice(StreamData* data, Arena arena, int blocksMax)
    {
        while (data->Nodes.Count > 0)
        {
            if (blocksMax <= 0) return true;
            bool inLeaf = data->Nodes.SeekLast(out IdTree.IdPosition position);
            while (inLeaf)
            {
                byte* node = *(byte**)position.Value;
                arena.Free(node, StreamNode.Bytes(node));
                inLeaf = position.Index > 0 && position.MoveWithin(-1);
            }

            blocksMax -= 1 + data->Nodes.RemoveLastLeaf(arena);
        }

        while (data->Groups.Count > 0)
        {
            var group = (StreamGroupData*)data->Groups[data->Groups.Count - 1];
            if (StreamGroupData.FreeSlice(group, arena, ref blocksMax)) return true;
            data->Groups.RemoveAt(arena, data->Groups.Count - 1);
        }

        if (data->Producers.FreeSlice(arena, ref blocksMax)) return true;
        arena.Free((byte*)data, sizeof(StreamData));
        return false;
    }

    /// <summary>Finds a live entry.</summary>
    internal static bool TryFind(StreamData* data, in StreamId id, out StreamNodeReader reader)
    {
        reader = default;
        if (data->Length == 0 || id > data->LastId) return false;
        if (!data->Nodes.SeekFloor(id, out IdTree.IdPosition position)) return false;
        reader = new StreamNodeReader(*(byte**)position.Value, position.Id);
        while (reader.MoveNext())
        {
            if (reader.IsDeleted || reader.Id < id) continue;
            return reader.Id == id;
        }

        return false;
    }

    /// <summary>Deletes an entry by its id; false if there is none.</summary>
    internal static bool Delete(StreamData* data, Arena arena, in StreamId id)
    {
        if (!TryFind(data, id, out StreamNodeReader reader)) return false;
        reader.MarkDeleted();
        data->Length--;
        if (id == data->TailId) data->IsTailDeleted = true;
        if (id > data->MaxDeletedId) data->MaxDeletedId = id;
        if (StreamNode.Alive(reader.Node) == 0)
        {
            data->Nodes.SeekFloor(id, out IdTree.IdPosition position);
            RemoveNode(data, arena, position);
        }

        if (id == data->FirstId) FindFirstId(data);
        return true;
    }

    /// <summary>Removes a node with all its entries. The caller updates the stream's length.</summary>
    internal static void RemoveNode(StreamData* data, Arena arena, IdTree.IdPosition position)
    {
        FreeNode(data, arena, *(byte**)position.Value, later: false);
        data->Nodes.Remove(arena, position.Id);
    }

    /// <summary>Frees a node that is being removed from the tree, immediately or in a later slice.</summary>
    internal static void FreeNode(StreamData* data, Arena arena, byte* node, bool later)
    {
        int bytes = StreamNode.Bytes(node);
        if (node == data->Tail) data->Tail = null;
        data->NodeBytes -= BlockSize.RoundUp(bytes);
        if (later) arena.FreeLater(node, bytes);
        else arena.Free(node, bytes);
    }

    /// <summary>Moves the nodes that defragmentation requires to move. The stream's own block, the tree, the groups and the producers stay.</summary>
    /// <returns>Whether there are more.</returns>
    internal static bool Move(BlockMover mover, StreamData* data, ref MoveCursor cursor, ref int work)
    {
        var from = new StreamId(cursor.Position, cursor.Position2);
        bool more = data->Nodes.SeekCeiling(from, out IdTree.IdPosition position);
        for (; more && work > 0; more = data->Nodes.MoveNext(ref position))
        {
            byte* node = *(byte**)position.Value;
            int bytes = StreamNode.Bytes(node);
            work--;
            byte* moved = mover.Copy(node, bytes);
            if (moved == null) continue;
            *(byte**)position.Value = moved;
            if (data->Tail == node) data->Tail = moved;
            mover.Free(node, bytes);
            work -= BlockMover.WorkPerMove;
        }

        if (more) cursor = cursor.At(position.Id.Ms, position.Id.Sequence);
        return more;
    }

    /// <summary>Gets the id of the last live entry; false if there is none.</summary>
    internal static bool TryLastEntryId(StreamData* data, out StreamId id)
    {
        id = default;
        if (data->Length == 0) return false;
        FindTail(data);
        id = data->TailId;
        if (!data->IsTailDeleted) return true; // trimming removes the oldest entries first: this one only together with all others
        var cursor = new StreamCursor(data, default, StreamId.Max, reverse: true);
        bool found = cursor.MoveNext();
        id = cursor.Id;
        return found;
    }

    /// <summary>Finds the first live entry again, after the previous one was deleted.</summary>
    internal static void FindFirstId(StreamData* data)
    {
        data->FirstId = default;
        if (data->Length == 0) return;
        bool more = data->Nodes.SeekFirst(out IdTree.IdPosition position);
        for (; more; more = data->Nodes.MoveNext(ref position))
        {
            var reader = new StreamNodeReader(*(byte**)position.Value, position.Id);
            while (reader.MoveNext())
            {
                if (reader.IsDeleted) continue;
                data->FirstId = reader.Id;
                return;
            }
        }
    }

    /// <summary>Returns the last node, to which an entry is to be added; null if there is none.</summary>
    internal static byte* FindTail(StreamData* data)
    {
        if (data->Tail != null || !data->Nodes.SeekLast(out IdTree.IdPosition position)) return data->Tail;
        data->Tail = *(byte**)position.Value;
        data->TailKey = position.Id;
        var reader = new StreamNodeReader(data->Tail, position.Id);
        while (reader.MoveNext())
        {
            data->TailId = reader.Id;
            data->IsTailDeleted = reader.IsDeleted;
        }

        return data->Tail;
    }

    /// <summary>Sets the last id, which must not be lower than that of a live entry.</summary>
    internal static void SetLastId(StreamData* data, Arena arena, in StreamId id)
    {
        // Later entries may have lower ids than nodes that trimming left without live entries, which would then be out of order.
        if (id < data->LastId) data->HasLoweredLastId = true;
        data->LastId = id;
        while (data->Nodes.SeekLast(out IdTree.IdPosition position) && StreamNode.Alive(*(byte**)position.Value) == 0) RemoveNode(data, arena, position);
    }
}
