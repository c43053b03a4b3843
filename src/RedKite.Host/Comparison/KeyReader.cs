using System.Security.Cryptography;
using RedKite.Host.Transfer;

namespace RedKite.Host.Comparison;

/// <summary>What is compared of a key.</summary>
/// <param name="Exists">Whether the server has it.</param>
/// <param name="Expiry">When it expires, in milliseconds since 1970; -1: never. Servers from before 7.0 only say whether: 0.</param>
/// <param name="Value">What identifies the value.</param>
internal readonly record struct KeyState(bool Exists, long Expiry, string Value)
{
    internal static KeyState Missing => new(false, -1, "");
}

/// <summary>Reads keys of one server: their values' digests as the server makes them, or from their dumps.</summary>
/// <param name="source">The server.</param>
/// <param name="digests">Whether the server makes digests: DEBUG DIGEST-VALUE.</param>
/// <param name="values">Makes them otherwise.</param>
internal sealed class KeyReader(SourceServer source, bool digests, DumpDigest values)
{
    private const int FooterBytes = 10; // of a dump: its version, and its checksum

    // Keys that are asked for in advance wait in the server's memory: so many, and about so many bytes.
    private const int WindowMax = 64;
    private const long WindowBytes = 4 << 20;

    private long _recentBytes; // the size of dumps, averaged over the last ones

    internal SourceServer Source => source;

    /// <summary>Whether a server makes digests of values.</summary>
    internal static bool MakesDigests(ServerLink link) => !link.Run("DEBUG", "DIGEST-VALUE", "redkite:nosuchkey").IsError;

    /// <summary>Whether the server has keys.</summary>
    internal bool[] Exist(IReadOnlyList<byte[]> keys)
    {
        bool[] exist = new bool[keys.Count];
        foreach (byte[] key in keys) source.Link.Queue("EXISTS", key);
        source.Link.Flush();
        for (int i = 0; i < exist.Length; i++) exist[i] = source.Link.Read().Number == 1;
        return exist;
    }

    /// <summary>Reads keys.</summary>
    /// <param name="keys">The keys, of the selected database.</param>
    /// <param name="isExact">Whether equal values look equal in any case; otherwise dumps of equal values may differ.</param>
    internal KeyState[] Read(IReadOnlyList<byte[]> keys, bool isExact)
    {
        var states = new KeyState[keys.Count];
        bool usesDigests = digests && !isExact; // versions write some scores in different ways, and so differ in their digests
        for (int start = 0, end; start < keys.Count; start = end)
        {
            end = Math.Min(keys.Count, start + (int)Math.Clamp(WindowBytes / Math.Max(_recentBytes, 1), 1, WindowMax));
            for (int i = start; i < end; i++)
            {
                source.AskExpiry(keys[i]);
                if (usesDigests) source.Link.Queue("DEBUG", "DIGEST-VALUE", keys[i]);
                else source.Link.Queue("DUMP", keys[i]);
            }

            source.Link.Flush();
            for (int i = start; i < end; i++) states[i] = ReadState(usesDigests, isExact);
        }

        return states;
    }

    private KeyState ReadState(bool usesDigests, bool isExact)
    {
        Reply expiry = source.Link.Read();
        if (expiry.IsError) throw source.Link.Refused(expiry);
        string? value = usesDigests ? ReadDigest() : ReadDump(isExact);
        if (expiry.Number == -2 || value is null) return KeyState.Missing;
        return new KeyState(true, expiry.Number < 0 ? -1 : source.HasAbsoluteTimes ? expiry.Number : 0, value);
    }

    private string ReadDigest()
    {
        Reply reply = source.Link.Read();
        return reply.IsError ? throw source.Link.Refused(reply) : reply.Array.Length == 1 ? reply.Array[0].Text : throw source.Link.Fail("the reply to DEBUG DIGEST-VALUE is not as expected");
    }

    private string? ReadDump(bool isExact)
    {
        if (isExact)
        {
            Reply reply = source.Link.Read();
            if (reply.IsError) throw source.Link.Refused(reply);
            NoteSize(reply.Bytes?.Length ?? 0);
            return reply.Bytes is { } dump ? values.Of(dump) ?? Convert.ToHexStringLower(SHA256.HashData(dump.AsSpan(0, Math.Max(0, dump.Length - FooterBytes)))) : null;
        }

        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        var body = new HeldTail(FooterBytes, piece => hash.AppendData(piece));
        Protocol.ReplyElement element = source.Link.ReadElement();
        if (element.Marker == (byte)'-') throw source.Link.Refused(element);
        if (!element.IsString) throw source.Link.Fail("the reply to DUMP is not as expected");
        if (element.Number < 0) return null;
        NoteSize(element.Number);
        body.Append(element.Bytes);
        while (!element.IsWhole)
        {
            element = source.Link.ReadElement();
            body.Append(element.Bytes);
        }

        return Convert.ToHexStringLower(hash.GetHashAndReset());
    }

    private void NoteSize(long bytes) => _recentBytes = Math.Max(bytes, _recentBytes - (_recentBytes / 8));
}
