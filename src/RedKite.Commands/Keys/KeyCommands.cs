using System.Globalization;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Keys;

/// <summary>
/// Commands on keys of any type: delete, inspect, rename, copy, move. The table is their single declaration and this
/// file's contents. Expiry, SCAN with KEYS and RANDOMKEY, DUMP with RESTORE, and OBJECT have their own files.
/// </summary>
internal static class KeyCommands
{
    private static readonly KeySpec[] AllDeleted = KeySpecs.Range(1, -1, 1, Remove | KeyFlags.Delete);
    private static readonly KeySpec[] AllInspected = KeySpecs.Range(1, -1, 1, KeyFlags.ReadOnly);

    internal static readonly CommandFamily Family = new("generic", "keyspace",
    [
        new("DEL", -2, Write, AllDeleted, Del, new("1.0.0", "O(N) where N is the number of keys that will be removed. When a key to remove holds a value other than a string, the individual complexity for this key is O(M) where M is the number of elements in the list, set, sorted set or hash. Removing a single key that holds a string value is O(1).", "Deletes one or more keys.", "key [key ...]")) { Tips = ["request_policy:multi_shard", "response_policy:agg_sum"] },
        new("UNLINK", -2, Write | Fast, AllDeleted, Del, new("4.0.0", "O(1) for each key removed regardless of its size. Then the command does O(N) work in a different thread in order to reclaim memory, where N is the number of allocations the deleted objects where composed of.", "Deletes one or more keys. Frees their memory in the background.", "key [key ...]")) { Tips = ["request_policy:multi_shard", "response_policy:agg_sum"] },
        new("EXISTS", -2, CommandFlags.ReadOnly | Fast, AllInspected, Exists, new("1.0.0", "O(N) where N is the number of keys to check.", "Returns the number of given keys that exist.", "key [key ...]") { History = [("3.0.3", "Accepts several keys.")] }) { Tips = ["request_policy:multi_shard", "response_policy:agg_sum"] },
        new("TOUCH", -2, CommandFlags.ReadOnly | Fast, AllInspected, Touch, new("3.2.1", "O(N) where N is the number of keys that will be touched.", "Updates the access time of one or more keys and returns the number of them that exist.", "key [key ...]")) { Tips = ["request_policy:multi_shard", "response_policy:agg_sum"] },
        new("TYPE", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), Type, new("1.0.0", "O(1)", "Returns the type of the value at a key.", "key")),
        new("RENAME", 3, Write, [new(1, 1, 1, ReadWrite | Access | Delete), new(2, 2, 1, Overwrite | Update)], Rename, new("1.0.0", "O(1)", "Renames a key. Overwrites the destination.", "key newkey")),
        new("RENAMENX", 3, Write | Fast, [new(1, 1, 1, ReadWrite | Access | Delete), new(2, 2, 1, Overwrite | Insert)], RenameNx, new("1.0.0", "O(1)", "Renames a key only if the destination doesn't exist.", "key newkey") { History = [("3.2.0", "Two equal names are no longer an error.")] }),
        new("COPY", -3, Write | DenyOom, [new(1, 1, 1, KeyFlags.ReadOnly | Access), new(2, 2, 1, Overwrite | Update)], Copy, new("6.2.0", "O(N) worst case for collections, where N is the number of nested items. O(1) for string values.", "Copies the value and expiry of a key to another key.", "source destination [DB destination-db] [REPLACE]")) { UsesOtherDatabase = CopiesElsewhere },
        new("MOVE", 3, Write | Fast, KeySpecs.One(1, ReadWrite | Access | Update), Move, new("1.0.0", "O(1)", "Moves a key to another database.", "key db")) { UsesOtherDatabase = static (scoped in CommandContext cmd) => true },
    ]);

    // DEL key [key ...], UNLINK key [key ...]
    private static void Del(ref CommandContext cmd)
    {
        long removed = 0;
        for (int i = 1; i < cmd.Count; i++)
        {
            Entry entry = cmd.Peek(i);
            if (!entry.Exists) continue;
            cmd.Database.Unlink(entry, UnlinkReason.Deleted);
            cmd.Changed(i, KeyEvent.Del);
            removed++;
        }

        cmd.Reply.Integer(removed);
    }

    // EXISTS key [key ...]
    private static void Exists(ref CommandContext cmd)
    {
        long existing = 0;
        for (int i = 1; i < cmd.Count; i++)
        {
            if (cmd.Inspect(i).Exists) existing++;
        }

        cmd.Reply.Integer(existing);
    }

    // TOUCH key [key ...]
    private static void Touch(ref CommandContext cmd)
    {
        long existing = 0;
        for (int i = 1; i < cmd.Count; i++)
        {
            Entry entry = cmd.Find(i);
            if (!entry.Exists) continue;
            if (cmd.Session.NoTouch && !cmd.Settings.IgnoresReads) cmd.Accesses.RecordAnyway(entry); // CLIENT NO-TOUCH is for the other commands
            existing++;
        }

        cmd.Reply.Integer(existing);
    }

    // TYPE key
    private static void Type(ref CommandContext cmd)
    {
        Entry entry = cmd.Inspect(1);
        cmd.Reply.SimpleString(entry.Exists ? StoredTypes.Of(entry).Name : "none"u8);
    }

    // RENAME key newkey
    private static void Rename(ref CommandContext cmd)
    {
        if (TryRenameOrReply(ref cmd, onlyIfFree: false)) cmd.Reply.Ok();
    }

    // RENAMENX key newkey
    private static void RenameNx(ref CommandContext cmd)
    {
        if (TryRenameOrReply(ref cmd, onlyIfFree: true)) cmd.Reply.Integer(1);
    }

    private static bool TryRenameOrReply(ref CommandContext cmd, bool onlyIfFree)
    {
        Entry source = cmd.FindToReplace(1);
        if (!source.Exists)
        {
            cmd.Reply.Error("ERR no such key"u8);
            return false;
        }

        bool sameKey = cmd[1].SequenceEqual(cmd[2]);
        Entry existing = cmd.Peek(2);
        if (onlyIfFree && existing.Exists)
        {
            cmd.Reply.Integer(0);
            return false;
        }

        if (sameKey) return true;
        source.SetAccessClock(cmd.Accesses.NewClock); // as in Redis, the new name is a new key
        cmd.Database.Rename(source, cmd[2], cmd.HashOf(2), existing);
        cmd.Changed(1, KeyEvent.RenameFrom);
        cmd.Changed(2, KeyEvent.RenameTo, count: 0);
        return true;
    }

    // COPY source destination [DB destination-db] [REPLACE]
    private static void Copy(ref CommandContext cmd)
    {
        Database target = cmd.Database;
        bool replace = false;
        var options = new OptionReader(cmd, first: 3);
        while (options.More)
        {
            if (options.Take("REPLACE"u8))
            {
                replace = true;
            }
            else if (options.TakeWithValue("DB"u8, out int database))
            {
                if (!TryDatabaseOrReply(cmd, database, out target)) return;
            }
            else
            {
                cmd.ReplySyntaxError();
                return;
            }
        }

        if (target == cmd.Database && cmd[1].SequenceEqual(cmd[2]))
        {
            cmd.Reply.Error("ERR source and destination objects are the same"u8);
            return;
        }

        Entry source = cmd.Environment.Blocking.IsServing ? cmd.Peek(1) : cmd.Find(1);
        if (!source.Exists)
        {
            cmd.Reply.Integer(0);
            return;
        }

        Entry existing = cmd.PeekIn(target, 2);
        if (existing.Exists && !replace)
        {
            cmd.Reply.Integer(0);
            return;
        }

        if (!StoredTypes.Of(source).CanBeCopied)
        {
            cmd.Reply.Error("ERR not supported for this module key"u8);
            return;
        }

        if (!TryCopy(cmd, source, target, existing)) return;
        cmd.Changed(target, cmd[2], cmd.HashOf(2), KeyEvent.CopyTo);
        cmd.Reply.Integer(1);
    }

    // A value that takes longer than a slice is copied while the client waits; then COPY executes again and attaches the copy.
    private static bool TryCopy(scoped in CommandContext cmd, Entry source, Database target, Entry existing)
    {
        var copy = (EntryCopy?)cmd.Environment.Blocking.CompleteWork;
        if (copy is null && !EntryCopy.MayTakeLong(source))
        {
            Database.Copy(source, target, cmd[2], cmd.HashOf(2), existing, cmd.Accesses.NewClock);
            return true;
        }

        copy ??= EntryCopy.Begin(source, target, cmd[2], cmd.HashOf(2));
        if (!copy.RunSlice() && cmd.BlockOnCopy(copy)) return false;
        copy.RunToEnd();
        copy.Attach(existing, cmd.Accesses.NewClock);
        return true;
    }

    // MOVE key db
    private static void Move(ref CommandContext cmd)
    {
        if (cmd.Settings is { ClusterEnabled: true, Databases: 1 })
        {
            cmd.Reply.Error("ERR MOVE is not allowed in cluster mode"u8);
            return;
        }

        if (!TryDatabaseOrReply(cmd, 2, out Database target)) return;
        if (target == cmd.Database)
        {
            cmd.Reply.Error("ERR source and destination objects are the same"u8);
            return;
        }

        Entry entry = cmd.FindToReplace(1);
        if (!entry.Exists || cmd.PeekIn(target, 1).Exists)
        {
            cmd.Reply.Integer(0);
            return;
        }

        entry.SetAccessClock(cmd.Accesses.NewClock); // as a renamed one
        cmd.Database.MoveTo(target, entry);
        cmd.Changed(1, KeyEvent.MoveFrom);
        cmd.Changed(target, cmd[1], cmd.HashOf(1), KeyEvent.MoveTo, count: 0);
        cmd.Reply.Integer(1);
    }

    // Its errors come when it executes.
    private static bool CopiesElsewhere(scoped in CommandContext cmd)
    {
        for (int i = 3; i + 1 < cmd.Count; i++)
        {
            if (cmd.Is(i, "DB"u8)) return !RespNumber.TryParseInt64(cmd[i + 1], out long database) || database != cmd.Database.Index;
        }

        return false;
    }

    private static bool TryDatabaseOrReply(scoped in CommandContext cmd, int argument, out Database database)
    {
        database = cmd.Database;
        if (!cmd.TryIntegerOrReply(argument, out long index)) return false;
        if (index is < int.MinValue or > int.MaxValue)
        {
            cmd.Reply.Error(string.Create(CultureInfo.InvariantCulture, $"ERR value is out of range, value must between {int.MinValue} and {int.MaxValue}"));
            return false;
        }

        ReadOnlySpan<Database> databases = cmd.Keyspace.Databases;
        if (index < 0 || index >= databases.Length)
        {
            cmd.Reply.Error("ERR DB index is out of range"u8);
            return false;
        }

        database = databases[(int)index];
        return true;
    }
}
