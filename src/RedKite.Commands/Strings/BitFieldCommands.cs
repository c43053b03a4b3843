using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Strings;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Strings;

/// <summary>BITFIELD and BITFIELD_RO: integers of 1 to 64 bits at any bit of a string.</summary>
internal static class BitFieldCommands
{
    private const string Complexity = "O(1) for each subcommand specified";

    private const string Syntax =
        "key operation:[GET get-block:(encoding offset) | write:([OVERFLOW overflow-block:<WRAP | SAT | FAIL>] "
        + "write-operation:<SET set-block:(encoding offset value:integer) | INCRBY incrby-block:(encoding offset increment)>) ...]";

    internal static readonly CommandFamily Family = new("bitmap", "bitmap",
    [
        new("BITFIELD", -2, Write | DenyOom, KeySpecs.One(1, ReadWrite | Access | Update | VariableFlags, "only reads if all operations are GET", BitFieldKeyFlags), BitFieldWrite,
            new("3.2.0", Complexity, "Reads, sets and increments integers of arbitrary width in the string value of a key.", Syntax)),
        new("BITFIELD_RO", -2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly | Access), BitFieldReadOnly,
            new("6.0.0", Complexity, "Reads integers of arbitrary width in the string value of a key.", "key get-block:[GET encoding offset [GET encoding offset ...]]")),
    ]);

    // BITFIELD key [GET encoding offset | [OVERFLOW WRAP|SAT|FAIL] <SET encoding offset value | INCRBY encoding offset increment> ...]
    private static void BitFieldWrite(ref CommandContext cmd) => Execute(cmd, readOnly: false);

    // BITFIELD_RO key [GET encoding offset ...]
    private static void BitFieldReadOnly(ref CommandContext cmd) => Execute(cmd, readOnly: true);

    // A request only reads if all of its operations are GET. An invalid operation may be anything.
    private static KeyFlags BitFieldKeyFlags(scoped in CommandContext cmd, int start)
    {
        var options = new OptionReader(cmd, start + 2);
        while (options.More)
        {
            if (!options.TakeWithValues("GET"u8, 2, out _) && !options.TakeWithValue("OVERFLOW"u8, out _)) return ReadWrite | Access | Update;
        }

        return KeyFlags.ReadOnly | Access;
    }

    private static void Execute(scoped in CommandContext cmd, bool readOnly)
    {
        var operations = new BitFieldOperations(cmd);
        int count = 0;
        long lastWrittenBit = -1;
        for (; operations.MoveNext(); count++)
        {
            if (operations.Action != BitFieldAction.Get) lastWrittenBit = Math.Max(lastWrittenBit, operations.Field.LastBit);
        }

        if (operations.Failed) return;
        bool writes = lastWrittenBit >= 0;
        if (writes && readOnly)
        {
            cmd.Reply.Error("ERR BITFIELD_RO only supports the GET subcommand"u8);
            return;
        }

        Entry entry = writes ? cmd.FindToWrite(1) : cmd.Find(1);
        if (!cmd.IsTypeOrReply(entry, DataType.String)) return;
        bool grew = false;
        if (writes) entry = BitmapCommands.OpenForBits(cmd, entry, 1, lastWrittenBit, out grew);

        Span<byte> value = entry.Exists ? entry.Value : default;
        cmd.Reply.Array(count);
        operations = new BitFieldOperations(cmd);
        int changes = 0;
        while (operations.MoveNext()) changes += Execute(cmd, value, operations, grew);
        if (changes > 0) cmd.Changed(1, KeyEvent.SetBit, changes);
        else if (grew) NoteGrowth(cmd);
    }

    // OVERFLOW FAIL refused every write, but the string is longer. As in Redis, that does not count as a change.
    private static void NoteGrowth(scoped in CommandContext cmd)
    {
        cmd.Changed(1, KeyEvent.Bookkeeping, count: 0);
        cmd.EffectRequest();
    }

    // Executes an operation that was validated before. Returns the number of changes: as in Redis, in a string that grew, every write counts.
    private static int Execute(scoped in CommandContext cmd, Span<byte> value, scoped in BitFieldOperations operation, bool grew)
    {
        BitField field = operation.Field;
        long old = Read(value, field);
        if (operation.Action == BitFieldAction.Get)
        {
            cmd.Reply.Integer(old);
            return 0;
        }

        // SET adds to 0. An unsigned field interprets a negative number as the unsigned one with the same bits.
        bool adds = operation.Action == BitFieldAction.IncrementBy;
        Int128 number = adds || field.IsSigned ? operation.Number : (ulong)operation.Number;
        if (!TryFit(field, (adds ? old : 0) + number, adds, operation.Overflow, out long fitted))
        {
            cmd.Reply.Null();
            return 0;
        }

        BitString.WriteField(value, field.FirstBit, field.Bits, (ulong)fitted);
        cmd.Reply.Integer(adds ? fitted : old);
        return grew || fitted != old ? 1 : 0;
    }

    private static long Read(ReadOnlySpan<byte> value, BitField field) =>
        Extend(field, BitString.ReadField(value, field.FirstBit, field.Bits));

    private static bool TryFit(BitField field, Int128 number, bool isSum, BitFieldOverflow overflow, out long fitted)
    {
        Int128 max = (Int128.One << (field.IsSigned ? field.Bits - 1 : field.Bits)) - 1;
        Int128 min = field.IsSigned ? -max - 1 : 0;

        // As in Redis, a number to set counts as too large if its distance below the maximum overflows 64 bits.
        bool isAbove = number > max || (!isSum && field.IsSigned && field.Bits < 64 && max - number > long.MaxValue);
        if (number >= min && number <= max) fitted = (long)number;
        else if (overflow == BitFieldOverflow.Saturate) fitted = (long)(isAbove ? max : min);
        else fitted = Extend(field, (ulong)number);
        return overflow != BitFieldOverflow.Fail || fitted == number;
    }

    // Interprets the low bits as the field's number.
    private static long Extend(BitField field, ulong bits)
    {
        int unused = 64 - field.Bits;
        return field.IsSigned ? (long)(bits << unused) >> unused : (long)(bits << unused >> unused);
    }
}
