using RedKite.Protocol;
using RedKite.Scripting.Interop;

namespace RedKite.Scripting;

/// <content>The keys and arguments of a script or function.</content>
internal sealed partial class LuaInterpreter
{
    /// <summary>Sets the globals KEYS and ARGV, which scripts of EVAL have.</summary>
    /// <param name="input">The bytes of all arguments.</param>
    /// <param name="keys">Where the keys are.</param>
    /// <param name="arguments">Where the others are.</param>
    /// <param name="areOnlyRead">Whether the script only reads them: such scripts share two tables, so that none are created and
    /// collected.</param>
    internal void SetArguments(ReadOnlySpan<byte> input, ReadOnlySpan<ArgumentSlice> keys, ReadOnlySpan<ArgumentSlice> arguments, bool areOnlyRead)
    {
        if (areOnlyRead && MayShare(keys, arguments))
        {
            ShareArguments();
            PushShared(input, keys, arguments);
            Lua.Pop(_state, 2);
            return;
        }

        _sharesArguments = false;
        Lua.RawGet(_state, LuaNative.RegistryIndex, EnvironmentPosition);
        Lua.RawGet(_state, LuaNative.RegistryIndex, KeysNamePosition);
        PushList(input, keys);
        Lua.RawSet(_state, -3);
        Lua.RawGet(_state, LuaNative.RegistryIndex, ArgumentsNamePosition);
        PushList(input, arguments);
        Lua.RawSet(_state, -3);
        Lua.Pop(_state);
    }

    private void ShareArguments()
    {
        if (_sharesArguments) return;
        _sharesArguments = true;
        Lua.RawGet(_state, LuaNative.RegistryIndex, EnvironmentPosition);
        Lua.RawGet(_state, LuaNative.RegistryIndex, KeysNamePosition);
        Lua.RawGet(_state, LuaNative.RegistryIndex, SharedKeysPosition);
        Lua.RawSet(_state, -3);
        Lua.RawGet(_state, LuaNative.RegistryIndex, ArgumentsNamePosition);
        Lua.RawGet(_state, LuaNative.RegistryIndex, SharedArgumentsPosition);
        Lua.RawSet(_state, -3);
        Lua.Pop(_state);
    }

    // The shared tables keep their elements until other scripts share them: few and short ones.
    private static bool MayShare(ReadOnlySpan<ArgumentSlice> keys, ReadOnlySpan<ArgumentSlice> arguments) => AreSmall(keys) && AreSmall(arguments);

    private static bool AreSmall(ReadOnlySpan<ArgumentSlice> elements) =>
        elements.IsEmpty || (elements.Length <= SharedElementsMax && elements[^1].Start + elements[^1].Length - elements[0].Start <= SharedBytesMax);

    private void PushShared(ReadOnlySpan<byte> input, ReadOnlySpan<ArgumentSlice> keys, ReadOnlySpan<ArgumentSlice> arguments)
    {
        PushShared(SharedKeysPosition, input, keys, ref _sharedKeys);
        PushShared(SharedArgumentsPosition, input, arguments, ref _sharedArguments);
    }

    private void PushShared(int position, ReadOnlySpan<byte> input, ReadOnlySpan<ArgumentSlice> elements, ref int count)
    {
        Lua.RawGet(_state, LuaNative.RegistryIndex, position);
        for (int i = 0; i < elements.Length; i++)
        {
            Lua.Push(_state, input.Slice(elements[i].Start, elements[i].Length));
            Lua.RawSet(_state, -2, i + 1);
        }

        for (int i = elements.Length; i < count; i++)
        {
            Lua.PushNil(_state);
            Lua.RawSet(_state, -2, i + 1);
        }

        count = elements.Length;
    }

    /// <summary>Pushes the two parameters of a library's function: its keys and its arguments.</summary>
    /// <param name="input">The bytes of all arguments.</param>
    /// <param name="keys">Where the keys are.</param>
    /// <param name="arguments">Where the others are.</param>
    /// <param name="areOnlyRead">Whether the function only reads them: such functions share two tables.</param>
    internal void PushParameters(ReadOnlySpan<byte> input, ReadOnlySpan<ArgumentSlice> keys, ReadOnlySpan<ArgumentSlice> arguments, bool areOnlyRead)
    {
        if (areOnlyRead && MayShare(keys, arguments))
        {
            PushShared(input, keys, arguments);
            return;
        }

        PushList(input, keys);
        PushList(input, arguments);
    }

    private void PushList(ReadOnlySpan<byte> input, ReadOnlySpan<ArgumentSlice> elements)
    {
        Lua.NewTable(_state, elements.Length);
        for (int i = 0; i < elements.Length; i++)
        {
            Lua.Push(_state, input.Slice(elements[i].Start, elements[i].Length));
            Lua.RawSet(_state, -2, i + 1);
        }
    }
}
