using System.Runtime.InteropServices;

namespace RedKite.Store.Values;

/// <summary>
/// The part of a separate structure that is in the entry's block: the structure's address in the same arena, and a word whose
/// meaning depends on the type.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 1)]
internal unsafe struct ValueRoot
{
    internal const int Bytes = 16;

    internal byte* Structure;
    internal ulong Word;
}
