using RedKite.Protocol;

namespace RedKite.Server.Commands.Server;

/// <summary>The module that vector sets are in Redis, as HELLO, INFO and MODULE LIST show it: clients look there for what a server can do.</summary>
internal static class VectorModule
{
    internal const string InfoLine = "module:name=vectorset,ver=1,api=1,filters=0,usedby=[],using=[],options=[handle-io-errors|handle-repl-async-load]";

    private const int Version = 1;

    internal const string NameText = "vectorset";

    internal static ReadOnlySpan<byte> Name => "vectorset"u8;

    /// <summary>Replies the list of modules.</summary>
    internal static void ReplyList(ReplyWriter reply)
    {
        reply.Array(1);
        reply.Map(4);
        reply.Bulk("name"u8);
        reply.Bulk(Name);
        reply.Bulk("ver"u8);
        reply.Integer(Version);
        reply.Bulk("path"u8);
        reply.Bulk(""u8);
        reply.Bulk("args"u8);
        reply.Array(0);
    }
}
