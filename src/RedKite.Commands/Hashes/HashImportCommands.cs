using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Hashes;

/// <summary>
/// HIMPORT: hashes from lists of field names that the connection has prepared. The table is the single declaration of its subcommands. Replicas and the log
/// get DEL and HSET.
/// </summary>
internal static class HashImportCommands
{
    private const int FirstField = 3;
    private const int FirstValue = 4;

    internal static readonly CommandFamily Family = new("hash", "hash",
    [
        new("HIMPORT", -2, CommandFlags.None, KeySpecs.None, Help, new("8.10.0", "Depends on subcommand.", "Creates hashes from lists of field names that the connection has prepared."),
        [
            new("PREPARE", -4, DenyOom, KeySpecs.None, Prepare,
                new("8.10.0", "O(N*log(N)) where N is the number of fields.", "Gives a list of field names a name, for this connection.", "fieldset-name field [field ...]")) { Tips = ["request_policy:all_shards"] },
            new("SET", -5, Write | DenyOom, KeySpecs.One(2, Overwrite | Update), Set,
                new("8.10.0", "O(N) where N is the number of fields in the fieldset.", "Creates a hash of the fields of a prepared list. Replaces the key's hash.", "key fieldset-name value [value ...]")),
            new("DISCARD", 3, CommandFlags.None, KeySpecs.None, Discard,
                new("8.10.0", "O(N) where N is the number of session-local fieldsets.", "Removes a prepared list.", "fieldset-name")) { Tips = ["request_policy:all_shards"] },
            new("DISCARDALL", 2, CommandFlags.None, KeySpecs.None, DiscardAll,
                new("8.10.0", "O(N) where N is the number of session-local fieldsets.", "Removes all prepared lists.")) { Tips = ["request_policy:all_shards"] },
        ]),
    ]);

    // HIMPORT PREPARE fieldset-name field [field ...]
    private static void Prepare(ref CommandContext cmd)
    {
        long bytes = cmd[2].Length;
        for (int i = FirstField; i < cmd.Count; i++) bytes += cmd[i].Length;
        if (cmd.Environment.IsInScript) bytes += Sets(cmd)?.Bytes ?? 0; // the connection's are counted anyway
        if (!cmd.IsStateWithinLimitOrReply(bytes, cmd.Count - FirstField + 1)) return;

        var seen = new HashSet<byte[]>(NameComparer.Instance);
        for (int i = FirstField; i < cmd.Count; i++)
        {
            if (seen.Add(cmd[i].ToArray())) continue;
            cmd.Reply.Error("ERR duplicate field name in fieldset"u8);
            return;
        }

        ClientFieldSets sets = Sets(cmd) ?? new ClientFieldSets();
        sets.Set(cmd[2], [.. seen]);
        SetSets(cmd, sets);
        cmd.Reply.Ok();
    }

    // A script neither sees nor changes its caller's lists: they belong to the connection.
    private static ClientFieldSets? Sets(scoped in CommandContext cmd) => cmd.Environment.IsInScript ? cmd.Environment.UnitFieldSets : cmd.Session.FieldSets;

    private static void SetSets(scoped in CommandContext cmd, ClientFieldSets? sets)
    {
        if (cmd.Environment.IsInScript) cmd.Environment.UnitFieldSets = sets;
        else cmd.Session.FieldSets = sets;
    }

    // HIMPORT SET key fieldset-name value [value ...]
    private static void Set(ref CommandContext cmd)
    {
        if (Sets(cmd)?.Find(cmd[3]) is not { } fields)
        {
            cmd.Reply.Error("ERR no such fieldset"u8);
            return;
        }

        if (cmd.Count - FirstValue != fields.Length)
        {
            cmd.Reply.Error("ERR number of values does not match the number of fields in the fieldset"u8);
            return;
        }

        Entry existing = cmd.FindToReplace(2);
        if (!cmd.IsTypeOrReply(existing, DataType.Hash)) return;
        if (existing.Exists)
        {
            cmd.Database.Unlink(existing, UnlinkReason.Deleted);
            cmd.EffectDelete(2);
        }

        HashValue hash = cmd.CreateHash(2);
        HashLimits limits = cmd.HashLimits();
        hash.Expect(fields.Length, limits);
        for (int i = 0; i < fields.Length; i++)
        {
            hash.Set(fields[i], cmd[FirstValue + i], limits);
            cmd.ChangedField(fields[i]);
        }

        cmd.Changed(2, KeyEvent.HSet, fields.Length);
        if (cmd.Recording.TakesEffects)
        {
            EffectArguments effect = cmd.Effect("HSET"u8, 2 + (2 * fields.Length)).Argument(cmd[2]);
            for (int i = 0; i < fields.Length; i++) effect.Argument(fields[i]).Argument(cmd[FirstValue + i]);
        }

        cmd.Reply.Ok();
    }

    // HIMPORT DISCARD fieldset-name
    private static void Discard(ref CommandContext cmd) => cmd.Reply.Integer(Sets(cmd)?.Remove(cmd[2]) == true ? 1 : 0);

    // HIMPORT DISCARDALL
    private static void DiscardAll(ref CommandContext cmd)
    {
        int count = Sets(cmd)?.Count ?? 0;
        SetSets(cmd, null);
        cmd.Reply.Integer(count);
    }

    // HIMPORT without a subcommand has too few arguments: this is never executed.
    private static void Help(ref CommandContext cmd) => cmd.ReplySyntaxError();
}
