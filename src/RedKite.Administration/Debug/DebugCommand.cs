using System.Buffers.Text;
using System.Globalization;
using System.Text;
using RedKite.Persistence.Rdb;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Commands.Keys;
using RedKite.Server.Config;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Server.Commands.Debug;

/// <summary>
/// DEBUG, for tests of servers and clients. As in Redis, the table has no subcommands for it, so that it names no keys: the
/// subcommands lock the stripes that they access.
/// </summary>
internal sealed class DebugCommand(ServerRun run, KeylessData keyless, ReplicationState replication, ServerLog log, PackageCommand package, DebugReload reload)
{
    // What POPULATE makes: half of what the process may use. A key takes its entry, its place in a table and its name's number, beside its prefix and value.
    private static readonly long PopulateBytesMax = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / 2;
    private const int PopulatedKeyBytes = 48;
    private const int PopulatedValueBytes = 16;

    // As in Redis.
    private const ulong PackedThresholdBytesMax = 1UL << 32;

    internal void Execute(ref CommandContext cmd)
    {
        if (cmd.Is(1, "HELP"u8) && cmd.Count == 2) Help(cmd);
        else if (cmd.Is(1, "SLEEP"u8) && cmd.Count == 3) Sleep(cmd);
        else if (cmd.Is(1, "OBJECT"u8) && cmd.Count == 3) Object(cmd);
        else if (cmd.Is(1, "SET-ACTIVE-EXPIRE"u8) && cmd.Count == 3) SetActiveExpire(cmd);
        else if (cmd.Is(1, "PAUSE-CRON"u8) && cmd.Count == 3) PauseBackground(cmd);
        else if (cmd.Is(1, "SET-SKIP-CHECKSUM-VALIDATION"u8) && cmd.Count == 3) SkipChecksums(cmd);
        else if (cmd.Is(1, "SET-DISABLE-DENY-SCRIPTS"u8) && cmd.Count == 3) AllowInScripts(cmd);
        else if (cmd.Is(1, "REPLYBUFFER"u8) && cmd.Count == 4 && cmd.Is(2, "PEAK-RESET-TIME"u8)) SetReplyPeakTime(cmd);
        else if (cmd.Is(1, "REPLYBUFFER"u8) && cmd.Count == 4 && cmd.Is(2, "RESIZING"u8)) cmd.Reply.Ok();
        else if ((cmd.Is(1, "REPLY-COPY-AVOIDANCE"u8) || cmd.Is(1, "DICT-RESIZING"u8)) && cmd.Count == 3) cmd.Reply.Ok(); // replies are always copied, and tables are not resized as a whole
        else if (cmd.Is(1, "POPULATE"u8) && cmd.Count is >= 3 and <= 5) Populate(cmd);
        else if (cmd.Is(1, "PROTOCOL"u8) && cmd.Count == 3) Protocol(cmd);
        else if (cmd.Is(1, "QUICKLIST-PACKED-THRESHOLD"u8) && cmd.Count == 3) PackedThreshold(cmd);
        else if (cmd.Is(1, "CHANGE-REPL-ID"u8) && cmd.Count == 2) ChangeReplicationId(cmd);
        else if (cmd.Is(1, "ERROR"u8) && cmd.Count == 3) cmd.Reply.Error(cmd[2]);
        else if (cmd.Is(1, "LOG"u8) && cmd.Count == 3) Log(cmd);
        else if (cmd.Is(1, "PACKAGE"u8)) package.Execute(cmd);
        else if (cmd.Is(1, "DIGEST"u8) && cmd.Count == 2) DebugDataset.Digest(cmd, keyless);
        else if (cmd.Is(1, "DIGEST-VALUE"u8)) DebugDataset.DigestValues(cmd);
        else if (cmd.Is(1, "RELOAD"u8)) reload.Reload(cmd);
        else if (cmd.Is(1, "LOADAOF"u8)) reload.LoadLog(cmd);
        else cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");
    }

    // DEBUG SLEEP seconds: blocks this client's loop. The other loops continue.
    private static void Sleep(scoped in CommandContext cmd)
    {
        if (Utf8Parser.TryParse(cmd[2], out double seconds, out _) && seconds > 0)
        {
            Thread.Sleep((int)Math.Min(seconds * 1000, int.MaxValue));
            if (!cmd.Environment.IsInUnit) cmd.Time.Read();
        }

        cmd.Reply.Ok();
    }

