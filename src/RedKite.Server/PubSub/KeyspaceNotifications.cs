using System.Buffers;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Changes;

namespace RedKite.Server.PubSub;

/// <summary>
/// Publishes what happens to keys, as notify-keyspace-events selects: to <c>__keyspace@0__:key</c> the event, and to
/// <c>__keyevent@0__:event</c> the key. It is called with the key's stripe locked, so subscribers get the events of a key in their order.
/// </summary>
internal sealed class KeyspaceNotifications(MessageHub hub) : IChangeConsumer
{
    private const int ChannelBytesOnStack = 512;
    private const string ClassesOfAll = "g$lshzxetd";

    private static readonly byte[][] Names = [.. Enum.GetValues<KeyEvent>().Select(keyEvent => Encoding.ASCII.GetBytes(KeyEvents.Name(keyEvent)))];

    private volatile Selection _selected = new("");

    /// <summary>Whether any event is selected.</summary>
    internal bool IsOn => _selected is { ToKeyspace: true } or { ToKeyEvent: true };

    /// <summary>Selects events by the letters of notify-keyspace-events.</summary>
    internal void Select(string letters) => _selected = new Selection(letters);

    public void Published(ChangeList changes)
    {
        if (!hub.HasSubscribers) return;
        Selection selected = _selected;
        for (int i = 0; i < changes.Count; i++)
        {
            Change change = changes[i];
            if (selected.Has(KeyEvents.Class(change.Event))) Publish(selected, change, changes.KeyOf(change));
        }
    }

    private void Publish(Selection selected, in Change change, ReadOnlySpan<byte> key)
    {
        ReadOnlySpan<byte> name = Names[(int)change.Event];
        if (selected.ToKeyspace) Publish("__keyspace@"u8, change.Database, key, name);
        if (selected.ToKeyEvent) Publish("__keyevent@"u8, change.Database, name, key);
    }

    private void Publish(ReadOnlySpan<byte> prefix, int database, ReadOnlySpan<byte> suffix, ReadOnlySpan<byte> message)
    {
        int bytesMax = prefix.Length + RespNumber.Int64TextMax + 3 + suffix.Length;
        byte[]? rented = bytesMax > ChannelBytesOnStack ? ArrayPool<byte>.Shared.Rent(bytesMax) : null;
        Span<byte> channel = rented ?? stackalloc byte[ChannelBytesOnStack];
        prefix.CopyTo(channel);
        int length = prefix.Length;
        length += RespNumber.Format(database, channel[length..]);
        "__:"u8.CopyTo(channel[length..]);
        length += 3;
        suffix.CopyTo(channel[length..]);
        hub.Publish(channel[..(length + suffix.Length)], message);
        if (rented is not null) ArrayPool<byte>.Shared.Return(rented);
    }

    // The letters of the setting.
    private sealed class Selection
    {
        private readonly bool[] _classes = new bool[256];

        internal Selection(string letters)
        {
            foreach (char letter in letters.Replace("A", ClassesOfAll, StringComparison.Ordinal)) _classes[(byte)letter] = true;
            ToKeyspace = letters.Contains('K', StringComparison.Ordinal);
            ToKeyEvent = letters.Contains('E', StringComparison.Ordinal);
        }

        internal bool ToKeyspace { get; }

        internal bool ToKeyEvent { get; }

        internal bool Has(KeyEventClass eventClass) => eventClass != KeyEventClass.None && _classes[(byte)eventClass];
    }
}
