using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Strings;

/// <summary>
/// Commands of newer servers that compare a string before they change it, or set several at once. Replicas and the log get commands of Redis 8.0.
/// The table is their single declaration and this file's contents; SET with a condition is in StringCommands.
/// </summary>
internal static class ConditionalStringCommands
{
    private const string ConditionSyntax = "key condition:[IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest:integer | IFDNE ifdne-digest:integer]";

    private const string MSetExSyntax =
        "numkeys data:<key value [key value ...]> condition:[NX | XX] expiration:[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]";

    // MSETEX numkeys key value ...
    private static readonly KeySpec[] CountedPairs = [new(2, 0, 2, Overwrite | Update, CountAt: 1)];

    internal static readonly CommandFamily Family = new("string", "string",
    [
        new("DIGEST", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly | Access), Digest,
            new("8.4.0", "O(N) where N is the length of the string value.", "Returns the XXH3 digest of the string value of a key in hexadecimal.", "key")),
        new("DELEX", -2, Write | Fast, KeySpecs.One(1, ReadWrite | Delete | VariableFlags, flagsOf: DelExKeyFlags), DelEx,
            new("8.4.0", "O(1) for IFEQ/IFNE, O(N) for IFDEQ/IFDNE where N is the length of the string value.", "Deletes a key, optionally only if its string value or the value's digest is or is not a given one.", ConditionSyntax)),
        new("DELIFEQ", 3, Write | Fast, KeySpecs.One(1, Remove | Access | Delete), DelIfEq,
            new("9.0.0", "O(1)", "Deletes a key if its string value is the given one.", "key value") { IsOfValkey = true }),
        new("MSETEX", -4, Write | DenyOom, CountedPairs, MSetEx,
            new("8.4.0", "O(N) where N is the number of keys to set.", "Sets the string values of one or more keys, all or none, optionally with an expiry.", MSetExSyntax))
        { Tips = ["request_policy:multi_shard", "response_policy:all_succeeded"] },
    ]);

    // DIGEST key
    private static void Digest(ref CommandContext cmd)
    {
        if (!cmd.FindStringOrReplyNull(1, out Entry entry)) return;
        Span<byte> text = stackalloc byte[ValueCondition.DigestLength];
        ValueCondition.Format(ValueCondition.DigestOf(entry), text);
        cmd.Reply.Bulk(text);
    }

    // DELEX key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest]
    private static void DelEx(ref CommandContext cmd)
    {
        if (cmd.Count is not (2 or 4))
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return;
        }

        Entry entry = cmd.FindToReplace(1);
        ValueCondition condition = default;
        if (cmd.Count == 4 && entry.Exists)
        {
            var options = new OptionReader(cmd, first: 2);
            if (entry.Type != DataType.String) cmd.Reply.Error("ERR Key should be of string type if conditions are specified"u8);
            else if (!ValueCondition.TryTake(ref options, out condition)) cmd.Reply.Error("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"u8);
            if (!condition.Exists || !condition.IsValidOrReply(cmd, entry)) return;
        }

        DeleteIf(cmd, entry, condition);
    }

    // Without a condition the value's type does not matter, and it is not read.
    private static KeyFlags DelExKeyFlags(scoped in CommandContext cmd, int start) =>
        cmd.Count - start > 2 ? ReadWrite | Delete : Remove | Delete;

    // DELIFEQ key value
    private static void DelIfEq(ref CommandContext cmd)
    {
        Entry entry = cmd.FindToReplace(1);
        if (cmd.IsTypeOrReply(entry, DataType.String)) DeleteIf(cmd, entry, new ValueCondition(Argument: 2, OfDigest: false, Negated: false));
    }

    private static void DeleteIf(scoped in CommandContext cmd, Entry entry, ValueCondition condition)
    {
        if (!entry.Exists || (condition.Exists && !condition.IsMetBy(cmd, entry)))
        {
            cmd.Reply.Integer(0);
            return;
        }

        cmd.Database.Unlink(entry, UnlinkReason.Deleted);
        cmd.Changed(1, KeyEvent.Del);
        cmd.EffectDelete(1);
        cmd.Reply.Integer(1);
    }

    // MSETEX numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]
    private static void MSetEx(ref CommandContext cmd)
    {
        if (!RespNumber.TryParseInt64(cmd[1], out long count) || count is < 1 or > int.MaxValue)
        {
            cmd.Reply.Error("ERR invalid numkeys value"u8);
            return;
        }

        long end = 2 + (2 * count);
        if (end > cmd.Count)
        {
            cmd.Reply.Error("ERR wrong number of key-value pairs"u8);
            return;
        }

        if (!StringOptions.TryParseMSetExOrReply(cmd, (int)end, out StringOptions options)) return;
        if (!options.TryExpiryOrReply(cmd, out long expiryMs)) return;
        if ((options.OnlyNew || options.OnlyExisting) && !All(cmd, (int)end, exist: options.OnlyExisting))
        {
            cmd.Reply.Integer(0);
            return;
        }

        for (int key = 2; key < end; key += 2) SetOne(cmd, key, options, expiryMs);
        cmd.Reply.Integer(1);
    }

    private static bool All(scoped in CommandContext cmd, int end, bool exist)
    {
        for (int key = 2; key < end; key += 2)
        {
            if (cmd.FindToReplace(key).Exists != exist) return false;
        }

        return true;
    }

    private static void SetOne(scoped in CommandContext cmd, int key, in StringOptions options, long expiryMs)
    {
        Entry entry = cmd.FindToReplace(key);
        if (options.KeepsExpiry && entry.Exists) expiryMs = entry.ExpiryMs;
        cmd.WriteString(key, entry, cmd[key + 1], expiryMs);
        if (options.HasExpiry) cmd.Changed(key, KeyEvent.Expire, count: 0); // before the value's event, unlike SET
        cmd.Changed(key, KeyEvent.Set);
        cmd.EffectSet(key, cmd[key + 1], expiryMs);
    }
}
