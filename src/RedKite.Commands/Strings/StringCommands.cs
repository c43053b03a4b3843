using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Strings;

/// <summary>
/// String commands. The table is their single declaration and this file's contents. Counters are in CounterCommands;
/// LCS is in LongestCommonSubsequence.
/// </summary>
internal static class StringCommands
{
    // The 32-bit lengths of an entry cover its key and its value, however large proto-max-bulk-len is.
    private const int StringBytesMax = 1 << 30;

    private const string SetSyntax =
        "key value condition:[NX | XX | IFEQ@8.4.0 ifeq-value | IFNE@8.4.0 ifne-value | IFDEQ@8.4.0 ifdeq-digest:integer | IFDNE@8.4.0 ifdne-digest:integer]@2.6.12 [GET@6.2.0] expiration:[EX@2.6.12 seconds | PX@2.6.12 milliseconds "
        + "| EXAT@6.2.0 unix-time-seconds | PXAT@6.2.0 unix-time-milliseconds | KEEPTTL@6.0.0]";

    private static readonly (string Version, string Change)[] SetHistory =
    [
        ("2.6.12", "Adds `EX`, `PX`, `NX` and `XX`."),
        ("6.0.0", "Adds `KEEPTTL`."),
        ("6.2.0", "Adds `GET`, `EXAT` and `PXAT`."),
        ("7.0.0", "`GET` may be combined with `NX`."),
        ("8.4.0", "Adds `IFEQ`, `IFNE`, `IFDEQ` and `IFDNE`."),
    ];

    private const string GetExSyntax = "key expiration:[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]";

    private const string RangeComplexity = "O(N) where N is the length of the returned string.";