    // DEBUG OBJECT key
    private static void Object(scoped in CommandContext cmd)
    {
        ulong hash = cmd.Keyspace.Hash(cmd[2]);
        int stripe = cmd.Keyspace.StripeOf(hash);
        if (!cmd.Environment.TryEnterStripe(stripe)) return;
        Entry entry = cmd.Database.FindByHash(hash); // as in Redis, expired or not
        string? line = entry.Exists ? Describe(cmd, entry) : null;
        cmd.Environment.ExitStripe(stripe);
        if (line is null) cmd.Reply.Error("ERR no such key"u8);
        else cmd.Reply.SimpleString(Encoding.ASCII.GetBytes(line));
    }

    private static string Describe(scoped in CommandContext cmd, Entry entry)
    {
        string encoding = Encoding.ASCII.GetString(StoredTypes.Of(entry).EncodingName(entry.Encoding));
        (nint address, uint clock) = (entry.Address, entry.AccessClock); // writing a hash may remove it with its expired fields
        return string.Create(CultureInfo.InvariantCulture, $"Value at:0x{address:x} refcount:1 encoding:{encoding} serializedlength:{SerializedBytes(cmd, entry)} lru:{clock} lru_seconds_idle:{AccessClock.IdleSeconds(clock, cmd.NowMs)}");
    }

    // The bytes of the value in a snapshot: a payload of DUMP without its type and its footer.
    private static long SerializedBytes(scoped in CommandContext cmd, Entry entry)
    {
        if (!DumpCommands.TryWrite(cmd, cmd.Database, entry, out RdbOutput payload)) return 0; // only expired fields are left
        long bytes = payload.Written.Length - DumpPayload.FrameBytes;
        payload.Clear();
        return bytes;
    }

    // DEBUG SET-ACTIVE-EXPIRE 0|1
    private void SetActiveExpire(scoped in CommandContext cmd)
    {
        run.ExpiresActively = IsOn(cmd);
        cmd.Reply.Ok();
    }

    // DEBUG PAUSE-CRON 0|1
    private void PauseBackground(scoped in CommandContext cmd)
    {
        run.IsBackgroundPaused = IsOn(cmd);
        cmd.Reply.Ok();
    }

    // DEBUG SET-SKIP-CHECKSUM-VALIDATION 0|1
    private void SkipChecksums(scoped in CommandContext cmd)
    {
        run.SkipsChecksums = IsOn(cmd);
        cmd.Reply.Ok();
    }

    // DEBUG SET-DISABLE-DENY-SCRIPTS 0|1
    private void AllowInScripts(scoped in CommandContext cmd)
    {
        run.AllowsAnyCommandInScripts = IsOn(cmd);
        cmd.Reply.Ok();
    }

    // DEBUG REPLYBUFFER PEAK-RESET-TIME NEVER|RESET|milliseconds
    private void SetReplyPeakTime(scoped in CommandContext cmd)
    {
        long milliseconds = cmd.Is(3, "NEVER"u8) ? long.MaxValue / 2 : ServerRun.DefaultReplyPeakMs;
        if (!cmd.Is(3, "NEVER"u8) && !cmd.Is(3, "RESET"u8) && !cmd.TryIntegerOrReply(3, out milliseconds)) return;
        run.ReplyPeakMs = milliseconds;
        cmd.Reply.Ok();
    }

    // As in C, text that is not a number is 0.
    private static bool IsOn(scoped in CommandContext cmd) => RespNumber.TryParseInt64(cmd[2], out long on) && on != 0;

