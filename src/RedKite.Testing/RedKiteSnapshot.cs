using System.Globalization;
using System.Text;

namespace RedKite.Testing;

/// <summary>The data of a test server at some moment. Immutable; it may be restored any number of times, also to another server.</summary>
public sealed class RedKiteSnapshot
{
    private readonly List<Entry> _entries;

    private RedKiteSnapshot(List<Entry> entries) => _entries = entries;

    /// <summary>How many keys it has.</summary>
    public int Count => _entries.Count;

    internal static RedKiteSnapshot Of(RedKiteServer server)
    {
        var entries = new List<Entry>();
        using RedKiteSession session = server.CreateObserver();
        for (int database = 0; !session.Execute("SELECT", database.ToString(CultureInfo.InvariantCulture)).IsError; database++)
        {
            if (Execute(session, "DBSIZE"u8.ToArray()).Integer == 0) continue;
            foreach (RedKiteReply key in Execute(session, "KEYS"u8.ToArray(), "*"u8.ToArray()).Items)
            {
                RedKiteReply value = Execute(session, "DUMP"u8.ToArray(), key.Bytes);
                if (value.IsNull) continue;
                entries.Add(new Entry(database, key.Bytes, value.Bytes, Execute(session, "PEXPIRETIME"u8.ToArray(), key.Bytes).Integer));
            }
        }

        return new RedKiteSnapshot(entries);
    }

    internal void RestoreTo(RedKiteServer server)
    {
        using RedKiteSession session = server.CreateObserver();
        Execute(session, "FLUSHALL"u8.ToArray());
        int selected = 0;
        foreach (Entry entry in _entries)
        {
            if (entry.Database != selected) Execute(session, "SELECT"u8.ToArray(), Text(selected = entry.Database));
            Execute(session, "RESTORE"u8.ToArray(), entry.Key, Text(Math.Max(0, entry.ExpiryMs)), entry.Value, "ABSTTL"u8.ToArray());
        }
    }

    private static RedKiteReply Execute(RedKiteSession session, params ReadOnlySpan<ReadOnlyMemory<byte>> arguments)
    {
        RedKiteReply reply = session.Execute(arguments);
        return reply.IsError ? throw new InvalidOperationException(reply.Text) : reply;
    }

    private static byte[] Text(long number) => Encoding.ASCII.GetBytes(number.ToString(CultureInfo.InvariantCulture));

    private sealed record Entry(int Database, ReadOnlyMemory<byte> Key, ReadOnlyMemory<byte> Value, long ExpiryMs);
}
