using System.Security.Cryptography;
using System.Text;

namespace RedKite.Scripting.Interop;

/// <summary>
/// Makes the tables of scripts strong, whatever <c>__mode</c> says. Lua 5.4 marks a table with weak keys again and again until nothing changes, which takes the square of
/// its entries when each value is the next key, in one piece that nothing interrupts: 60,000 entries took half a minute, a million would take hours. Lua 5.1 needs one pass.
/// </summary>
/// <remarks>
/// <para>The collector finds a table's mode by a name that the state keeps, in the order of Lua's events; the fourth one becomes a name that no script can guess.</para>
/// <para>Rejected: to look at <c>__mode</c> when a metatable is set, as it may be added later; and a limit for tables with weak keys, since nothing sees them grow.</para>
/// <code>
/// TString of a short string: next 8 | type, mark, extra, length 4 | hash 4 | next of the same hash 8 | bytes
/// </code>
/// </remarks>
internal static unsafe class WeakTables
{
    private const int TextOffset = 24;
    private const int NameBytes = 16; // as hexadecimal digits still a short string, of which there is one

    /// <summary>Disables them, in a state without scripts.</summary>
    /// <param name="state">The state.</param>
    /// <param name="memory">Its memory.</param>
    /// <param name="namePosition">Where the registry keeps the name.</param>
    internal static void Disable(nint state, LuaAllocator memory, int namePosition)
    {
        nint* names = memory.FindInState([Address("__index"u8), Address("__newindex"u8), Address("__gc"u8), Address("__mode"u8)]);
        if (names == null) throw new InvalidOperationException("The native Lua library lays out its state in another way.");
        Lua.Push(state, Encoding.ASCII.GetBytes(Convert.ToHexString(RandomNumberGenerator.GetBytes(NameBytes))));
        names[3] = AddressOfTop();
        Lua.RawSet(state, Lua.Registry, namePosition);

        nint Address(ReadOnlySpan<byte> name)
        {
            Lua.Push(state, name);
            nint address = AddressOfTop();
            Lua.Pop(state);
            return address;
        }

        nint AddressOfTop()
        {
            fixed (byte* text = Lua.ToSpan(state, -1)) return (nint)text - TextOffset;
        }
    }
}