    // DEBUG POPULATE count [prefix] [size]: doesn't change existing keys.
    private static void Populate(scoped in CommandContext cmd)
    {
        long size = 0;
        if (!RespNumber.TryParseInt64(cmd[2], out long count) || count < 0 || (cmd.Count == 5 && (!RespNumber.TryParseInt64(cmd[4], out size) || size < 0)))
        {
            cmd.Reply.Error("ERR value is out of range, must be positive"u8);
            return;
        }

        if (size > cmd.Settings.ProtoMaxBulkLength)
        {
            cmd.Reply.Error("ERR string exceeds maximum allowed size (proto-max-bulk-len)"u8);
            return;
        }

        if (cmd.Count > 3 && cmd[3].Length > ArgumentReading.TextBytesMax)
        {
            cmd.Reply.Error($"ERR a prefix has at most {ArgumentReading.TextBytesMax} bytes");
            return;
        }

        string prefix = cmd.Count > 3 ? cmd.Text(3) : "key";
        long bytesEach = PopulatedKeyBytes + prefix.Length + Math.Max(size, PopulatedValueBytes);
        if (count > PopulateBytesMax / bytesEach)
        {
            cmd.Reply.Error($"ERR DEBUG POPULATE makes at most {PopulateBytesMax / bytesEach} keys of that size, by the memory that the process may use");
            return;
        }

        for (long i = 0; i < count; i++)
        {
            byte[] key = Encoding.Latin1.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{prefix}:{i}"));
            byte[] value = Encoding.Latin1.GetBytes(string.Create(CultureInfo.InvariantCulture, $"value:{i}"));
            AddIfMissing(cmd, key, value, cmd.Count == 5 ? (int)size : value.Length);
        }

        cmd.Reply.Ok();
    }

    private static void AddIfMissing(scoped in CommandContext cmd, byte[] key, ReadOnlySpan<byte> value, int size)
    {
        ulong hash = cmd.Keyspace.Hash(key);
        int stripe = cmd.Keyspace.StripeOf(hash);
        if (!cmd.Environment.TryEnterStripe(stripe)) return;
        Entry entry = cmd.Database.Find(key, hash, cmd.Expiry.ToWrite);
        if (!entry.Exists)
        {
            ValueEncoding encoding = size <= StringEncoding.EmbeddedBytesMax ? ValueEncoding.Embedded : ValueEncoding.Raw;
            entry = cmd.Database.WriteString(key, hash, entry, size, encoding, Database.NoExpiry, cmd.Accesses.NewClock);
            Span<byte> bytes = entry.Value;
            bytes.Clear();
            value[..Math.Min(value.Length, size)].CopyTo(bytes);
            cmd.Changed(cmd.Database, key, hash, KeyEvent.Silent, count: 0);
        }

        cmd.Environment.ExitStripe(stripe);
    }

    // DEBUG QUICKLIST-PACKED-THRESHOLD size: validated and ignored, because list nodes have a layout of their own.
    private static void PackedThreshold(scoped in CommandContext cmd)
    {
        if (MemorySize.TryParse(cmd.Text(2), out ulong bytes) && bytes <= PackedThresholdBytesMax) cmd.Reply.Ok();
        else cmd.Reply.Error("ERR argument must be a memory value bigger than 1 and smaller than 4gb"u8);
    }

    // DEBUG CHANGE-REPL-ID
    private void ChangeReplicationId(scoped in CommandContext cmd)
    {
        replication.ChangeId();
        cmd.Reply.Ok();
    }

    // DEBUG LOG message
    private void Log(scoped in CommandContext cmd)
    {
        log.OfClient(LogEvents.ClientMessage, isWarning: true, "DEBUG LOG: ", cmd.Text(2));
        cmd.Reply.Ok();
    }

    // DEBUG PROTOCOL type: a reply of each type, for tests of clients.
    private static void Protocol(scoped in CommandContext cmd)
    {
        ReplyWriter reply = cmd.Reply;
        if (cmd.Is(2, "string"u8)) reply.Bulk("Hello World"u8);
        else if (cmd.Is(2, "integer"u8)) reply.Integer(12345);
        else if (cmd.Is(2, "double"u8)) reply.Double(3.141);
        else if (cmd.Is(2, "null"u8)) reply.Null();
        else if (cmd.Is(2, "array"u8)) Numbers(reply, reply.Array);
        else if (cmd.Is(2, "set"u8)) Numbers(reply, reply.Set);
        else if (cmd.Is(2, "map"u8)) NumberMap(reply);
        else if (cmd.Is(2, "attrib"u8)) Attribute(reply);
        else if (cmd.Is(2, "push"u8)) Push(reply);
        else if (cmd.Is(2, "verbatim"u8)) reply.Verbatim("txt"u8, "This is a verbatim\nstring"u8);
        else if (cmd.Is(2, "true"u8)) reply.Boolean(true);
        else if (cmd.Is(2, "false"u8)) reply.Boolean(false);
        else if (cmd.Is(2, "bignum"u8)) BigNumber(reply);
        else reply.Error("ERR Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false"u8);
    }

