using RedKite.Protocol;
using RedKite.Server.Metrics;

namespace RedKite.Server.Commands.Server;

/// <summary>The entries of SLOWLOG GET and COMMANDLOG GET.</summary>
internal static class RequestLogReplies
{
    internal static void Write(ReplyWriter reply, RequestLogEntry[] entries)
    {
        reply.Array(entries.Length);
        foreach (RequestLogEntry entry in entries)
        {
            reply.Array(6);
            reply.Integer(entry.Id);
            reply.Integer(entry.UnixSeconds);
            reply.Integer(entry.Value);
            reply.Array(entry.Arguments.Length);
            foreach (byte[] argument in entry.Arguments) reply.Bulk(argument);
            reply.Bulk(entry.ClientAddress);
            reply.Bulk(entry.ClientName);
        }
    }
}
