using System.Runtime.CompilerServices;
using RedKite.Server.Changes;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>How a handler finds the keys that its arguments name, and writes strings. The methods differ in what they count and record.</summary>
/// <remarks>
/// An <see cref="Entry"/> that was found stays true until the handler writes, resizes or removes another key; then it
/// is found again. Finding never moves other entries.
/// </remarks>
internal static class KeyLookup
{
    /// <summary>Looks a key up to read its value: counts a hit or miss and records the access.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static Entry Find(this scoped in CommandContext cmd, int argument)
    {
        Entry entry = cmd.Database.Find(cmd[argument], cmd.HashOf(argument), cmd.Expiry);
        if (!entry.Exists)
        {
            NoteMiss(cmd, cmd[argument], cmd.HashOf(argument));
            return entry;
        }

        cmd.Metrics.CountHit();
        cmd.Accesses.RecordRead(cmd.Session, entry);
        return entry;
    }

    /// <summary>Looks up a key that is not an argument, to read its value. All stripes are locked.</summary>
    internal static Entry FindNamed(this scoped in CommandContext cmd, scoped ReadOnlySpan<byte> name)
    {
        Entry entry = cmd.Database.Find(name, cmd.Keyspace.Hash(name), cmd.Expiry);
        if (entry.Exists)
        {
            cmd.Metrics.CountHit();
            cmd.Accesses.RecordRead(cmd.Session, entry);
        }
        else
        {
            NoteMiss(cmd, name, cmd.Keyspace.Hash(name));
        }

        return entry;
    }

    /// <summary>Looks a key up to describe it: counts a hit or miss but records no access.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="argument">The key's argument.</param>
    /// <param name="notifies">Whether a miss is notified.</param>
    internal static Entry Inspect(this scoped in CommandContext cmd, int argument, bool notifies = true)
    {
        Entry entry = cmd.Peek(argument);
        if (entry.Exists) cmd.Metrics.CountHit();
        else if (notifies) NoteMiss(cmd, cmd[argument], cmd.HashOf(argument));
        else cmd.Metrics.CountMiss();
        return entry;
    }

    /// <summary>Looks a key up that is about to change: records the access but counts no hit or miss.</summary>
    // Never inlined: with the search inside, a handler exceeds the JIT's inlining budget, and its uses of the entry become calls
    // with copies of it (docs/performance-log.md, round 28).
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static Entry FindToWrite(this scoped in CommandContext cmd, int argument)
    {
        Entry entry = cmd.Database.OpenToWrite(cmd[argument], cmd.HashOf(argument), cmd.Expiry);
        if (entry.Exists) cmd.Accesses.Record(cmd.Session, entry);
        return entry;
    }

    /// <summary>
    /// Looks a key up whose value is about to be replaced or removed as a whole: records the access. The store announces that itself, so a
    /// snapshot need not write the old value before it goes.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)] // as FindToWrite
    internal static Entry FindToReplace(this scoped in CommandContext cmd, int argument)
    {
        Entry entry = cmd.Database.Find(cmd[argument], cmd.HashOf(argument), cmd.Expiry);
        if (entry.Exists) cmd.Accesses.Record(cmd.Session, entry);
        return entry;
    }

    /// <summary>Looks up a key without a trace: no hit, no miss, no access.</summary>
    internal static Entry Peek(this scoped in CommandContext cmd, int argument) => cmd.PeekIn(cmd.Database, argument);

    /// <summary>Looks a key up in another database without a trace.</summary>
    internal static Entry PeekIn(this scoped in CommandContext cmd, Database database, int argument) => database.Find(cmd[argument], cmd.HashOf(argument), cmd.Expiry);

    /// <summary>Finds a key's string, or replies null or WRONGTYPE.</summary>
    internal static bool FindStringOrReplyNull(this scoped in CommandContext cmd, int argument, out Entry entry)
    {
        entry = cmd.Find(argument);
        if (!entry.Exists)
        {
            cmd.Reply.Null();
            return false;
        }

        return cmd.IsTypeOrReply(entry, DataType.String);
    }

    /// <summary>Whether an entry is missing or of a type; otherwise replies WRONGTYPE.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool IsTypeOrReply(this scoped in CommandContext cmd, scoped in Entry entry, DataType type)
    {
        if (!entry.Exists || entry.Type == type) return true;
        ReplyWrongType(cmd);
        return false;
    }

    /// <summary>Stores a string at a key, replacing any value. Copies the value.</summary>
    internal static Entry WriteString(this scoped in CommandContext cmd, int argument, Entry existing, ReadOnlySpan<byte> value, long expiryMs) =>
        cmd.WriteString(argument, existing, value, StringEncoding.Of(value), expiryMs);

    /// <summary>Stores a string of an encoding at a key, replacing any value. Copies the value.</summary>
    internal static Entry WriteString(this scoped in CommandContext cmd, int argument, Entry existing, ReadOnlySpan<byte> value, ValueEncoding encoding, long expiryMs)
    {
        uint clock = cmd.Accesses.ClockOfRewritten(existing);
        Entry entry = cmd.Database.WriteString(cmd[argument], cmd.HashOf(argument), existing, value.Length, encoding, expiryMs, clock);
        value.CopyTo(entry.Value);
        return entry;
    }

    // Misses are recorded only if notifications of missing keys are selected.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void NoteMiss(scoped in CommandContext cmd, scoped ReadOnlySpan<byte> key, ulong hash)
    {
        cmd.Metrics.CountMiss();
        if (cmd.Recording.IsOn && cmd.Settings.NotifiesKeyMisses) cmd.Recording.Changes.Add(KeyEvent.KeyMiss, cmd.Database.Index, hash, key);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ReplyWrongType(scoped in CommandContext cmd) => cmd.Reply.Error("WRONGTYPE Operation against a key holding the wrong kind of value"u8);
}