    internal static readonly CommandFamily Family = new("string", "string",
    [
        new("GET", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly | Access), Get,
            new("1.0.0", "O(1)", "Returns the string value of a key.", "key")),
        new("SET", -3, Write | DenyOom | Short, KeySpecs.One(1, ReadWrite | Access | Update | VariableFlags, "reads and returns the old value with GET", SetKeyFlags), Set,
            new("1.0.0", "O(1)", "Sets the string value of a key, optionally on a condition and with an expiry.", SetSyntax) { History = SetHistory }),
        new("SETNX", 3, Write | DenyOom | Fast, KeySpecs.One(1, Overwrite | Insert), SetNx,
            new("1.0.0", "O(1)", "Sets the string value of a key only if the key doesn't exist.", "key value") { DeprecatedSince = "2.6.12", ReplacedBy = "`SET` with the `NX` argument" }),
        new("SETEX", 4, Write | DenyOom | Short, KeySpecs.One(1, Overwrite | Update), SetEx,
            new("2.0.0", "O(1)", "Sets the string value of a key and its expiry in seconds.", "key seconds value") { DeprecatedSince = "2.6.12", ReplacedBy = "`SET` with the `EX` argument" }),
        new("PSETEX", 4, Write | DenyOom | Short, KeySpecs.One(1, Overwrite | Update), PSetEx,
            new("2.6.0", "O(1)", "Sets the string value of a key and its expiry in milliseconds.", "key milliseconds value") { DeprecatedSince = "2.6.12", ReplacedBy = "`SET` with the `PX` argument" }),
        new("GETEX", -2, Write | Fast, KeySpecs.One(1, ReadWrite | Access | Update, "updates because it sets the expiry"), GetEx,
            new("6.2.0", "O(1)", "Returns the string value of a key and sets or removes the key's expiry.", GetExSyntax)),
        new("GETDEL", 2, Write | Fast, KeySpecs.One(1, ReadWrite | Access | Delete), GetDel,
            new("6.2.0", "O(1)", "Returns the string value of a key and deletes the key.", "key")),
        new("GETSET", 3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Access | Update), GetSet,
            new("1.0.0", "O(1)", "Sets the string value of a key and returns the previous one.", "key value") { DeprecatedSince = "6.2.0", ReplacedBy = "`SET` with the `!GET` argument" }),
        new("MGET", -2, CommandFlags.ReadOnly | Fast, KeySpecs.Range(1, -1, 1, KeyFlags.ReadOnly | Access), MGet,
            new("1.0.0", "O(N) where N is the number of keys to retrieve.", "Returns the string values of one or more keys.", "key [key ...]")) { Tips = ["request_policy:multi_shard"] },
        new("MSET", -3, Write | DenyOom, KeySpecs.Range(1, -1, 2, Overwrite | Update), MSet,
            new("1.0.1", "O(N) where N is the number of keys to set.", "Sets the string values of one or more keys.", "data:<key value [key value ...]>")) { Tips = ["request_policy:multi_shard", "response_policy:all_succeeded"] },
        new("MSETNX", -3, Write | DenyOom, KeySpecs.Range(1, -1, 2, Overwrite | Insert), MSetNx,
            new("1.0.1", "O(N) where N is the number of keys to set.", "Sets the string values of one or more keys only if none of the keys exists.", "data:<key value [key value ...]>")),
        new("APPEND", 3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Insert), Append,
            new("2.0.0", "O(1) amortized, if the appended string is short.", "Appends to the string value of a key. Creates the key if it doesn't exist.", "key value")),
        new("STRLEN", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), StrLen,
            new("2.2.0", "O(1)", "Returns the length of the string value of a key.", "key")),
        new("SETRANGE", 4, Write | DenyOom | Short, KeySpecs.One(1, ReadWrite | Update), SetRange,
            new("2.2.0", "O(M) where M is the length of the value and of the zero bytes that pad the string up to the offset.", "Overwrites part of the string value of a key from an offset. Pads a shorter string with zero bytes.", "key offset value")),
        new("GETRANGE", 4, CommandFlags.ReadOnly | Short, KeySpecs.One(1, KeyFlags.ReadOnly | Access), GetRange,
            new("2.4.0", RangeComplexity, "Returns a substring of the string value of a key.", "key start end")),
        new("SUBSTR", 4, CommandFlags.ReadOnly | Short, KeySpecs.One(1, KeyFlags.ReadOnly | Access), GetRange,
            new("1.0.0", RangeComplexity, "Returns a substring of the string value of a key.", "key start end") { DeprecatedSince = "2.0.0", ReplacedBy = "`GETRANGE`" }),
        new("LCS", -3, CommandFlags.ReadOnly, KeySpecs.Range(1, 2, 1, KeyFlags.ReadOnly | Access), LongestCommonSubsequence.Lcs,
            new("7.0.0", "O(N*M) where N and M are the lengths of s1 and s2, respectively", "Finds the longest common subsequence of two strings.",
                "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len:integer] [WITHMATCHLEN]")),
    ]);

    // GET key
    private static void Get(ref CommandContext cmd)
    {
        if (!cmd.FindStringOrReplyNull(1, out Entry entry)) return;
        cmd.Reply.Bulk(entry.Value);
    }

    // SET key value [NX | XX | IFEQ value | IFNE value | IFDEQ digest | IFDNE digest] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]
    private static void Set(ref CommandContext cmd)
    {
        if (cmd.Count > 3)
        {
            SetWithOptions(ref cmd);
            return;
        }

        cmd.WriteString(1, cmd.FindToReplace(1), cmd[2], Database.NoExpiry);
        cmd.Changed(1, KeyEvent.Set);
        cmd.Reply.Ok();
    }

    // SET reads the old value only with GET or a condition on it. As in Redis, a condition needs no permission to read.
    private static KeyFlags SetKeyFlags(scoped in CommandContext cmd, int start)
    {
        bool hasCondition = false;
        for (int i = start + 3; i < cmd.Count; i++)
        {
            if (cmd.Is(i, "GET"u8)) return ReadWrite | Access | Update;
            hasCondition |= ValueCondition.IsWord(cmd, i);
        }

        return (hasCondition ? ReadWrite : Overwrite) | Update;
    }

    private static void SetWithOptions(ref CommandContext cmd)
    {
        if (!StringOptions.TryParseSetOrReply(cmd, out StringOptions options)) return;
        if (!options.TryExpiryOrReply(cmd, out long expiryMs)) return;

        // With GET this is also a read: it counts a hit or miss, and another type than a string is an error.
        Entry entry = options.ReturnsOld ? cmd.Find(1) : cmd.FindToReplace(1);
        if (options.ReturnsOld && !cmd.IsTypeOrReply(entry, DataType.String)) return;
        bool isMet = entry.Exists ? !options.OnlyNew : !options.OnlyExisting;
        if (isMet && options.Condition.Exists)
        {
            if (!cmd.IsTypeOrReply(entry, DataType.String) || !options.Condition.IsValidOrReply(cmd, entry)) return;
            isMet = options.Condition.IsMetBy(cmd, entry);
        }

        if (options.ReturnsOld) ReplyValueOrNull(cmd, entry);
        if (!isMet)
        {
            if (!options.ReturnsOld) cmd.Reply.Null();
            return;
        }

        if (options.KeepsExpiry && entry.Exists) expiryMs = entry.ExpiryMs;
        cmd.WriteString(1, entry, cmd[2], expiryMs);
        cmd.Changed(1, KeyEvent.Set);
        if (options.HasExpiry) ReportExpiry(cmd, 2, expiryMs);
        else if (options.Condition.Exists) cmd.EffectSet(1, cmd[2], expiryMs); // a replica may be of a version without conditions
        if (!options.ReturnsOld) cmd.Reply.Ok();
    }

    // SETNX key value
    private static void SetNx(ref CommandContext cmd)
    {
        Entry entry = cmd.FindToReplace(1);
        if (entry.Exists)
        {
            cmd.Reply.Integer(0);
            return;
        }

        cmd.WriteString(1, entry, cmd[2], Database.NoExpiry);
        cmd.Changed(1, KeyEvent.Set);
        cmd.Reply.Integer(1);
    }

    // SETEX key seconds value
    private static void SetEx(ref CommandContext cmd) => SetExpiring(ref cmd, ExpiryUnit.Seconds);

    // PSETEX key milliseconds value
    private static void PSetEx(ref CommandContext cmd) => SetExpiring(ref cmd, ExpiryUnit.Milliseconds);

    private static void SetExpiring(ref CommandContext cmd, ExpiryUnit unit)
    {
        if (!ExpiryArgument.TryPositiveOrReply(cmd, 2, unit, out long expiryMs)) return;
        cmd.WriteString(1, cmd.FindToReplace(1), cmd[3], expiryMs);
        cmd.Changed(1, KeyEvent.Set);
        ReportExpiry(cmd, 3, expiryMs);
        cmd.Reply.Ok();
    }

    // A string that was set with an expiry: one change of two events. Only an absolute expiry means the same when it is replayed.
    private static void ReportExpiry(scoped in CommandContext cmd, int value, long expiryMs)
    {
        cmd.Changed(1, KeyEvent.Expire, count: 0);
        cmd.EffectSetWithExpiry(1, value, expiryMs);
    }

    // GETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]
    private static void GetEx(ref CommandContext cmd)
    {
        // As in Redis, the time is parsed only if the key holds a string.
        if (!StringOptions.TryParseGetExOrReply(cmd, out StringOptions options)) return;
        if (!cmd.FindStringOrReplyNull(1, out Entry entry)) return;
        if (!options.TryExpiryOrReply(cmd, out long expiryMs)) return;

        cmd.Reply.Bulk(entry.Value);
        if (options.IsAbsolute && options.HasExpiry && cmd.Expiry.HasPassed(expiryMs))
        {
            cmd.Database.Unlink(entry, UnlinkReason.Deleted);
            cmd.Changed(1, KeyEvent.Del);
            cmd.EffectDelete(1);
        }
        else if (options.HasExpiry)
        {
            cmd.Database.WriteExpiry(entry, expiryMs);
            cmd.Changed(1, KeyEvent.Expire);
            cmd.EffectExpireAt(1, expiryMs);
        }
        else if (options.Persists && entry.Expires)
        {
            cmd.Database.WriteExpiry(entry, Database.NoExpiry);
            cmd.Changed(1, KeyEvent.Persist);
            if (cmd.Recording.TakesEffects) cmd.Effect("PERSIST"u8, 2).Argument(cmd[1]);
        }
    }

    // GETDEL key
    private static void GetDel(ref CommandContext cmd)
    {
        if (!cmd.FindStringOrReplyNull(1, out Entry entry)) return;
        cmd.Reply.Bulk(entry.Value);
        if (cmd.Reply.Overflowed) return;
        cmd.Database.Unlink(entry, UnlinkReason.Deleted);
        cmd.Changed(1, KeyEvent.Del);
        cmd.EffectDelete(1);
    }

    // GETSET key value
    private static void GetSet(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadStringOrReply(1, out Entry entry)) return;
        ReplyValueOrNull(cmd, entry);
        if (cmd.Reply.Overflowed) return;
        cmd.WriteString(1, entry, cmd[2], Database.NoExpiry);
        cmd.Changed(1, KeyEvent.Set);
    }

    // MGET key [key ...]
    private static void MGet(ref CommandContext cmd)
    {
        cmd.Reply.Array(cmd.Count - 1);
        for (int i = 1; i < cmd.Count; i++)
        {
            // Another type replies null, not an error.
            Entry entry = cmd.Find(i);
            if (entry.Exists && entry.Type == DataType.String) cmd.Reply.Bulk(entry.Value);
            else cmd.Reply.Null();
        }
    }

    // MSET key value [key value ...]
    private static void MSet(ref CommandContext cmd)
    {
        if (!HasPairsOrReply(cmd)) return;
        SetPairs(cmd);
        cmd.Reply.Ok();
    }

    // MSETNX key value [key value ...]
    private static void MSetNx(ref CommandContext cmd)
    {
        if (!HasPairsOrReply(cmd)) return;
        for (int i = 1; i < cmd.Count; i += 2)
        {
            if (!cmd.FindToReplace(i).Exists) continue;
            cmd.Reply.Integer(0);
            return;
        }

        SetPairs(cmd);
        cmd.Reply.Integer(1);
    }

    private static bool HasPairsOrReply(scoped in CommandContext cmd)
    {
        if (cmd.Count % 2 == 1) return true;
        cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
        return false;
    }

    private static void SetPairs(scoped in CommandContext cmd)
    {
        for (int i = 1; i < cmd.Count; i += 2)
        {
            cmd.WriteString(i, cmd.FindToReplace(i), cmd[i + 1], Database.NoExpiry);
            cmd.Changed(i, KeyEvent.Set);
        }
    }

    // APPEND key value
    private static void Append(ref CommandContext cmd)
    {
        ReadOnlySpan<byte> value = cmd[2];
        if (!cmd.OpenToWriteStringOrReply(1, out Entry entry)) return;
        if (!entry.Exists)
        {
            cmd.WriteString(1, entry, value, Database.NoExpiry);
            cmd.Changed(1, KeyEvent.Append);
            cmd.Reply.Integer(value.Length);
            return;
        }

        int oldLength = entry.Value.Length;
        if (!IsLengthOrReply(cmd, oldLength, value.Length)) return;

        entry = cmd.Database.ResizeValue(entry, oldLength + value.Length);
        value.CopyTo(entry.Value[oldLength..]);
        entry.SetEncoding(ValueEncoding.Raw);
        cmd.Changed(1, KeyEvent.Append);
        cmd.Reply.Integer(oldLength + value.Length);
    }

    // STRLEN key
    private static void StrLen(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadStringOrReply(1, out Entry entry)) return;
        cmd.Reply.Integer(entry.Exists ? entry.Value.Length : 0);
    }

    // SETRANGE key offset value
    private static void SetRange(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(2, out long offset)) return;
        if (offset < 0)
        {
            cmd.Reply.Error("ERR offset is out of range"u8);
            return;
        }

        ReadOnlySpan<byte> value = cmd[3];
        if (!cmd.OpenToWriteStringOrReply(1, out Entry entry)) return;
        int oldLength = entry.Exists ? entry.Value.Length : 0;
        if (value.IsEmpty)
        {
            // An empty value changes nothing: it neither creates the key nor pads the string.
            cmd.Reply.Integer(oldLength);
            return;
        }

        if (!IsLengthOrReply(cmd, offset, value.Length)) return;
        int start = (int)offset;
        int length = Math.Max(oldLength, start + value.Length);
        if (!entry.Exists) entry = cmd.Database.WriteString(cmd.Key, cmd.HashOf(1), entry, length, ValueEncoding.Raw, Database.NoExpiry, cmd.Accesses.NewClock);
        else if (length > oldLength) entry = cmd.Database.ResizeValue(entry, length);

        Span<byte> bytes = entry.Value;
        if (start > oldLength) entry.ClearValue(oldLength, start);
        value.CopyTo(bytes[start..]);
        entry.SetEncoding(ValueEncoding.Raw);
        cmd.Changed(1, KeyEvent.SetRange);
        cmd.Reply.Integer(length);
    }

    // GETRANGE key start end
    // SUBSTR key start end
    private static void GetRange(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(2, out long start)) return;
        if (!cmd.TryIntegerOrReply(3, out long end)) return;
        if (!cmd.OpenToReadStringOrReply(1, out Entry entry)) return;

        ReadOnlySpan<byte> value = entry.Exists ? entry.Value : default;
        bool reversed = start < 0 && end < 0 && start > end; // empty, even if both lie before the first byte
        if (start < 0) start = Math.Max(0, value.Length + start);
        if (end < 0) end = Math.Max(0, value.Length + end);
        end = Math.Min(end, value.Length - 1);
        cmd.Reply.Bulk(reversed || start > end ? default : value[(int)start..((int)end + 1)]);
    }

    private static void ReplyValueOrNull(scoped in CommandContext cmd, Entry entry)
    {
        if (entry.Exists) cmd.Reply.Bulk(entry.Value);
        else cmd.Reply.Null();
    }

    /// <summary>The maximum length of a string: that of an argument that clients may send, and at most what an entry can hold.</summary>
    internal static long BytesMaxOf(scoped in CommandContext cmd) => cmd.WasAccepted ? StringBytesMax : Math.Min(cmd.Settings.ProtoMaxBulkLength, StringBytesMax);

    private static bool IsLengthOrReply(scoped in CommandContext cmd, long start, long added)
    {
        if (start <= BytesMaxOf(cmd) - added) return true;
        cmd.Reply.Error("ERR string exceeds maximum allowed size (proto-max-bulk-len)"u8);
        return false;
    }
}
