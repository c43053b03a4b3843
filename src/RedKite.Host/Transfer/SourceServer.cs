using System.Globalization;
using RedKite.Protocol;

namespace RedKite.Host.Transfer;

/// <summary>Receives dumps as they arrive.</summary>
internal interface IDumpTarget
{
    /// <summary>Begins a dump; false: it is not wanted, and passed over.</summary>
    /// <param name="key">The key.</param>
    /// <param name="expiry">When it expires, as <see cref="SourceServer.HasAbsoluteTimes"/> says; -1: never.</param>
    /// <param name="bytes">The dump's size.</param>
    bool Begin(byte[] key, long expiry, long bytes);

    /// <summary>Receives the next bytes of the dump.</summary>
    void Piece(ReadOnlySpan<byte> piece);

    /// <summary>Ends the dump.</summary>
    void End();
}

/// <summary>
/// A running server whose keys are read with SCAN and DUMP: its databases, the names of its keys, and their dumps, which are requested
/// in advance and read in pieces.
/// </summary>
internal sealed class SourceServer
{
    /// <summary>The number of keys that a SCAN is asked for.</summary>
    internal const int ScanCount = 500;

    // Dumps that are requested in advance wait in the server's memory: so many, and about so many bytes.
    private const int WindowMax = 64;
    private const long WindowBytes = 4 * 1024 * 1024;

    private readonly bool _hasUnits;
    private long _recentBytes; // the size of dumps, averaged over the last ones

    internal SourceServer(ServerLink link)
    {
        Link = link;
        Info = link.RunOrFail("INFO").Text;
        HasAbsoluteTimes = !link.Run("PEXPIRETIME", "redkite:nosuchkey").IsError;
        _hasUnits = !link.Run("MULTI").IsError;
        if (_hasUnits) link.RunOrFail("EXEC");
    }

    internal ServerLink Link { get; }

    /// <summary>The reply to INFO.</summary>
    internal string Info { get; }

    /// <summary>Whether expiries are milliseconds since 1970 (Redis 7.0 and later); otherwise they are milliseconds from now.</summary>
    internal bool HasAbsoluteTimes { get; }

    /// <summary>The databases that have keys, with their number of keys, or the one that the address names.</summary>
    internal SortedDictionary<int, long> Databases()
    {
        var databases = new SortedDictionary<int, long>();
        foreach (string line in Info.Split('\n'))
        {
            int end = line.IndexOf(":keys=", StringComparison.Ordinal);
            if (end < 0 || !line.StartsWith("db", StringComparison.Ordinal) || !int.TryParse(line.AsSpan(2, end - 2), NumberStyles.None, CultureInfo.InvariantCulture, out int number)) continue;
            string keys = line[(end + ":keys=".Length)..].Split(',')[0];
            if (Link.Address.Database < 0 || Link.Address.Database == number) databases[number] = long.Parse(keys, CultureInfo.InvariantCulture);
        }

        return databases;
    }

    /// <summary>A field of INFO; empty if it is missing.</summary>
    internal string InfoField(string name) => FieldOf(Info, name);

    internal static string FieldOf(string info, string name)
    {
        foreach (string line in info.Split('\n'))
        {
            if (line.StartsWith(name, StringComparison.Ordinal) && line.Length > name.Length && line[name.Length] == ':') return line[(name.Length + 1)..].TrimEnd('\r');
        }

        return "";
    }

    internal void Select(int database)
    {
        if (database > 0 || Link.Address.Database >= 0) Link.RunOrFail("SELECT", database);
    }

    /// <summary>The next keys, and the cursor after them; "0": that was all. Keys that move meanwhile may come twice.</summary>
    internal IReadOnlyList<byte[]> Scan(ref string cursor)
    {
        Reply reply = Link.RunOrFail("SCAN", cursor, "COUNT", ScanCount);
        if (reply.Array is not [{ } next, { Items: { } keys }]) throw Link.Fail("the reply to SCAN is not as expected");
        cursor = next.Text;
        return [.. keys.Select(key => key.Bytes ?? [])];
    }

    /// <summary>
    /// Reads the dumps of keys. Each comes with the expiry that it has at the same moment. Keys that no longer exist are passed over.
    /// </summary>
    internal void ReadDumps(IReadOnlyList<byte[]> keys, IDumpTarget target)
    {
        int asked = 0;
        for (int answered = 0; answered < keys.Count; answered++)
        {
            int window = (int)Math.Clamp(WindowBytes / Math.Max(_recentBytes, 1), 1, WindowMax);
            if (asked - answered <= window / 2)
            {
                while (asked < keys.Count && asked - answered < window) Ask(keys[asked++]);
                Link.Flush();
            }

            ReadDump(keys[answered], target);
        }
    }

    /// <summary>The types of keys as TYPE replies them.</summary>
    internal string[] TypesOf(IReadOnlyList<byte[]> keys)
    {
        foreach (byte[] key in keys) Link.Queue("TYPE", key);
        Link.Flush();
        return [.. keys.Select(_ => Link.Read().Text)];
    }

    /// <summary>Asks when a key expires; <see cref="ReadExpiry"/> reads the reply.</summary>
    internal void AskExpiry(byte[] key) => Link.Queue(HasAbsoluteTimes ? "PEXPIRETIME" : "PTTL", key);

    /// <summary>When a key expires, as <see cref="HasAbsoluteTimes"/> says; -1: never, or it is missing.</summary>
    internal long ReadExpiry()
    {
        Reply reply = Link.Read();
        if (reply.IsError) throw Link.Refused(reply);
        if (reply.Number < 0) return -1;
        return HasAbsoluteTimes ? reply.Number : Math.Max(reply.Number, 1);
    }

    private void Ask(byte[] key)
    {
        if (_hasUnits) Link.Queue("MULTI");
        AskExpiry(key);
        Link.Queue("DUMP", key);
        if (_hasUnits) Link.Queue("EXEC");
    }

    private void ReadDump(byte[] key, IDumpTarget target)
    {
        if (_hasUnits)
        {
            // The replies to MULTI and to what it queues; then the head of the array.
            for (int i = 0; i < 3; i++)
            {
                Reply queued = Link.Read();
                if (queued.IsError) throw Link.Refused(queued);
            }

            ReplyElement unit = Link.ReadElement();
            if (unit is not { Marker: (byte)'*', Number: 2 }) throw Link.Fail("the reply to EXEC is not as expected");
        }

        long expiry = ReadExpiry();
        ReplyElement element = Link.ReadElement();
        if (element.Marker == (byte)'-') throw Link.Refused(element);
        if (!element.IsString) throw Link.Fail("the reply to DUMP is not as expected");
        if (element.Number < 0) return;
        _recentBytes = Math.Max(element.Number, _recentBytes - (_recentBytes / 8));
        bool isWanted = target.Begin(key, expiry, element.Number);
        if (isWanted) target.Piece(element.Bytes);
        while (!element.IsWhole)
        {
            element = Link.ReadElement();
            if (isWanted) target.Piece(element.Bytes);
        }

        if (isWanted) target.End();
    }
}
