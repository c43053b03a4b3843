using System.Buffers;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Sets;

namespace RedKite.Server.Commands.Sets;

/// <summary>Opens sets for handlers.</summary>
internal static class SetAccess
{
    // So few keys are read, whatever they are.
    private const int AlwaysRepeated = 8;

    /// <summary>Opens a key's set to read it, an empty one for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToReadSetOrReply(this scoped in CommandContext cmd, int argument, out SetView set)
    {
        set = default;
        Entry entry = cmd.Find(argument);
        if (!cmd.IsTypeOrReply(entry, DataType.Set)) return false;
        set = View(cmd, entry);
        return true;
    }

    /// <summary>
    /// Opens several sets to read them, or replies WRONGTYPE. The array is rented and longer than the count:
    /// <see cref="Return"/> it.
    /// </summary>
    internal static bool OpenToReadSetsOrReply(this scoped in CommandContext cmd, int first, int count, out SetView[] sets)
    {
        sets = ArrayPool<SetView>.Shared.Rent(count);
        for (int i = 0; i < count; i++)
        {
            if (cmd.OpenToReadSetOrReply(first + i, out sets[i])) continue;
            Return(sets);
            return false;
        }

        if (count <= AlwaysRepeated) return true;
        long[] sizes = ArrayPool<long>.Shared.Rent(count);
        for (int i = 0; i < count; i++) sizes[i] = sets[i].Count;
        bool fit = RepeatedKeys.FitOrReply(cmd, first, sizes.AsSpan(0, count));
        ArrayPool<long>.Shared.Return(sizes);
        if (!fit) Return(sets);
        return fit;
    }

    /// <summary>Returns what <see cref="OpenToReadSetsOrReply"/> rented.</summary>
    internal static void Return(SetView[] sets) => ArrayPool<SetView>.Shared.Return(sets);

    /// <summary>Opens a key's set to change it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToWriteSetOrReply(this scoped in CommandContext cmd, int argument, out SetValue set)
    {
        set = default;
        Entry entry = cmd.FindToWrite(argument);
        if (!cmd.IsTypeOrReply(entry, DataType.Set)) return false;
        if (entry.Exists) set = SetValue.Open(cmd.Database, entry, cmd.SetLimits(), cmd.Expiry.ToWrite);
        return true;
    }

    /// <summary>Opens a key's set to add members to it, and creates it if the key is missing; otherwise replies WRONGTYPE.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="argument">The key's argument.</param>
    /// <param name="firstMember">The first member that is to be added.</param>
    /// <param name="count">The number of members that are to be added.</param>
    /// <param name="set">The set.</param>
    internal static bool OpenToWriteSetOrReply(this scoped in CommandContext cmd, int argument, scoped ReadOnlySpan<byte> firstMember, int count, out SetValue set)
    {
        set = default;
        Entry entry = cmd.FindToWrite(argument);
        if (!cmd.IsTypeOrReply(entry, DataType.Set)) return false;
        SetLimits limits = cmd.SetLimits();
        if (!entry.Exists)
        {
            set = SetValue.Create(cmd.Database, cmd[argument], cmd.HashOf(argument), cmd.Accesses.NewClock, firstMember, count, limits);
            return true;
        }

        set = SetValue.Open(cmd.Database, entry, limits, cmd.Expiry.ToWrite);
        set.Expect(count);
        return true;
    }

    /// <summary>The settings that limit the size of a compact set.</summary>
    internal static SetLimits SetLimits(this scoped in CommandContext cmd)
    {
        Config.Settings settings = cmd.Settings;
        return new SetLimits(settings.SetMaxIntsetEntries, settings.SetMaxListpackEntries, settings.SetMaxListpackValueBytes);
    }

    /// <summary>The set of an entry, an empty one for a missing entry, without members that have expired.</summary>
    internal static SetView View(scoped in CommandContext cmd, Entry entry) =>
        SetView.Of(cmd.Database, SetExpiry.RemoveExpired(cmd.Database, entry, cmd.Expiry), cmd.Expiry);

    /// <summary>
    /// Opens a key's set to look up members, or walk over a part of it, which takes as long whether others have expired or not; its count may be too
    /// large. Otherwise replies WRONGTYPE.
    /// </summary>
    internal static bool OpenToLookUpOrReply(this scoped in CommandContext cmd, int argument, out SetView set)
    {
        set = default;
        Entry entry = cmd.Find(argument);
        if (!cmd.IsTypeOrReply(entry, DataType.Set)) return false;
        set = Looking(cmd, entry);
        return true;
    }

    /// <summary>The set of an entry, to look up members: its count may be too large.</summary>
    internal static SetView Looking(scoped in CommandContext cmd, Entry entry) => SetView.Of(cmd.Database, entry, cmd.Expiry, countsLiving: false);
}
