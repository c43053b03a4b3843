using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Strings;

/// <summary>The kind of an operation of BITFIELD.</summary>
internal enum BitFieldAction
{
    Get,
    Set,
    IncrementBy,
}

/// <summary>How BITFIELD treats a number that doesn't fit its field.</summary>
internal enum BitFieldOverflow
{
    Wrap,
    Saturate,
    Fail,
}

/// <summary>A field: the signedness, width and first bit of an integer.</summary>
internal readonly record struct BitField(bool IsSigned, int Bits, long FirstBit)
{
    internal long LastBit => FirstBit + Bits - 1;
}

/// <summary>
/// Parses the operations of BITFIELD one at a time. The handler makes two passes, so that all operations are validated before the
/// first is executed and none has to be stored.
/// </summary>
internal ref struct BitFieldOperations
{
    private readonly CommandContext _cmd;
    private OptionReader _options;

    internal BitFieldOperations(scoped in CommandContext cmd)
    {
        _cmd = cmd;
        _options = new OptionReader(cmd, first: 2);
    }

    internal BitFieldAction Action { get; private set; }

    internal BitField Field { get; private set; }

    /// <summary>The number to set or add.</summary>
    internal long Number { get; private set; }

    internal BitFieldOverflow Overflow { get; private set; }

    /// <summary>Whether the iteration ended at an invalid operation; the error is already replied.</summary>
    internal bool Failed { get; private set; }

    /// <summary>Parses the next operation; false at the end or if it is invalid.</summary>
    internal bool MoveNext()
    {
        while (_options.TakeWithValue("OVERFLOW"u8, out int overflow))
        {
            if (!TryOverflowOrReply(overflow)) return Fail();
        }

        if (!_options.More) return false;
        int first;
        if (_options.TakeWithValues("GET"u8, 2, out first)) Action = BitFieldAction.Get;
        else if (_options.TakeWithValues("SET"u8, 3, out first)) Action = BitFieldAction.Set;
        else if (_options.TakeWithValues("INCRBY"u8, 3, out first)) Action = BitFieldAction.IncrementBy;
        else
        {
            _cmd.ReplySyntaxError();
            return Fail();
        }

        if (!TryTypeOrReply(first, out bool isSigned, out int bits)) return Fail();
        if (!BitOffset.TryParseOrReply(_cmd, first + 1, bits, out long firstBit)) return Fail();
        Field = new BitField(isSigned, bits, firstBit);
        if (Action == BitFieldAction.Get) return true;
        if (!_cmd.TryIntegerOrReply(first + 2, out long number)) return Fail();
        Number = number;
        return true;
    }

    private bool Fail()
    {
        Failed = true;
        return false;
    }

    private bool TryOverflowOrReply(int argument)
    {
        if (_cmd.Is(argument, "WRAP"u8)) Overflow = BitFieldOverflow.Wrap;
        else if (_cmd.Is(argument, "SAT"u8)) Overflow = BitFieldOverflow.Saturate;
        else if (_cmd.Is(argument, "FAIL"u8)) Overflow = BitFieldOverflow.Fail;
        else
        {
            _cmd.Reply.Error("ERR Invalid OVERFLOW type specified"u8);
            return false;
        }

        return true;
    }

    // i1 to i64 and u1 to u63, because the reply is a signed 64-bit integer. As in Redis, a zero byte ends the type.
    private readonly bool TryTypeOrReply(int argument, out bool isSigned, out int bits)
    {
        ReadOnlySpan<byte> text = _cmd[argument];
        int end = text.IndexOf((byte)0);
        if (end >= 0) text = text[..end];
        isSigned = text is [(byte)'i', ..];
        bits = 0;
        if ((isSigned || text is [(byte)'u', ..]) && RespNumber.TryParseInt64(text[1..], out long number) && number >= 1 && number <= (isSigned ? 64 : 63))
        {
            bits = (int)number;
            return true;
        }

        _cmd.Reply.Error("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."u8);
        return false;
    }
}
