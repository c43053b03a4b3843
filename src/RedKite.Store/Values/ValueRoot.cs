using System.Runtime.InteropServices;

namespace RedKite.Store.Values;

/// <summary>
/// What an entry's block holds of a value that is a structure of its own in the same arena: where that is, and a word
/// of which the type decides.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 1)]
internal unsafe struct ValueRoot
{
    internal const int Bytes = 16;

    internal byte* Structure;
    internal ulong Word;
}
