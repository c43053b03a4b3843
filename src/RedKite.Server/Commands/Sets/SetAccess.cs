using System.Buffers;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Sets;

namespace RedKite.Server.Commands.Sets;

/// <summary>How commands come by sets.</summary>
internal static class SetAccess
{
    /// <summary>How large small sets may be now.</summary>
    internal static SetLimits Limits(scoped in CommandContext cmd)
    {
        Config.Settings settings = cmd.Server.Settings;
        return new SetLimits(settings.SetMaxIntsetEntries, settings.SetMaxListpackEntries, settings.SetMaxListpackValueBytes);
    }

    /// <summary>The set of an entry, without members if that is missing.</summary>
    internal static SetView View(scoped in CommandContext cmd, Entry entry) => SetView.Of(cmd.Database, entry);

    /// <summary>Looks a set up to read it, or replies WRONGTYPE. One that is missing has no members.</summary>
    internal static bool TryReadOrReply(scoped in CommandContext cmd, int argument, out SetView set)
    {
        set = default;
        Entry entry = cmd.Find(argument);
        if (!cmd.IsTypeOrReply(entry, DataType.Set)) return false;
        set = View(cmd, entry);
        return true;
    }

    /// <summary>The set of an entry that exists, to change it.</summary>
    internal static SetValue Open(scoped in CommandContext cmd, Entry entry) => SetValue.Open(cmd.Database, entry, Limits(cmd));

    /// <summary>The set of a key, made if it is missing, to add members to it.</summary>
    internal static SetValue OpenOrCreate(scoped in CommandContext cmd, int argument, Entry entry, scoped ReadOnlySpan<byte> first, int count)
    {
        SetLimits limits = Limits(cmd);
        if (!entry.Exists) return SetValue.Create(cmd.Database, cmd[argument], cmd.HashOf(argument), cmd.NewAccessClock, first, count, limits);
        SetValue set = SetValue.Open(cmd.Database, entry, limits);
        set.Expect(count);
        return set;
    }

    /// <summary>Removes a key whose set has lost its last member.</summary>
    internal static void RemoveIfEmpty(scoped in CommandContext cmd, int argument, SetValue set)
    {
        if (set.Count == 0) cmd.Database.Remove(cmd.Peek(argument));
    }

    /// <summary>
    /// Looks several sets up to read them, or replies WRONGTYPE. The array is rented: <see cref="Return"/> it.
    /// </summary>
    internal static bool TryReadAllOrReply(scoped in CommandContext cmd, int first, int count, out SetView[] sets)
    {
        sets = ArrayPool<SetView>.Shared.Rent(count);
        for (int i = 0; i < count; i++)
        {
            if (TryReadOrReply(cmd, first + i, out sets[i])) continue;
            Return(sets);
            return false;
        }

        return true;
    }

    /// <summary>Gives back what <see cref="TryReadAllOrReply"/> rented.</summary>
    internal static void Return(SetView[] sets) => ArrayPool<SetView>.Shared.Return(sets);
}
