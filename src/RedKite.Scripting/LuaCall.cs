using RedKite.Scripting.Interop;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting;

/// <summary>A library function in managed code. Returns the number of results that it pushed.</summary>
internal delegate int LuaFunction(LuaCall call);

/// <summary>A call of a library function: its arguments, and where results go.</summary>
/// <param name="Owner">The interpreter.</param>
/// <param name="State">Lua's state.</param>
/// <param name="Name">The function's name in messages.</param>
internal readonly record struct LuaCall(LuaInterpreter Owner, nint State, string Name)
{
    internal int Count => Lua.Top(State);

    internal LuaType TypeOf(int argument) => Lua.TypeOf(State, argument);

    internal bool IsNoneOrNil(int argument) => TypeOf(argument) is LuaType.None or LuaType.Nil;

    /// <summary>A string, or a number's text.</summary>
    internal ReadOnlySpan<byte> Text(int argument) => TypeOf(argument) switch
    {
        LuaType.String => Lua.ToSpan(State, argument),
        LuaType.Number => System.Text.Encoding.Latin1.GetBytes(NumberText.Format(Lua.ToNumber(State, argument))),
        _ => throw WrongType(argument, "string"),
    };

    /// <summary>As <see cref="Text"/>, copied to the managed heap, where it takes twice as many bytes.</summary>
    /// <exception cref="LuaException">The script has not that much memory.</exception>
    internal string String(int argument)
    {
        ReadOnlySpan<byte> text = Text(argument);
        return text.Length <= Owner.BufferBytesMax / sizeof(char) ? System.Text.Encoding.Latin1.GetString(text) : throw Owner.OutOfMemory();
    }

    /// <summary>A number, or the number that a string is.</summary>
    internal double Number(int argument) => TryNumber(argument, out double value) ? value : throw WrongType(argument, "number");

    /// <summary>Whether the argument is a number or a string that is one.</summary>
    internal bool TryNumber(int argument, out double value)
    {
        value = 0;
        LuaType type = TypeOf(argument);
        if (type == LuaType.Number) value = Lua.ToNumber(State, argument);
        else return type == LuaType.String && NumberText.TryParse(Lua.ToSpan(State, argument), out value);
        return true;
    }

    internal long Integer(int argument) => ToInt64(Number(argument));

    internal long Integer(int argument, long missing) => IsNoneOrNil(argument) ? missing : Integer(argument);

    internal void Push(string text) => Lua.Push(State, System.Text.Encoding.Latin1.GetBytes(text));

    internal LuaException WrongType(int argument, string expected)
    {
        LuaType type = TypeOf(argument);
        return LuaException.Argument(argument, Name, $"{expected} expected, got {(type == LuaType.None ? "no value" : NameOf(type))}");
    }

    internal LuaException BadArgument(int argument, string problem) => LuaException.Argument(argument, Name, problem);

    internal static string NameOf(LuaType type) => type switch
    {
        LuaType.Nil => "nil",
        LuaType.Boolean => "boolean",
        LuaType.Number => "number",
        LuaType.String => "string",
        LuaType.Table => "table",
        LuaType.Function => "function",
        LuaType.Thread => "thread",
        _ => "userdata",
    };

    /// <summary>Rounded towards zero; a number that does not fit becomes the smallest one, as x64 converts.</summary>
    internal static long ToInt64(double value) => value is >= -9223372036854775808.0 and < 9223372036854775808.0 ? (long)value : long.MinValue;
}
