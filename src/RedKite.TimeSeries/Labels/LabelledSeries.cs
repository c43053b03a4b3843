using System.Collections.Concurrent;
using System.Text;
using RedKite.Server.Model;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>The keys of one database's series by their labels: a part of <see cref="LabelIndex"/>.</summary>
internal sealed class LabelledSeries
{
    private readonly ConcurrentDictionary<ulong, LabelledKey> _keys = new();
    private readonly Dictionary<string, KeysOfLabel> _byLabel = [];
    private readonly Lock _lock = new();
    private long _longBytes;
    private bool _isWalked;
    private bool _leftOut;

    /// <summary>The bytes of long keys that are kept; a query walks over all keys when they are more.</summary>
    internal long LongBytesMax { get; init; } = ManagedText.BytesMax;

    /// <summary>A walk has entered all series of the database.</summary>
    internal void NoteWalked()
    {
        lock (_lock) _isWalked = true;
    }

    /// <summary>Enters a key, whose stripe is locked, as it is now.</summary>
    /// <param name="hash">The key's hash.</param>
    /// <param name="key">The key.</param>
    /// <param name="labels">Its labels; empty: it has none, or is no series.</param>
    internal void Enter(ulong hash, ReadOnlySpan<byte> key, ReadOnlySpan<byte> labels)
    {
        _keys.TryGetValue(hash, out LabelledKey? old);
        if (old is null ? labels.IsEmpty : old.Labels.AsSpan().SequenceEqual(labels)) return;
        lock (_lock)
        {
            if (old is not null) Remove(hash, old);
            if (labels.IsEmpty) return;
            if (HasRoomFor(key)) Add(hash, new LabelledKey(key.ToArray(), labels.ToArray()));
            else _leftOut = true;
        }
    }

    /// <summary>The keys that have one of the labels of a filter, and some that no longer have it.</summary>
    /// <param name="filter">The filter, which names values.</param>
    /// <param name="found">They are added to it; <see cref="LabelledKey.IsGone"/> may be set later.</param>
    /// <returns>False: some series are not in the index, and a walk finds them.</returns>
    internal bool TryFind(LabelFilter filter, List<ArraySegment<LabelledKey>> found)
    {
        lock (_lock)
        {
            if (!_isWalked || _leftOut) return false;
            foreach (byte[] value in filter.Values)
            {
                if (_byLabel.TryGetValue(LabelOf(filter.Name, value), out KeysOfLabel? keys)) found.Add(keys.All);
            }

            return true;
        }
    }

    private static string LabelOf(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value) => Encoding.Latin1.GetString(name) + "=" + Encoding.Latin1.GetString(value);

    private bool HasRoomFor(ReadOnlySpan<byte> key) =>
        key.Length <= ManagedText.FreeBytes || (_longBytes + key.Length <= LongBytesMax && ManagedText.HasRoom(_longBytes + key.Length, key.Length));

    private void Add(ulong hash, LabelledKey key)
    {
        _keys[hash] = key;
        if (key.Key.Length > ManagedText.FreeBytes) _longBytes += key.Key.Length;
        foreach (SeriesLabels.Label label in new SeriesLabels(key.Labels))
        {
            string text = LabelOf(label.Name, label.Value);
            if (!_byLabel.TryGetValue(text, out KeysOfLabel? keys)) _byLabel[text] = keys = new KeysOfLabel();
            keys.Add(key);
        }
    }

    private void Remove(ulong hash, LabelledKey key)
    {
        _keys.TryRemove(hash, out _);
        key.SetGone();
        if (key.Key.Length > ManagedText.FreeBytes) _longBytes -= key.Key.Length;
        foreach (SeriesLabels.Label label in new SeriesLabels(key.Labels))
        {
            string text = LabelOf(label.Name, label.Value);
            if (_byLabel.TryGetValue(text, out KeysOfLabel? keys) && keys.NoteGone()) _byLabel.Remove(text);
        }
    }

    // Keys are only added to an array, so that a query reads it without the lock. What has gone is left until it is half of them.
    private sealed class KeysOfLabel
    {
        private LabelledKey[] _items = new LabelledKey[4];
        private int _count;
        private int _gone;

        internal ArraySegment<LabelledKey> All => new(_items, 0, _count);

        internal void Add(LabelledKey key)
        {
            if (_count == _items.Length) Array.Resize(ref _items, _count * 2);
            _items[_count++] = key;
        }

        // One of the keys has gone. Returns whether none is left.
        internal bool NoteGone()
        {
            if (++_gone == _count) return true;
            if (_gone <= _count / 2) return false;
            _items = Array.FindAll(_items[.._count], static key => !key.IsGone);
            (_count, _gone) = (_items.Length, 0);
            return false;
        }
    }
}
