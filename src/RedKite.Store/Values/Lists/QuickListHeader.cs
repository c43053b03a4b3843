using System.Runtime.InteropServices;

namespace RedKite.Store.Values.Lists;

/// <summary>A <see cref="QuickList"/>'s own block, which stays where it is as long as the list lives.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct QuickListHeader
{
    internal QuickListPage* First;
    internal QuickListPage* Last;
    internal long Count; // elements
    internal long Bytes; // blocks of pages and nodes
    internal QuickListHeader* NextWarm;     // in the ring of WarmLists; null: not in it
    internal QuickListHeader* PreviousWarm;
    internal int Nodes;
    internal int WarmFirst;     // nodes from the front on that may become compact once they lie far enough inside
    internal int WarmLast;      // and from the end on
    internal ushort PlainNodes; // nodes at each end that stay as they are
    internal byte Round;        // the last one in which WarmLists came to this list
    internal bool HasGrown;     // by a node, since then

    /// <summary>For a copy: as many nodes may become compact as in the source.</summary>
    internal void TakeOverWarmth(in QuickListHeader source)
    {
        WarmFirst = source.WarmFirst;
        WarmLast = source.WarmLast;
        PlainNodes = source.PlainNodes;
    }
}
