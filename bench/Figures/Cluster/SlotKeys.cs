using System.Buffers.Text;
using System.Globalization;
using System.Text;
using RedKite.Figures.Types;
using RedKite.Store.Keyspace;

namespace RedKite.Figures.Cluster;

/// <summary>Numbered keys, evenly in the first slots: a hash tag for each of these, and eight digits behind it.</summary>
internal sealed class SlotKeys
{
    private const int Digits = 8;

    private readonly byte[][] _tags;

    internal SlotKeys(int slots, int count)
    {
        Count = count;
        _tags = new byte[slots][];
        for (int i = 0, found = 0; found < slots; i++)
        {
            byte[] tag = Encoding.ASCII.GetBytes($"{{{i.ToString("x", CultureInfo.InvariantCulture)}}}");
            int slot = KeySlot.Of(tag);
            if (slot >= slots || _tags[slot] is not null) continue;
            _tags[slot] = tag;
            found++;
        }
    }

    internal int Count { get; }

    /// <summary>Writes the key with this number and returns its length in bytes.</summary>
    internal int Write(Span<byte> destination, int number)
    {
        byte[] tag = _tags[number % _tags.Length];
        tag.CopyTo(destination);
        Utf8Formatter.TryFormat(number, destination[tag.Length..], out int written, new('D', Digits));
        return tag.Length + written;
    }

    internal void Load(ServerUnderTest server, int valueBytes)
    {
        Console.Error.WriteLine($"{server.Name}: loading {Count} keys");
        using var pipe = new CommandPipe(server.Port);
        byte[] value = new byte[valueBytes];
        value.AsSpan().Fill((byte)'x');
        Span<byte> key = stackalloc byte[KeyForm.BytesMax];
        for (int i = 0; i < Count; i++) pipe.Begin(3, "SET"u8).Add(key[..Write(key, i)]).Add(value);
        pipe.Flush();
    }
}
