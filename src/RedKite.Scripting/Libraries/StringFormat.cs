using System.Globalization;
using System.Text;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting.Libraries;

/// <summary>string.format as in Lua 5.1: C's formats, where integers are numbers cut to integers.</summary>
internal static class StringFormat
{
    private const int QuotedPerCheck = 4096;

    internal static void Add(LuaInterpreter lua) => lua.Add("string.format", Format);

    private static int Format(LuaCall call)
    {
        string format = call.String(1);
        var result = new StringBuilder();
        int argument = 1;
        int at = 0;
        while (at < format.Length)
        {
            call.Owner.Step();
            char c = format[at++];
            if (c != '%')
            {
                result.Append(c);
                continue;
            }

            if (at < format.Length && format[at] == '%')
            {
                result.Append('%');
                at++;
                continue;
            }

            argument++;
            if (call.Count < argument) throw call.BadArgument(argument, "no value");
            Specification specification = Specification.Parse(format, ref at);
            if (at >= format.Length) throw new LuaException("invalid option '%' to 'format'");
            char option = format[at++];
            Write(call, argument, option, specification, result);
            CheckSize(call, result);
        }

        call.Push(result.ToString());
        return 1;
    }

    private static void Write(LuaCall call, int argument, char option, Specification specification, StringBuilder result)
    {
        switch (option)
        {
            case 'c':
                // A zero ends C's text, padding behind it included.
                string padded = specification.Pad(((char)(byte)ToInt32(call.Number(argument))).ToString());
                int zero = padded.IndexOf('\0', StringComparison.Ordinal);
                result.Append(zero < 0 ? padded : padded[..zero]);
                break;
            case 'd' or 'i':
                result.Append(specification.Integer(call.Integer(argument)));
                break;
            case 'o' or 'u' or 'x' or 'X':
                result.Append(specification.Unsigned(ToUInt64(call.Number(argument)), option));
                break;
            case 'e' or 'E' or 'f' or 'g' or 'G':
                result.Append(specification.Float(call.Number(argument), option));
                break;
            case 'q':
                Quote(call, call.Text(argument), result);
                break;
            case 's':
                string text = call.String(argument);
                result.Append(specification.Precision is null && text.Length >= 100 ? text : specification.Text(text));
                break;
            default:
                throw new LuaException($"invalid option '%{option}' to 'format'");
        }
    }

    // As x64 converts: a number that does not fit becomes the smallest one.
    private static int ToInt32(double value) => value is > -2147483649.0 and < 2147483648.0 ? (int)value : int.MinValue;

    // As x64 converts: negative numbers wrap.
    private static ulong ToUInt64(double value)
    {
        if (value < 9223372036854775808.0) return (ulong)LuaCall.ToInt64(value);
        return value < 18446744073709551616.0 ? (ulong)value : 0;
    }

    private static void CheckSize(LuaCall call, StringBuilder result)
    {
        if (result.Length > call.Owner.BufferBytesMax / sizeof(char)) throw call.Owner.OutOfMemory();
    }

    private static void Quote(LuaCall call, ReadOnlySpan<byte> text, StringBuilder result)
    {
        result.Append('"');
        for (int i = 0; i < text.Length; i++)
        {
            if (i % QuotedPerCheck == 0)
            {
                call.Owner.Step();
                CheckSize(call, result);
            }

            char c = (char)text[i];
            switch (c)
            {
                case '"' or '\\' or '\n':
                    result.Append('\\').Append(c);
                    break;
                case '\r':
                    result.Append("\\r");
                    break;
                case '\0':
                    result.Append("\\000");
                    break;
                default:
                    result.Append(c);
                    break;
            }
        }

        result.Append('"');
    }

    private readonly record struct Specification(string Flags, int Width, int? Precision)
    {
        private bool IsLeft => Flags.Contains('-', StringComparison.Ordinal);

        private bool IsAlternate => Flags.Contains('#', StringComparison.Ordinal);

        internal static Specification Parse(string format, ref int at)
        {
            int start = at;
            while (at < format.Length && "-+ #0".Contains(format[at], StringComparison.Ordinal)) at++;
            if (at - start > 5) throw new LuaException("invalid format (repeated flags)");
            string flags = format[start..at];
            int width = Digits(format, ref at) ?? 0;
            int? precision = null;
            if (at < format.Length && format[at] == '.')
            {
                at++;
                precision = Digits(format, ref at) ?? 0;
            }

            if (at < format.Length && char.IsAsciiDigit(format[at])) throw new LuaException("invalid format (width or precision too long)");
            return new Specification(flags, width, precision);
        }

        internal string Integer(long value)
        {
            string digits = UInt128Text(value < 0 ? (ulong)-(value + 1) + 1 : (ulong)value);
            return Number(value < 0 ? "-" : Positive(), digits);
        }

        internal string Unsigned(ulong value, char option)
        {
            string digits = option switch
            {
                'o' => Octal(value),
                'x' => value.ToString("x", CultureInfo.InvariantCulture),
                'X' => value.ToString("X", CultureInfo.InvariantCulture),
                _ => UInt128Text(value),
            };
            if (IsAlternate && option == 'o' && digits[0] != '0') digits = "0" + digits;
            string prefix = IsAlternate && value != 0 && option is 'x' or 'X' ? "0" + option : "";
            return Number(IsAlternate && option is 'x' or 'X' ? prefix : "", digits);
        }

        internal string Float(double value, char option)
        {
            int precision = Precision ?? 6;
            double size = Math.Abs(value);
            string text = option switch
            {
                'f' => CFormat.Fixed(size, precision, IsAlternate),
                'e' or 'E' => CFormat.Exponential(size, precision, option == 'E', IsAlternate),
                _ => CFormat.General(size, precision, IsAlternate, option == 'G'),
            };
            string sign = double.IsNegative(value) ? "-" : Positive();
            if (!double.IsFinite(value)) return Pad(sign + text.TrimStart('-'));
            return Flags.Contains('0', StringComparison.Ordinal) && !IsLeft ? sign + text.PadLeft(Width - sign.Length, '0') : Pad(sign + text);
        }

        internal string Text(string text)
        {
            // C's text ends at a zero.
            int end = text.IndexOf('\0', StringComparison.Ordinal);
            if (end >= 0) text = text[..end];
            if (Precision < text.Length) text = text[..Precision.Value];
            return Pad(text);
        }

        internal string Pad(string text) => IsLeft ? text.PadRight(Width) : text.PadLeft(Width);

        private string Number(string prefix, string digits)
        {
            if (Precision == 0 && digits == "0") digits = "";
            if (Precision is { } precision) digits = digits.PadLeft(precision, '0');
            else if (Flags.Contains('0', StringComparison.Ordinal) && !IsLeft) digits = digits.PadLeft(Math.Max(0, Width - prefix.Length), '0');
            return Pad(prefix + digits);
        }

        private string Positive() => Flags.Contains('+', StringComparison.Ordinal) ? "+" : Flags.Contains(' ', StringComparison.Ordinal) ? " " : "";

        private static string UInt128Text(ulong value) => value.ToString(CultureInfo.InvariantCulture);

        private static string Octal(ulong value)
        {
            var digits = new StringBuilder();
            do digits.Insert(0, (char)('0' + (value & 7)));
            while ((value >>= 3) != 0);
            return digits.ToString();
        }

        // At most two digits.
        private static int? Digits(string format, ref int at)
        {
            int start = at;
            while (at < format.Length && at - start < 2 && char.IsAsciiDigit(format[at])) at++;
            return at == start ? null : int.Parse(format.AsSpan(start, at - start), CultureInfo.InvariantCulture);
        }
    }
}
