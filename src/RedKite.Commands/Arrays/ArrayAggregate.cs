using System.Globalization;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// What AROP computes from elements. Elements that are not finite numbers are skipped. Integers are added and compared exactly, other numbers as
/// INCRBYFLOAT adds them.
/// </summary>
internal struct ArrayAggregate(ArrayAggregate.Kind kind)
{
    private bool _any;
    private Int128 _whole;    // the sum of integers
    private ExtendedDouble _fraction; // that of other numbers
    private bool _hasFraction;
    private long _bits;
    private Number _extreme;

    internal enum Kind
    {
        Sum,
        Min,
        Max,
        And,
        Or,
        Xor,
        Match,
        Used,
    }

    /// <summary>Reads the operation, which the last arguments are.</summary>
    internal static bool TryRead(scoped in CommandContext cmd, int argument, out Kind kind)
    {
        kind = default;
        ReadOnlySpan<Kind> kinds = [Kind.Sum, Kind.Min, Kind.Max, Kind.And, Kind.Or, Kind.Xor, Kind.Match, Kind.Used];
        foreach (Kind known in kinds)
        {
            if (!cmd.Is(argument, NameOf(known))) continue;
            kind = known;
            return cmd.Count == argument + (known == Kind.Match ? 2 : 1);
        }

        return false;
    }

    internal void Add(PackedElement element)
    {
        if (!TryNumber(element, out Number number)) return;
        switch (kind)
        {
            case Kind.Sum when number.IsWhole:
                _whole += number.Whole;
                break;
            case Kind.Sum:
                _fraction += number.Extended;
                _hasFraction = true;
                break;
            case Kind.Min or Kind.Max:
                if (!_any || (kind == Kind.Min ? number.IsBelow(_extreme) : _extreme.IsBelow(number))) _extreme = number;
                break;
            default:
                if (!number.TryTruncate(out long bits)) return;
                _bits = !_any ? bits : kind switch
                {
                    Kind.And => _bits & bits,
                    Kind.Or => _bits | bits,
                    _ => _bits ^ bits,
                };
                break;
        }

        _any = true;
    }

    /// <summary>Replies the result: null if no element was used.</summary>
    internal readonly void Reply(ReplyWriter reply)
    {
        if (!_any) reply.Null();
        else if (kind is not (Kind.Sum or Kind.Min or Kind.Max)) reply.Integer(_bits);
        else if (kind == Kind.Sum && !_hasFraction) ReplyWhole(reply, _whole);
        else if (kind == Kind.Sum) ReplyNumber(reply, _fraction + Extended(_whole));
        else if (_extreme.IsWhole) reply.BulkInteger(_extreme.Whole);
        else ReplyNumber(reply, _extreme.Extended);
    }

    private static ReadOnlySpan<byte> NameOf(Kind kind) => kind switch
    {
        Kind.Sum => "SUM"u8,
        Kind.Min => "MIN"u8,
        Kind.Max => "MAX"u8,
        Kind.And => "AND"u8,
        Kind.Or => "OR"u8,
        Kind.Xor => "XOR"u8,
        Kind.Match => "MATCH"u8,
        _ => "USED"u8,
    };

    private static bool TryNumber(PackedElement element, out Number number)
    {
        number = new Number(element.Number);
        if (element.IsNumber) return true;
        ReadOnlySpan<byte> text = element.Bytes(default);
        if (RespNumber.TryParseInt64(text, out long whole))
        {
            number = new Number(whole);
            return true;
        }

        bool isNumber = ExtendedDouble.TryParse(text, out ExtendedDouble value) && value.IsFinite;
        number = new Number(value, isNumber && FloatText.TryParse(text, out double rounded) ? rounded : double.NaN);
        return isNumber;
    }

    private static ExtendedDouble Extended(Int128 whole)
    {
        Span<byte> digits = stackalloc byte[ExtendedDouble.ShortTextBytesMax];
        whole.TryFormat(digits, out int length, provider: CultureInfo.InvariantCulture);
        return ExtendedDouble.TryParse(digits[..length], out ExtendedDouble value) ? value : throw new InvalidOperationException("The digits of an integer are a number.");
    }

    private static void ReplyWhole(ReplyWriter reply, Int128 whole)
    {
        Span<byte> digits = stackalloc byte[ExtendedDouble.ShortTextBytesMax];
        whole.TryFormat(digits, out int length, provider: CultureInfo.InvariantCulture);
        reply.Bulk(digits[..length]);
    }

    private static void ReplyNumber(ReplyWriter reply, ExtendedDouble value)
    {
        if (!value.IsFinite)
        {
            reply.Null(); // beyond 1e4932
            return;
        }

        Span<byte> text = value.TextIsShort ? stackalloc byte[ExtendedDouble.ShortTextBytesMax] : new byte[ExtendedDouble.TextBytesMax];
        reply.Bulk(text[..value.Format(text)]);
    }

    private readonly struct Number
    {
        private readonly ExtendedDouble _value; // of one that is no integer
        private readonly double _rounded;       // NaN: it is no double

        internal Number(long whole)
        {
            IsWhole = true;
            Whole = whole;
        }

        internal Number(ExtendedDouble value, double rounded)
        {
            _value = value;
            _rounded = rounded;
        }

        internal bool IsWhole { get; }

        internal long Whole { get; }

        internal ExtendedDouble Extended => IsWhole ? ArrayAggregate.Extended(Whole) : _value;

        internal bool IsBelow(Number other) => IsWhole && other.IsWhole ? Whole < other.Whole : Extended.CompareTo(other.Extended) < 0;

        // Toward zero; false if no integer of 64 bits is there.
        internal bool TryTruncate(out long bits)
        {
            bits = Whole;
            if (IsWhole) return true;
            double truncated = Math.Truncate(_rounded);
            if (truncated is not (>= long.MinValue and < 9223372036854775808.0)) return false;
            bits = (long)truncated;
            return true;
        }
    }
}
