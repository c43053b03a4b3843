using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Keys;

/// <summary>OBJECT: how a value is represented and when it was accessed. The table is its single declaration and this file's contents.</summary>
internal static class ObjectCommands
{
    // Redis shares the objects of these integers and reports a reference count that means "never freed".
    private const long SharedIntegers = 10_000;
    private const long SharedReferences = int.MaxValue;

    private static readonly KeySpec[] Inspected = KeySpecs.One(2, KeyFlags.ReadOnly);

    internal static readonly CommandFamily Family = new("generic", "keyspace",
    [
        new("OBJECT", -2, None, KeySpecs.None, Help, new("2.2.3", "Depends on subcommand.", "A container for commands that inspect the representation of values."),
        [
            new("ENCODING", 3, ReadOnly, Inspected, Encoding, new("2.2.3", "O(1)", "Returns the internal encoding of the value at a key.", "key")) { Tips = ["nondeterministic_output"] },
            new("FREQ", 3, ReadOnly, Inspected, Freq, new("4.0.0", "O(1)", "Returns the logarithmic access counter of a key. Requires an LFU policy.", "key")) { Tips = ["nondeterministic_output"] },
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("6.2.0", "O(1)", "Lists the subcommands.")),
            new("IDLETIME", 3, ReadOnly, Inspected, IdleTime, new("2.2.3", "O(1)", "Returns the seconds since the last access to a key.", "key")) { Tips = ["nondeterministic_output"] },
            new("REFCOUNT", 3, ReadOnly, Inspected, RefCount, new("2.2.3", "O(1)", "Returns the number of references to the value at a key.", "key")) { Tips = ["nondeterministic_output"] },
        ]),
    ]);

    // OBJECT ENCODING key
    private static void Encoding(ref CommandContext cmd)
    {
        if (TryInspectOrReplyNull(ref cmd, out Entry entry)) cmd.Reply.Bulk(StoredTypes.Of(entry).EncodingName(entry.Encoding));
    }

    // OBJECT FREQ key
    private static void Freq(ref CommandContext cmd)
    {
        if (!TryInspectOrReplyNull(ref cmd, out Entry entry)) return;
        if (!cmd.Settings.CountsFrequency)
        {
            cmd.Reply.Error("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."u8);
            return;
        }

        cmd.Reply.Integer(AccessClock.LfuCounter(entry.AccessClock, cmd.NowMs, cmd.Settings.LfuDecayMinutes));
    }

    // OBJECT IDLETIME key
    private static void IdleTime(ref CommandContext cmd)
    {
        if (!TryInspectOrReplyNull(ref cmd, out Entry entry)) return;
        if (cmd.Settings.CountsFrequency)
        {
            cmd.Reply.Error("ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."u8);
            return;
        }

        cmd.Reply.Integer(AccessClock.IdleSeconds(entry.AccessClock, cmd.NowMs));
    }

    // OBJECT REFCOUNT key
    private static void RefCount(ref CommandContext cmd)
    {
        if (!TryInspectOrReplyNull(ref cmd, out Entry entry)) return;
        bool shared = entry is { Type: DataType.String, Encoding: ValueEncoding.Integer }
            && RespNumber.TryParseInt64(entry.Value, out long value) && value is >= 0 and < SharedIntegers
            && SharesIntegers(cmd.Settings);
        cmd.Reply.Integer(shared ? SharedReferences : 1);
    }

    // OBJECT HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "ENCODING <key>",
        "    Returns the encoding of the value of a key.",
        "FREQ <key>",
        "    Returns the access counter of a key, which grows with the logarithm of its accesses.",
        "IDLETIME <key>",
        "    Returns the seconds since the last access to a key.",
        "REFCOUNT <key>",
        "    Returns the number of references to the value of a key.");

    private static bool TryInspectOrReplyNull(ref CommandContext cmd, out Entry entry)
    {
        entry = cmd.Inspect(2, notifies: false);
        if (entry.Exists) return true;
        cmd.Reply.Null();
        return false;
    }

    // Redis doesn't share integers if a policy needs the access clock of each key.
    private static bool SharesIntegers(Settings settings) =>
        settings.MaxMemoryBytes == 0
        || settings.MaxMemoryPolicy is not (MaxMemoryPolicy.AllKeysLru or MaxMemoryPolicy.VolatileLru or MaxMemoryPolicy.AllKeysLfu or MaxMemoryPolicy.VolatileLfu or MaxMemoryPolicy.AllKeysLrm or MaxMemoryPolicy.VolatileLrm);
}
