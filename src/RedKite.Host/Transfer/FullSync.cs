using System.Buffers.Binary;
using System.Globalization;
using System.Text;
using RedKite.Persistence.Rdb;

namespace RedKite.Host.Transfer;

/// <summary>
/// Receives all data of a server at one moment, as a replica does, in RDB form:
/// <code>
/// SYNC -> empty lines while the server prepares, then "$" size, then the data;
///         or "$EOF:" and 40 characters, then the data, then these characters again
/// </code>
/// </summary>
internal static class FullSync
{
    private const int MarkBytes = 40;
    private const int LineBytesMax = 4096;
    private const string MarkPrefix = "$EOF:";

    /// <summary>Asks for the data; null: it follows, to be read by <see cref="Receive"/>. Otherwise the server's refusal.</summary>
    /// <param name="link">The connection.</param>
    /// <param name="version">The version of Valkey that the data is for; null: as the server has it.</param>
    /// <param name="head">The line before the data.</param>
    internal static string? Begin(ServerLink link, string? version, out string head)
    {
        // Any may be unknown to the server. They say: without a file on its disk (Redis 2.8.18), without commands afterwards (7.0), and for
        // a replica of its own version, because Valkey 9 otherwise writes an older format, which has no expiries of fields.
        link.Run("REPLCONF", "capa", "eof");
        link.Run("REPLCONF", "rdb-only", "1");
        string own = SourceServer.FieldOf(link.Run("INFO", "server").Text, "valkey_version");
        if ((version ?? own) is { Length: > 0 } target && link.Run("REPLCONF", "version", target).IsError && version is not null) throw link.Fail("this server writes no file for Valkey: RedKite does, and Valkey itself");
        link.Queue("SYNC");
        link.Flush();
        head = ReadLine(link);
        return head[0] == '-' ? head[1..] : null;
    }

    /// <summary>Receives the data.</summary>
    /// <param name="link">The connection after <see cref="Begin"/>.</param>
    /// <param name="head">The line before the data.</param>
    /// <param name="sink">Receives it.</param>
    /// <param name="progress">Is told the number of bytes now and then.</param>
    internal static void Receive(ServerLink link, string head, RdbSink sink, Action<long> progress)
    {
        ulong crc = 0;
        long bytes = 0;
        var version = new byte[RdbFileReader.HeaderBytes];
        var data = new HeldTail(Crc64.Bytes, piece =>
        {
            if (bytes < version.Length) piece[..(int)Math.Min(piece.Length, version.Length - bytes)].CopyTo(version.AsSpan((int)bytes));
            crc = Crc64.Append(crc, piece);
            bytes += piece.Length;
            sink(piece);
            progress(bytes);
        });
        if (head.StartsWith(MarkPrefix, StringComparison.Ordinal)) ReceiveToMark(link, head[MarkPrefix.Length..], data);
        else ReceiveSized(link, head, data);
        if (!RdbFileReader.Begins(version)) throw link.Fail("what the server sent is no RDB data");
        if (data.Tail.Length < Crc64.Bytes) throw link.Fail("what the server sent is too short");
        ulong sum = BinaryPrimitives.ReadUInt64LittleEndian(data.Tail);
        if (sum != 0 && sum != crc) throw link.Fail("the data was damaged on its way: its checksum is wrong");
        sink(data.Tail);
    }

    private static void ReceiveSized(ServerLink link, string head, HeldTail data)
    {
        if (head[0] != '$' || !long.TryParse(head.AsSpan(1), NumberStyles.None, CultureInfo.InvariantCulture, out long left)) throw link.Fail("the reply to SYNC is not as expected");
        while (left > 0)
        {
            ReadOnlySpan<byte> raw = link.ReadRaw();
            if (raw.Length > left)
            {
                link.Unread((int)(raw.Length - left));
                raw = raw[..(int)left];
            }

            data.Append(raw);
            left -= raw.Length;
        }
    }

    // Nothing follows the second mark: a replica that wants RDB data only gets no commands, and others only after they have confirmed.
    private static void ReceiveToMark(ServerLink link, string mark, HeldTail data)
    {
        if (mark.Length != MarkBytes) throw link.Fail("the reply to SYNC is not as expected");
        byte[] end = Encoding.ASCII.GetBytes(mark);
        var outer = new HeldTail(MarkBytes, data.Append);
        while (!outer.Tail.SequenceEqual(end)) outer.Append(link.ReadRaw());
    }

    private static string ReadLine(ServerLink link)
    {
        var line = new StringBuilder();
        while (true)
        {
            ReadOnlySpan<byte> raw = link.ReadRaw();
            for (int i = 0; i < raw.Length; i++)
            {
                if (raw[i] == '\n' && line.ToString().Trim().Length > 0)
                {
                    link.Unread(raw.Length - i - 1);
                    return line.ToString().Trim();
                }

                line.Append((char)raw[i]);
                if (line.Length > LineBytesMax) throw link.Fail("the reply to SYNC is not as expected");
            }
        }
    }
}
