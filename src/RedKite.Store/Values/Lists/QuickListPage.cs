using System.Runtime.InteropServices;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Lists;

/// <summary>A node of a <see cref="QuickList"/>: a packed list, or a compact one that is only read.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct QuickListNode
{
    internal const int GapMax = ushort.MaxValue - 1;

    private const ushort CompactMark = ushort.MaxValue;

    internal byte* Block;
    internal uint Capacity; // bytes of the block
    internal ushort Count;  // elements
    private ushort _gap;    // bytes in front of the packed list, where elements may be put; or the mark

    internal readonly bool IsCompact => _gap == CompactMark;

    /// <summary>The packed list.</summary>
    internal readonly byte* List => Block + _gap;

    /// <summary>Bytes of the packed list, or of the one that a compact list stands for.</summary>
    internal readonly int PackedBytes => IsCompact ? CompactList.PackedBytes(Block) : PackedList.Bytes(List);

    internal readonly int Gap => _gap;

    /// <summary>Bytes of the list as it is, packed or compact, without free capacity around it.</summary>
    internal readonly long UsedBytes => IsCompact ? Capacity : PackedList.Bytes(List);

    /// <summary>Bytes behind the packed list, where it may grow.</summary>
    internal readonly long RoomBehind => Capacity - _gap - PackedList.Bytes(List);

    internal void SetList(byte* block, long capacity, int gap)
    {
        Block = block;
        Capacity = (uint)BlockSize.RoundUp(capacity);
        _gap = (ushort)gap;
    }

    internal void SetCompact(byte* block, int capacity) => SetList(block, capacity, CompactMark);

    /// <summary>The packed list begins elsewhere in the block.</summary>
    internal void MoveList(byte* list) => _gap = (ushort)(list - Block);
}

/// <summary>
/// Up to <see cref="NodesMax"/> nodes of a <see cref="QuickList"/> that follow on each other. Pages are linked; a list of
/// a million short elements has about fourteen.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct QuickListPage
{
    internal const int NodesMax = 128;

    internal QuickListPage* Previous;
    internal QuickListPage* Next;
    internal long Count; // elements of all nodes
    internal int Nodes;
    internal int Capacity;

    /// <summary>The nodes behind the header.</summary>
    internal static QuickListNode* NodesOf(QuickListPage* page) => (QuickListNode*)(page + 1);

    internal static int BytesFor(int nodes) => sizeof(QuickListPage) + (nodes * sizeof(QuickListNode));

    internal static QuickListPage* Allocate(Arena arena, int capacity)
    {
        var page = (QuickListPage*)arena.Allocate(BytesFor(capacity));
        *page = default;
        page->Capacity = capacity;
        return page;
    }
}

/// <summary>A place in a <see cref="QuickList"/>: a node, and an element of it.</summary>
internal unsafe struct QuickListPosition
{
    internal QuickListPage* Page;
    internal int Slot;
    internal int Index;

    internal readonly bool Exists => Page != null;

    internal readonly QuickListNode* Node => QuickListPage.NodesOf(Page) + Slot;

    internal readonly QuickListPosition NextNode => Slot + 1 < Page->Nodes
        ? new QuickListPosition { Page = Page, Slot = Slot + 1 }
        : new QuickListPosition { Page = Page->Next };

    internal readonly QuickListPosition PreviousNode => Slot > 0
        ? new QuickListPosition { Page = Page, Slot = Slot - 1 }
        : new QuickListPosition { Page = Page->Previous, Slot = Page->Previous == null ? 0 : Page->Previous->Nodes - 1 };
}
