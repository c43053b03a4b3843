using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arguments;

/// <summary>A value of which HSCAN, SSCAN or ZSCAN replies members.</summary>
internal interface IScannable
{
    /// <summary>Whether it is a table, which is scanned bucket by bucket; anything smaller is replied whole.</summary>
    bool IsTable { get; }

    /// <summary>Replies the members of a small value that the options accept.</summary>
    /// <returns>The number of replies.</returns>
    int ReplyAll(ReplyWriter reply, scoped in MemberScanOptions options);

    /// <summary>Replies the members of a table's bucket that the options accept. The cursor advances to the next bucket and is 0 after the last one.</summary>
    /// <param name="reply">The reply.</param>
    /// <param name="options">The options.</param>
    /// <param name="cursor">The bucket.</param>
    /// <param name="seen">Is increased by the number of members, accepted or not.</param>
    /// <returns>The number of replies.</returns>
    int ReplyBucket(ReplyWriter reply, scoped in MemberScanOptions options, ref ulong cursor, ref long seen);
}

/// <summary>The replies of HSCAN, SSCAN and ZSCAN: a cursor, and an array whose length is known at the end.</summary>
internal static class MemberScan
{
    // A call visits at most this many buckets for each member that COUNT requests, so that a sparse table ends a call as well.
    private const long BucketsForEachMember = 10;

    internal static void Reply<T>(ReplyWriter reply, ulong cursor, scoped in MemberScanOptions options, scoped in T value)
        where T : struct, IScannable, allows ref struct
    {
        long start = reply.Length;
        int count = 0;
        if (value.IsTable)
        {
            long seen = 0;
            long bucketsLeft = options.Count > long.MaxValue / BucketsForEachMember ? long.MaxValue : options.Count * BucketsForEachMember;
            do count += value.ReplyBucket(reply, options, ref cursor, ref seen);
            while (cursor != 0 && seen < options.Count && --bucketsLeft > 0 && !reply.Overflowed && !options.Patterns.IsUsedUp);
        }
        else
        {
            cursor = 0;
            count = value.ReplyAll(reply, options);
        }

        if (!options.Patterns.EndPatternsOrReply(reply, start)) return;
        long end = reply.Length;
        WriteHead(reply, cursor, count);
        reply.MoveToFront(start, end);
    }

    /// <summary>Reads the options. A missing key is replied at once: as in Redis, its options are not checked.</summary>
    internal static bool TryBeginOrReply(scoped in CommandContext cmd, bool keyExists, out MemberScanOptions options, bool haveValues = false, bool haveScores = false)
    {
        if (keyExists) return MemberScanOptions.TryParseOrReply(cmd, out options, haveValues, haveScores);
        options = default;
        WriteHead(cmd.Reply, cursor: 0, count: 0);
        return false;
    }

    // A cursor is an unsigned number. One beyond the signed range was not issued by this server, but it is accepted.
    private static void WriteHead(ReplyWriter reply, ulong cursor, int count)
    {
        reply.Array(2);
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        cursor.TryFormat(digits, out int length);
        reply.Bulk(digits[..length]);
        reply.Array(count);
    }
}
