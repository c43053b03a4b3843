using System.Buffers.Text;
using System.Globalization;
using System.Text;

namespace RedKite.Figures.Types;

/// <summary>Writes values of each type; a large value takes few commands with many elements each.</summary>
internal static class TypeData
{
    internal const int TextBytes = 8;
    internal const string Group = "group";
    internal const string Consumer = "consumer";

    private const int ElementsPerCommand = 100;
    private const int MemberDigits = 6;
    private const int RandomDigits = 12; // As in redis-benchmark.

    /// <summary>Hashes of fields f1, f2, ... with texts of eight letters and digits.</summary>
    internal static void Hashes(CommandPipe pipe, int keys, int fields)
    {
        for (int key = 0; key < keys; key++)
        {
            pipe.Begin(2 + (2 * fields), "HSET"u8).AddNumbered("hash:"u8, key, RandomDigits);
            for (int field = 1; field <= fields; field++) AddText(pipe.AddNumbered("f"u8, field), Identity(key, field));
        }
    }

    /// <summary>Sets of members such as member:004711, which sets may share.</summary>
    internal static void Sets(CommandPipe pipe, int keys, int members)
    {
        for (int key = 0; key < keys; key++)
        {
            pipe.Begin(2 + members, "SADD"u8).AddNumbered("set:"u8, key, RandomDigits);
            for (int i = 0; i < members; i++) pipe.AddNumbered("member:"u8, MemberOf(key, i), MemberDigits);
        }
    }

    /// <summary>Sorted sets of such members, with integers up to a million as scores.</summary>
    internal static void SortedSets(CommandPipe pipe, int keys, int members)
    {
        for (int key = 0; key < keys; key++)
        {
            pipe.Begin(2 + (2 * members), "ZADD"u8).AddNumbered("zset:"u8, key, RandomDigits);
            for (int i = 0; i < members; i++)
            {
                pipe.AddNumbered([], Varied.Below(1_000_000, Identity(key, i))).AddNumbered("member:"u8, MemberOf(key, i), MemberDigits);
            }
        }
    }

    /// <summary>Lists of texts of eight letters and digits.</summary>
    internal static void Lists(CommandPipe pipe, int keys, int elements)
    {
        for (int key = 0; key < keys; key++)
        {
            pipe.Begin(2 + elements, "RPUSH"u8).AddNumbered("list:"u8, key, RandomDigits);
            for (int i = 0; i < elements; i++) AddText(pipe, Identity(key, i));
        }
    }

    /// <summary>One hash of fields such as element:000000004711 with texts of eight letters and digits.</summary>
    internal static void Hash(CommandPipe pipe, string key, int fields) =>
        InCommands(pipe, "HSET"u8, key, fields, argumentsPerElement: 2, static (pipe, i) => AddText(pipe.AddNumbered("element:"u8, i, RandomDigits), i));

    /// <summary>One set of members such as element:000000004711, counted from a first number.</summary>
    internal static void Set(CommandPipe pipe, string key, int members, int first = 0) =>
        InCommands(pipe, "SADD"u8, key, members, argumentsPerElement: 1, (pipe, i) => pipe.AddNumbered("element:"u8, first + i, RandomDigits));

    /// <summary>One set of the numbers from 0, each with nine digits, in random order.</summary>
    internal static void Integers(CommandPipe pipe, string key, int members) =>
        InCommands(pipe, "SADD"u8, key, members, argumentsPerElement: 1, static (pipe, i) => pipe.AddNumbered([], 100_000_000 + ((i * 48_271L) % 899_999_963)));

    /// <summary>One sorted set of members such as element:000000004711, with scores in a different order than the members.</summary>
    internal static void SortedSet(CommandPipe pipe, string key, int members) =>
        InCommands(pipe, "ZADD"u8, key, members, argumentsPerElement: 2, (pipe, i) => pipe.AddNumbered([], Varied.Below(members, i)).AddNumbered("element:"u8, i, RandomDigits));

    /// <summary>One list of texts of eight letters and digits.</summary>
    internal static void List(CommandPipe pipe, string key, int elements) =>
        InCommands(pipe, "RPUSH"u8, key, elements, argumentsPerElement: 1, static (pipe, i) => AddText(pipe, i));

