using System.Runtime.CompilerServices;
using RedKite.Server.Changes;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>How a handler reports what it changed, and what the log and replicas get instead of its request.</summary>
internal static class ChangeReports
{
    /// <summary>
    /// Reports a change of a key. This one call feeds everything that follows from a change: blocked clients, notifications, the log,
    /// counters.
    /// </summary>
    /// <param name="cmd">The command.</param>
    /// <param name="argument">The key's argument.</param>
    /// <param name="keyEvent">What happened to the key, as Redis's notifications name it.</param>
    /// <param name="count">How many changes it counts for in rdb_changes_since_last_save; 0 for a further event of one change.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void Changed(this scoped in CommandContext cmd, int argument, KeyEvent keyEvent, long count = 1)
    {
        cmd.Metrics.CountChanges(count);
        if (cmd.Recording.IsOn) Record(cmd, argument, keyEvent);
    }

    /// <summary>Names a field that the next change of a hash concerns, for notifications that name fields.</summary>
    internal static void ChangedField(this scoped in CommandContext cmd, int argument) => cmd.ChangedField(cmd[argument]);

    /// <inheritdoc cref="ChangedField(in CommandContext, int)"/>
    internal static void ChangedField(this scoped in CommandContext cmd, scoped ReadOnlySpan<byte> field)
    {
        if (cmd.Recording.IsOn && cmd.Recording.Changes.RecordsFields) cmd.Recording.Changes.AddField(field);
    }

    /// <summary>Reports a change of a key that is not an argument, or not in the selected database.</summary>
    internal static void Changed(this scoped in CommandContext cmd, Database database, ReadOnlySpan<byte> key, ulong hash, KeyEvent keyEvent, long count = 1)
    {
        cmd.Metrics.CountChanges(count);
        if (cmd.Recording.IsOn) cmd.Recording.Changes.Add(keyEvent, database.Index, hash, key);
    }

    /// <summary>Reports that every key of a database may have changed. All stripes are locked.</summary>
    internal static void ChangedDatabase(this scoped in CommandContext cmd, Database database, long count = 1) =>
        cmd.Changed(database, [], 0, KeyEvent.Flush, count);

    /// <summary>Reports a change of the function libraries. They belong to no stripe; the script mutex is held.</summary>
    internal static void ChangedLibraries(this scoped in CommandContext cmd) => cmd.Metrics.CountChanges(1);

    /// <summary>
    /// Begins a command that replicas and the log get instead of the request, in the selected database. Needed where the request alone
    /// does not determine the result. The arguments follow; without a consumer nothing is recorded.
    /// </summary>
    /// <param name="cmd">The command.</param>
    /// <param name="name">The name of the command that replaces it.</param>
    /// <param name="arguments">The number of arguments, the name included.</param>
    /// <param name="targets">Who gets it.</param>
    internal static EffectArguments Effect(this scoped in CommandContext cmd, scoped ReadOnlySpan<byte> name, int arguments, EffectTargets targets = EffectTargets.All)
    {
        if (!cmd.Recording.TakesEffects) return default;
        cmd.Recording.Effects.ReplaceRequest();
        return new EffectArguments(cmd.Recording.Effects.Begin(cmd.Database.Index, arguments, name, targets, cmd.Slot()), cmd.Arguments.Input);
    }

    /// <summary>
    /// The request itself is the effect although nothing counts as changed; or it would be, and this only says so earlier.
    /// </summary>
    /// <param name="cmd">The command.</param>
    /// <param name="onlyReplicas">Whether it is a message, which the log does not keep.</param>
    internal static void EffectRequest(this scoped in CommandContext cmd, bool onlyReplicas = false)
    {
        if (!cmd.Recording.TakesEffects) return;
        cmd.Recording.Effects.ReplaceRequest();
        var effect = new EffectArguments(cmd.Recording.Effects.Begin(cmd.Database.Index, cmd.Count, cmd[0], onlyReplicas ? EffectTargets.Replicas : EffectTargets.All, cmd.Slot()), cmd.Arguments.Input);
        for (int i = 1; i < cmd.Count; i++) effect.Argument(cmd[i]);
    }

    /// <summary>The slot of the command's first key; <see cref="KeySlot.None"/> if it has none, or the keyspace has no slots.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static int Slot(this scoped in CommandContext cmd) => cmd.Keyspace.UsesSlots ? SlotOfKey(cmd) : KeySlot.None;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int SlotOfKey(scoped in CommandContext cmd)
    {
        var keys = new KeyExtraction(cmd.Command);
        return keys.MoveNext(cmd) ? cmd.Keyspace.SlotOf(cmd.HashOf(keys.Argument)) : KeySlot.None;
    }

    /// <summary>Replaces the request, for replicas and the log, by nothing beyond what <see cref="Effect"/> writes.</summary>
    internal static void ReplaceEffect(this scoped in CommandContext cmd)
    {
        if (cmd.Recording.TakesEffects) cmd.Recording.Effects.ReplaceRequest();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Record(scoped in CommandContext cmd, int argument, KeyEvent keyEvent) => cmd.Recording.Changes.Add(keyEvent, cmd.Database.Index, cmd.HashOf(argument), cmd[argument]);
}
