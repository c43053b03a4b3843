using System.Buffers;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Store.Keyspace;

namespace RedKite.Server.PubSub;

/// <summary>
/// Publishes what happens to keys, as notify-keyspace-events selects: to <c>__keyspace@0__:key</c> the event, and to
/// <c>__keyevent@0__:event</c> the key; and for hashes, to four kinds of channels the fields that an event concerns. It is called with the key's
/// stripe locked, so subscribers get the events of a key in their order.
/// </summary>
internal sealed class KeyspaceNotifications(MessageHub hub, Keyspace keyspace) : IChangeConsumer
{
    private const int ChannelBytesOnStack = 512;
    private const string ClassesOfAll = "g$lshzxetd";

    private volatile Selection _selected = new("");

    /// <summary>Whether any event is selected.</summary>
    internal bool IsOn => _selected is { ToKeyspace: true } or { ToKeyEvent: true } or { ToFields: true };

    /// <summary>Whether <see cref="KeyEvent.Overwritten"/> or <see cref="KeyEvent.TypeChanged"/> is selected.</summary>
    internal bool ReportsOverwritten => _selected.Has(KeyEventClass.Overwritten) || _selected.Has(KeyEventClass.TypeChanged);

    /// <summary>Whether fields are published.</summary>
    internal bool ReportsFields => _selected.ToFields;

    /// <summary>Selects events by the letters of notify-keyspace-events.</summary>
    internal void Select(string letters) => _selected = new Selection(letters);

    public void Published(ChangeList changes)
    {
        if (!hub.HasSubscribers) return;
        Selection selected = _selected;
        for (int i = 0; i < changes.Count; i++)
        {
            Change change = changes[i];
            if (keyspace.HiddenSlots is { } hidden && hidden.Contains(keyspace.SlotOf(change.Hash))) continue;
            KeyEventClass eventClass = KeyEvents.Class(change.Event);
            if (selected.Has(eventClass)) Publish(selected, changes, change, changes.KeyOf(change));
            if (change.FieldCount > 0 && selected.HasFieldsOf(eventClass)) PublishFields(selected, changes, change, changes.KeyOf(change));
        }
    }

    private void Publish(Selection selected, ChangeList changes, in Change change, ReadOnlySpan<byte> key)
    {
        ReadOnlySpan<byte> name = KeyEvents.Text(change.Event);
        if (selected.ToKeyspace) Publish(changes, "__keyspace@"u8, change.Database, key, name);
        if (selected.ToKeyEvent) Publish(changes, "__keyevent@"u8, change.Database, name, key);
    }

    // No name of an event has a '|' in it, which separates them.
    private void PublishFields(Selection selected, ChangeList changes, in Change change, ReadOnlySpan<byte> key)
    {
        ReadOnlySpan<byte> name = KeyEvents.Text(change.Event);
        var fields = new ArrayBufferWriter<byte>();
        for (int i = 0; i < change.FieldCount; i++)
        {
            if (i > 0) fields.Write(","u8);
            WriteCounted(fields, changes.FieldOf(change, i));
        }

        if (selected.ToKeyFields) Publish(changes, "__subkeyspace@"u8, change.Database, key, [.. name, (byte)'|', .. fields.WrittenSpan]);
        if (selected.ToEventFields)
        {
            var message = new ArrayBufferWriter<byte>();
            WriteCounted(message, key);
            message.Write("|"u8);
            message.Write(fields.WrittenSpan);
            Publish(changes, "__subkeyevent@"u8, change.Database, name, message.WrittenSpan);
        }

        if (selected.ToEachField && !key.Contains((byte)'\n'))
        {
            for (int i = 0; i < change.FieldCount; i++) Publish(changes, "__subkeyspaceitem@"u8, change.Database, [.. key, (byte)'\n', .. changes.FieldOf(change, i)], name);
        }

        if (selected.ToKeyEventFields) Publish(changes, "__subkeyspaceevent@"u8, change.Database, [.. name, (byte)'|', .. key], fields.WrittenSpan);
    }

    // Its length, a colon, and the bytes, which may be any.
    private static void WriteCounted(ArrayBufferWriter<byte> output, ReadOnlySpan<byte> bytes)
    {
        output.Advance(RespNumber.Format(bytes.Length, output.GetSpan(RespNumber.Int64TextMax)));
        output.Write(":"u8);
        output.Write(bytes);
    }

    private void Publish(ChangeList changes, ReadOnlySpan<byte> prefix, int database, ReadOnlySpan<byte> suffix, ReadOnlySpan<byte> message)
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
        hub.Publish(channel[..(length + suffix.Length)], message, changes.PatternBudget);
        if (rented is not null) ArrayPool<byte>.Shared.Return(rented);
    }

    // The letters of the setting.
    private sealed class Selection
    {
        private readonly bool[] _classes = new bool[256];
        private readonly bool _hasClasses;

        private static readonly SearchValues<char> Channels = SearchValues.Create("KESTIV");

        internal Selection(string letters)
        {
            foreach (char letter in letters.Replace("A", ClassesOfAll, StringComparison.Ordinal)) _classes[(byte)letter] = true;
            ToKeyspace = letters.Contains('K', StringComparison.Ordinal);
            ToKeyEvent = letters.Contains('E', StringComparison.Ordinal);
            ToKeyFields = letters.Contains('S', StringComparison.Ordinal);
            ToEventFields = letters.Contains('T', StringComparison.Ordinal);
            ToEachField = letters.Contains('I', StringComparison.Ordinal);
            ToKeyEventFields = letters.Contains('V', StringComparison.Ordinal);
            _hasClasses = letters.AsSpan().ContainsAnyExcept(Channels);
        }

        internal bool ToKeyspace { get; }

        internal bool ToKeyEvent { get; }

        // The letters S, T, I and V.
        internal bool ToKeyFields { get; }

        internal bool ToEventFields { get; }

        internal bool ToEachField { get; }

        internal bool ToKeyEventFields { get; }

        internal bool ToFields => ToKeyFields || ToEventFields || ToEachField || ToKeyEventFields;

        /// <summary>Whether the fields of an event are published, which only hashes have: also without the letter of any class.</summary>
        internal bool HasFieldsOf(KeyEventClass eventClass) => ToFields && eventClass == KeyEventClass.Hash && (!_hasClasses || Has(eventClass));

        internal bool Has(KeyEventClass eventClass) => eventClass != KeyEventClass.None && _classes[(byte)eventClass];
    }
}