    /// <summary>One list of the three bytes that redis-benchmark pushes.</summary>
    internal static void ListOfThreeBytes(CommandPipe pipe, string key, int elements) =>
        InCommands(pipe, "RPUSH"u8, key, elements, argumentsPerElement: 1, static (pipe, _) => pipe.Add("VXK"u8));

    /// <summary>A stream of entries 1-0, 2-0, ... with four fields each.</summary>
    internal static void Stream(CommandPipe pipe, string key, int entries)
    {
        byte[] name = Encoding.UTF8.GetBytes(key);
        Span<byte> id = stackalloc byte[16];
        for (int entry = 1; entry <= entries; entry++)
        {
            Utf8Formatter.TryFormat(entry, id, out int digits);
            "-0"u8.CopyTo(id[digits..]);
            pipe.Begin(11, "XADD"u8).Add(name).Add(id[..(digits + 2)]);
            AddText(pipe.Add("sensor"u8), entry);
            pipe.Add("temperature"u8).AddNumbered([], Varied.Below(4000, entry)).Add("humidity"u8).AddNumbered([], Varied.Below(100, entry));
            pipe.Add("pressure"u8).AddNumbered([], 90_000 + Varied.Below(20_000, entry));
        }
    }

    /// <summary>A stream whose entries are all pending for one consumer of a group.</summary>
    internal static void PendingEntries(CommandPipe pipe, string key, int entries)
    {
        const int PerReply = 10_000;
        Stream(pipe, key, entries);
        pipe.Run("XGROUP", "CREATE", key, Group, "0");
        string count = PerReply.ToString(CultureInfo.InvariantCulture);
        for (int read = 0; read < entries; read += PerReply) pipe.Run("XREADGROUP", "GROUP", Group, Consumer, "COUNT", count, "STREAMS", key, ">");
    }

    /// <summary>A fully written string of about this length, so that its memory is resident.</summary>
    internal static void String(CommandPipe pipe, string key, int bytes)
    {
        byte[] part = new byte[1 << 20];
        part.AsSpan().Fill((byte)'x');
        for (int written = 0; written < bytes; written += part.Length) pipe.Begin(3, "APPEND"u8).Add(key).Add(part);
    }

    /// <summary>A string of random bits.</summary>
    internal static void Bits(CommandPipe pipe, string key, int bytes, int seed)
    {
        byte[] value = new byte[bytes];
        for (int at = 0; at < bytes; at += sizeof(ulong)) BitConverter.TryWriteBytes(value.AsSpan(at), Varied.Bits(seed + at));
        pipe.Begin(3, "SET"u8).Add(key).Add(value);
    }

    /// <summary>A HyperLogLog of this many members, counted from a first number.</summary>
    internal static void HyperLogLog(CommandPipe pipe, string key, int members, int first) =>
        InCommands(pipe, "PFADD"u8, key, members, argumentsPerElement: 1, (pipe, i) => pipe.AddNumbered("element:"u8, first + i, RandomDigits));

    /// <summary>Random positions in a square of one degree, about 100 km wide.</summary>
    internal static void Places(CommandPipe pipe, string key, int places) =>
        InCommands(pipe, "GEOADD"u8, key, places, argumentsPerElement: 3, static (pipe, i) => pipe
            .AddNumbered("14."u8, Varied.Below(1_000_000, 2 * i), 6).AddNumbered("37."u8, Varied.Below(1_000_000, (2 * i) + 1), 6)
            .AddNumbered("element:"u8, i, RandomDigits));

    private static void InCommands(
        CommandPipe pipe, ReadOnlySpan<byte> command, string key, int elements, int argumentsPerElement, Action<CommandPipe, int> addElement)
    {
        byte[] name = Encoding.UTF8.GetBytes(key);
        for (int first = 0; first < elements; first += ElementsPerCommand)
        {
            int count = Math.Min(ElementsPerCommand, elements - first);
            pipe.Begin(2 + (count * argumentsPerElement), command).Add(name);
            for (int i = first; i < first + count; i++) addElement(pipe, i);
        }
    }

    private static void AddText(CommandPipe pipe, long number)
    {
        Span<byte> text = stackalloc byte[TextBytes];
        Varied.Fill(text, number);
        pipe.Add(text);
    }

    private static long Identity(int key, int element) => ((long)key << 8) + element;

    // Distinct within a key: the steps between its members add up to less than a million.
    private static long MemberOf(int key, int index) => (Varied.Below(1_000_000, key) + (index * 9_991L)) % 1_000_000;
}
