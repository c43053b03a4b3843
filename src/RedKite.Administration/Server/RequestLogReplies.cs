using RedKite.Protocol;
using RedKite.Server.Metrics;

namespace RedKite.Server.Commands.Server;

/// <summary>The entries of SLOWLOG GET and COMMANDLOG GET.</summary>
internal static class RequestLogReplies
{
    /// <param name="reply">Where they are written to.</param>
    /// <param name="entries">The entries.</param>
    /// <param name="withCount">Whether each ends with the number of the request's arguments, as in SLOWLOG since Redis 8.10.</param>
    internal static void Write(ReplyWriter reply, RequestLogEntry[] entries, bool withCount)
    {
        reply.Array(entries.Length);
        foreach (RequestLogEntry entry in entries)
        {
            reply.Array(withCount ? 7 : 6);
            reply.Integer(entry.Id);
            reply.Integer(entry.UnixSeconds);
            reply.Integer(entry.Value);
            reply.Array(entry.Arguments.Length);
            foreach (byte[] argument in entry.Arguments) reply.Bulk(argument);
            reply.Bulk(entry.ClientAddress);
            reply.Bulk(entry.ClientName);
            if (withCount) reply.Integer(entry.ArgumentCount);
        }
    }
}