    private static void Numbers(ReplyWriter reply, Action<int> begin)
    {
        begin(3);
        for (int i = 0; i < 3; i++) reply.Integer(i);
    }

    private static void NumberMap(ReplyWriter reply)
    {
        reply.Map(3);
        for (int i = 0; i < 3; i++)
        {
            reply.Integer(i);
            reply.Boolean(i == 1);
        }
    }

    private static void Attribute(ReplyWriter reply)
    {
        // Attributes exist only in RESP3; the reply that follows exists in both protocols.
        if (reply.Resp3)
        {
            reply.Raw("|1\r\n"u8);
            reply.Bulk("key-popularity"u8);
            reply.Array(2);
            reply.Bulk("key:123"u8);
            reply.Integer(90);
        }

        reply.Bulk("Some real reply following the attribute"u8);
    }

    private static void Push(ReplyWriter reply)
    {
        if (!reply.Resp3)
        {
            reply.Error("ERR RESP2 is not supported by this command"u8);
            return;
        }

        reply.Bulk("Some real reply following the push reply"u8); // the push waits for it
        reply.Push(2);
        reply.Bulk("server-cpu-usage"u8);
        reply.Integer(42);
    }

    private static void BigNumber(ReplyWriter reply)
    {
        if (reply.Resp3) reply.Raw("(1234567999999999999999999999999999999\r\n"u8);
        else reply.Bulk("1234567999999999999999999999999999999"u8);
    }

    // DEBUG HELP
    private static void Help(scoped in CommandContext cmd) => HelpReply.Write(
        cmd,
        "CHANGE-REPL-ID",
        "    Change the replication id.",
        "DICT-RESIZING <0|1>",
        "    Accepted for test programs, without effect: tables are not resized as a whole.",
        "DIGEST",
        "    Return a digest of all data: 40 hexadecimal digits.",
        "DIGEST-VALUE [<key> ...]",
        "    Return a digest of the value of each <key>.",
        "ERROR <string>",
        "    Return <string> as an error.",
        "LOADAOF",
        "    Remove the data, and load the append-only file.",
        "LOG <message>",
        "    Write <message> to the server's log.",
        "OBJECT <key>",
        "    Return how the value of <key> is stored.",
        "PACKAGE [LOG <seconds>] [TRACE <seconds>]",
        "    Return the debug package: a zip file. LOG collects the log for up to 15",
        "    seconds; TRACE samples the CPU for up to 30.",
        "PAUSE-CRON <0|1>",
        "    Stop (1) or resume (0) the background work of the event loops.",
        "POPULATE <count> [<prefix>] [<size>]",
        "    Create <count> strings <prefix>:<number> (default: key:<number>) of <size>",
        "    bytes. Existing keys are left unchanged.",
        "PROTOCOL <type>",
        "    Return a value of <type>: string, integer, double, bignum, null, array,",
        "    set, map, attrib, push, verbatim, true, false.",
        "QUICKLIST-PACKED-THRESHOLD <size>",
        "    Accepted for test programs, without effect.",
        "RELOAD [<option> ...]",
        "    Save the data, remove it, and load it. NOSAVE: loads the file that is there.",
        "    NOFLUSH: removes nothing. MERGE: keys of the file replace others.",
        "REPLYBUFFER PEAK-RESET-TIME <NEVER|RESET|milliseconds>",
        "    Set how long the peak size of a client's replies is remembered.",
        "REPLYBUFFER RESIZING <0|1>",
        "    Accepted for test programs, without effect.",
        "REPLY-COPY-AVOIDANCE <0|1>",
        "    Accepted for test programs, without effect: replies are always copied.",
        "SET-ACTIVE-EXPIRE <0|1>",
        "    Disable (0) or enable (1) the background removal of expired keys.",
        "SET-DISABLE-DENY-SCRIPTS <0|1>",
        "    Let scripts call commands that are not allowed in scripts (1), or not (0).",
        "SET-SKIP-CHECKSUM-VALIDATION <0|1>",
        "    Let RESTORE accept payloads with a wrong checksum (1), or not (0).",
        "SLEEP <seconds>",
        "    Block the event loop of this client. Decimals are allowed.");
}
