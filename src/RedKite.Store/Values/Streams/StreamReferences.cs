using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>What becomes of the groups' references to an entry that is to be removed.</summary>
internal enum StreamReferencePolicy
{
    /// <summary>They stay: the id remains pending.</summary>
    Keep,

    /// <summary>They are removed with the entry.</summary>
    Remove,

    /// <summary>An entry that a group has not read, or that is pending in one, is not removed.</summary>
    OnlyUnreferenced,
}

/// <summary>A reference that was removed: the index of its group, and the entry's id.</summary>
internal readonly record struct StreamReference(int Group, StreamId Id);

/// <summary>What a removal with a policy has removed, for those who must know each id.</summary>
internal sealed class StreamRemovals
{
    /// <summary>Entries that were removed one by one.</summary>
    internal List<StreamId> Entries { get; } = [];

    /// <summary>References that were removed.</summary>
    internal List<StreamReference> References { get; } = [];
}

/// <summary>References of groups to entries: an entry that a group has still to read, or that is pending in it.</summary>
internal static unsafe class StreamReferences
{
    /// <summary>Whether any group refers to an entry.</summary>
    internal static bool Exist(StreamData* data, in StreamId id)
    {
        for (int i = 0; i < data->Groups.Count; i++)
        {
            var group = (StreamGroupData*)data->Groups[i];
            if (group->LastId < id || group->Pending.Find(id) != null) return true;
        }

        return false;
    }

    /// <summary>Removes an id from everything that is pending.</summary>
    internal static void Remove(StreamData* data, Arena arena, in StreamId id, StreamRemovals? removals)
    {
        for (int i = 0; i < data->Groups.Count; i++)
        {
            var group = (StreamGroupData*)data->Groups[i];
            if (group->Pending.Count > 0 && StreamGroupData.RemovePending(group, arena, id)) removals?.References.Add(new StreamReference(i, id));
        }
    }
}
