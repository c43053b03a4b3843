using System.Net;
using RedKite.Net;

namespace RedKite.Dashboard;

/// <summary>
/// The open connections of the dashboard, at most a number of them, and of one address a part. When there is no slot left, the oldest
/// connection that is not being answered is closed, of the address that has most: requests that never end cannot keep others out.
/// </summary>
/// <param name="isProxy">Whether an address is a trusted proxy, which stands for many users: only the total limits it.</param>
internal sealed class ConnectionSlots(Func<IPAddress, bool> isProxy)
{
    internal const int CountMax = 100;
    internal const int PerAddressMax = 32;

    private readonly Lock _lock = new();
    private readonly LinkedList<Slot> _slots = new(); // the oldest first

    internal int Count
    {
        get
        {
            lock (_lock) return _slots.Count;
        }
    }

    /// <summary>Takes a slot. Null: all are in use by requests that are being answered.</summary>
    /// <param name="close">Closes the connection. From any thread, more than once.</param>
    internal Slot? Take(IPAddress? remote, Action close)
    {
        IPAddress address = remote ?? IPAddress.None;
        string source = PeerAddress.SourceOf(address);
        Slot? shed = null;
        Slot taken;
        lock (_lock)
        {
            bool isLimited = !isProxy(address) && _slots.Count(slot => slot.Source == source) >= PerAddressMax;
            if (isLimited || _slots.Count >= CountMax)
            {
                shed = isLimited ? OldestOf(source) : OldestOfMost();
                if (shed is null) return null;
                Remove(shed);
            }

            taken = new Slot(this, source, close);
            taken.Node = _slots.AddLast(taken);
        }

        shed?.Close();
        return taken;
    }

    private Slot? OldestOf(string source) => _slots.FirstOrDefault(slot => slot.Source == source && slot.Answering == 0);

    private Slot? OldestOfMost() => _slots.Where(slot => slot.Answering == 0)
        .GroupBy(slot => slot.Source).MaxBy(group => group.Count())?.First();

    private void Remove(Slot slot)
    {
        if (slot.Node is { } node) _slots.Remove(node);
        slot.Node = null;
    }

    /// <summary>A connection's place. It is a feature of the connection, so that its requests find it.</summary>
    internal sealed class Slot(ConnectionSlots slots, string source, Action close)
    {
        internal LinkedListNode<Slot>? Node { get; set; }

        internal string Source => source;

        internal int Answering { get; private set; }

        internal void Close() => close();

        /// <summary>A request whose user is known is being answered: the connection is not closed for another one.</summary>
        internal void BeginAnswer()
        {
            lock (slots._lock) Answering++;
        }

        internal void EndAnswer()
        {
            lock (slots._lock) Answering--;
        }

        internal void Release()
        {
            lock (slots._lock) slots.Remove(this);
        }
    }
}
