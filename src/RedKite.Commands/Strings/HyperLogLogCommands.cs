using System.Globalization;
using System.Text;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Strings;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Strings;

/// <summary>Commands that estimate the number of distinct elements. Values are strings in Redis's format: see HyperLogLog.</summary>
internal static class HyperLogLogCommands
{
    private const string CountNotes = "updates the cached cardinality in the value";

    private const string CountComplexity =
        "O(1) with a very small average constant time when called with a single key. O(N) with N being the number of keys, and much bigger constant times, when called with multiple keys.";

    internal static readonly CommandFamily Family = new("hyperloglog", "hyperloglog",
    [
        new("PFADD", -2, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Insert), PfAdd,
            new("2.8.9", "O(1) to add every element.", "Adds elements to a HyperLogLog. Creates the key if it doesn't exist.", "key [element ...]")),
        new("PFCOUNT", -2, CommandFlags.ReadOnly | Short | CommandFlags.PausedAsWrite, [new(1, -1, 1, ReadWrite | Access, Notes: CountNotes)], PfCount,
            new("2.8.9", CountComplexity, "Returns the approximate number of distinct elements in one or more HyperLogLogs.", "key [key ...]")),
        new("PFMERGE", -2, Write | DenyOom, [new(1, 1, 1, ReadWrite | Access | Insert), new(2, -1, 1, KeyFlags.ReadOnly | Access)], PfMerge,
            new("2.8.9", "O(N) to merge N HyperLogLogs, but with high constant times.", "Merges one or more HyperLogLogs into a key.", "destkey:key [sourcekey ...]")),
        new("PFDEBUG", 3, Write | DenyOom | Admin, KeySpecs.One(2, ReadWrite | Access), PfDebug,
            new("2.8.9", "N/A", "Inspects or converts the registers of a HyperLogLog. For tests.", "subcommand key") { IsSystemCommand = true }),
        new("PFSELFTEST", 1, Admin, KeySpecs.None, PfSelfTest,
            new("2.8.9", "N/A", "Checks the dense and sparse representations against each other.") { IsSystemCommand = true }),
    ]);

    // PFADD key [element ...]
    private static void PfAdd(ref CommandContext cmd)
    {
        Entry entry = cmd.FindToWrite(1);
        bool created = !entry.Exists;
        if (created) entry = cmd.WriteString(1, entry, HyperLogLog.Empty, ValueEncoding.Raw, Database.NoExpiry);
        else if (!IsHyperLogLogOrReply(cmd, entry)) return;

        entry.SetEncoding(ValueEncoding.Raw);
        HyperLogLogValue value = Open(cmd, entry);
        int raised = 0;
        for (int i = 2; i < cmd.Count; i++)
        {
            RegisterChange change = value.Add(cmd[i]);
            if (change == RegisterChange.Corrupt)
            {
                NoteElementsBefore(cmd, i);
                ReplyCorrupt(cmd);
                return;
            }

            if (change == RegisterChange.Raised) raised++;
        }

        if (created)
        {
            // As in Redis, a new value counts as a change even without elements.
            HyperLogLog.MarkStale(value.Entry.Value);
            raised++;
        }

        if (raised > 0) cmd.Changed(1, KeyEvent.PfAdd, raised);
        cmd.Reply.Integer(raised > 0 ? 1 : 0);
    }

    // What precedes a corrupt run may have changed. As in Redis, that does not count as a change.
    private static void NoteElementsBefore(scoped in CommandContext cmd, int end)
    {
        cmd.Changed(1, KeyEvent.Bookkeeping, count: 0);
        EffectArguments effect = cmd.Effect("PFADD"u8, end).Argument(cmd[1]);
        for (int i = 2; i < end; i++) effect.Argument(cmd[i]);
    }

    // PFCOUNT key [key ...]
    private static void PfCount(ref CommandContext cmd)
    {
        if (cmd.Count > 2)
        {
            CountTogether(cmd);
            return;
        }

        Entry entry = cmd.Find(1);
        if (!entry.Exists)
        {
            cmd.Reply.Integer(0);
            return;
        }

        if (!IsHyperLogLogOrReply(cmd, entry)) return;
        cmd.Database.OpenToModify(entry);
        if (!HyperLogLogValue.TryCount(entry.Value, out long cardinality, out bool counted))
        {
            ReplyCorrupt(cmd);
            return;
        }

        entry.SetEncoding(ValueEncoding.Raw);
        if (counted && cmd.Expiry.ReadsMayModify) cmd.Changed(1, KeyEvent.Silent); // the cached cardinality is part of the value; a replica keeps it to itself
        cmd.Reply.Integer(cardinality);
    }

    private static void CountTogether(scoped in CommandContext cmd)
    {
        Span<byte> spread = stackalloc byte[HyperLogLog.Registers];
        if (!TryMergeOrReply(cmd, spread, out _)) return;
        Span<int> histogram = stackalloc int[HyperLogLog.Ranks];
        DenseRegisters.CountRanks(spread, histogram);
        cmd.Reply.Integer(HyperLogLog.Estimate(histogram));
    }

    // PFMERGE destkey [sourcekey ...]
    private static void PfMerge(ref CommandContext cmd)
    {
        Span<byte> spread = stackalloc byte[HyperLogLog.Registers];
        if (!TryMergeOrReply(cmd, spread, out bool anyDense)) return;

        // The destination was merged as the first source, so it is valid.
        Entry entry = cmd.FindToWrite(1);
        if (!entry.Exists) entry = cmd.WriteString(1, entry, HyperLogLog.Empty, ValueEncoding.Raw, Database.NoExpiry);
        entry.SetEncoding(ValueEncoding.Raw);
        HyperLogLogValue value = Open(cmd, entry);
        if (anyDense) value.TryMakeDense();
        value.RaiseAll(spread);
        cmd.Changed(1, KeyEvent.PfAdd);
        cmd.Reply.Ok();
    }

    // PFDEBUG GETREG|DECODE|ENCODING|TODENSE key, or SIMD ON|OFF
    private static void PfDebug(ref CommandContext cmd)
    {
        if (cmd.Is(1, "SIMD"u8))
        {
            // In Redis it switches how registers are merged, not the result.
            if (cmd.Is(2, "ON"u8)) cmd.Reply.SimpleString("enabled"u8);
            else if (cmd.Is(2, "OFF"u8)) cmd.Reply.SimpleString("disabled"u8);
            else cmd.Reply.Error("ERR Argument must be ON or OFF"u8);
            return;
        }

        Entry entry = cmd.FindToWrite(2);
        if (!entry.Exists)
        {
            cmd.Reply.Error("ERR The specified key does not exist"u8);
            return;
        }

        if (!IsHyperLogLogOrReply(cmd, entry)) return;
        entry.SetEncoding(ValueEncoding.Raw);
        HyperLogLogValue value = Open(cmd, entry);
        bool wasDense = value.IsDense;
        if (cmd.Is(1, "GETREG"u8)) ReplyRegisters(cmd, ref value);
        else if (cmd.Is(1, "DECODE"u8)) ReplyRuns(cmd, value);
        else if (cmd.Is(1, "ENCODING"u8)) cmd.Reply.SimpleString(wasDense ? "dense"u8 : "sparse"u8);
        else if (!cmd.Is(1, "TODENSE"u8)) cmd.Reply.Error($"ERR Unknown PFDEBUG subcommand '{cmd.ShownText(1)}'");
        else if (value.TryMakeDense()) cmd.Reply.Integer(wasDense ? 0 : 1);
        else ReplyCorrupt(cmd);
        if (value.IsDense != wasDense) cmd.Changed(2, KeyEvent.Bookkeeping);
    }

    private static void ReplyRegisters(scoped in CommandContext cmd, ref HyperLogLogValue value)
    {
        if (!value.TryMakeDense())
        {
            ReplyCorrupt(cmd);
            return;
        }

        ReadOnlySpan<byte> registers = value.Entry.Value[HyperLogLog.HeaderBytes..];
        cmd.Reply.Array(HyperLogLog.Registers);
        for (int i = 0; i < HyperLogLog.Registers; i++) cmd.Reply.Integer(DenseRegisters.Get(registers, i));
    }

    // z:length and Z:length are short and long runs of zeros; v:rank,length is a run of nonzero registers.
    private static void ReplyRuns(scoped in CommandContext cmd, HyperLogLogValue value)
    {
        if (value.IsDense)
        {
            cmd.Reply.Error("ERR HLL encoding is not sparse"u8);
            return;
        }

        ReadOnlySpan<byte> runs = value.Entry.Value[HyperLogLog.HeaderBytes..];
        var text = new StringBuilder();
        for (int at = 0; SparseRegisters.TryRead(runs, at, out SparseRun run); at += run.Bytes)
        {
            if (text.Length > 0) text.Append(' ');
            if (run.Rank > 0) text.Append(CultureInfo.InvariantCulture, $"v:{run.Rank},{run.Length}");
            else text.Append(run.Bytes == 1 ? "z:" : "Z:").Append(run.Length);
        }

        cmd.Reply.Bulk(text.ToString());
    }

    // PFSELFTEST
    private static void PfSelfTest(ref CommandContext cmd)
    {
        if (HyperLogLogSelfTest.Run() is { } failure) cmd.Reply.Error("TESTFAILED " + failure);
        else cmd.Reply.Ok();
    }

    // Merges the registers of all keys, one byte per register. A maximum of maxima: a key that is named again changes nothing.
    private static bool TryMergeOrReply(scoped in CommandContext cmd, Span<byte> spread, out bool anyDense)
    {
        anyDense = false;
        var merged = default(DistinctEntries);
        for (int i = 1; i < cmd.Count; i++)
        {
            Entry entry = cmd.Find(i);
            if (!entry.Exists || !merged.Add(entry)) continue;
            if (!IsHyperLogLogOrReply(cmd, entry)) return false;
            anyDense |= HyperLogLog.IsDense(entry.Value);
            if (!HyperLogLogValue.TryMergeInto(entry.Value, spread, isFirst: merged.Count == 1))
            {
                ReplyCorrupt(cmd);
                return false;
            }
        }

        if (merged.Count == 0) spread.Clear();
        return true;
    }

    private static HyperLogLogValue Open(scoped in CommandContext cmd, Entry entry) =>
        new(cmd.Database, entry, cmd.Settings.HyperLogLogSparseMaxBytes);

    private static bool IsHyperLogLogOrReply(scoped in CommandContext cmd, Entry entry)
    {
        if (!cmd.IsTypeOrReply(entry, DataType.String)) return false;
        if (HyperLogLog.HasForm(entry.Value)) return true;
        cmd.Reply.Error("WRONGTYPE Key is not a valid HyperLogLog string value."u8);
        return false;
    }

    private static void ReplyCorrupt(scoped in CommandContext cmd) => cmd.Reply.Error("INVALIDOBJ Corrupted HLL object detected"u8);
}
