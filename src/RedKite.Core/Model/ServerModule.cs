using System.Globalization;
using System.Text;
using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>
/// A module of Redis 8 whose commands the server has, as HELLO, INFO and MODULE LIST show it: clients look there for what a server can do.
/// </summary>
/// <param name="Name">As the module calls itself.</param>
/// <param name="Version">The version whose commands the server has.</param>
/// <param name="Options">As INFO lists them.</param>
internal sealed record ServerModule(string Name, int Version, string Options)
{
    internal static readonly ServerModule VectorSets = new("vectorset", 1, "handle-io-errors|handle-repl-async-load");
    internal static readonly ServerModule Json = new("ReJSON", 80001, "handle-io-errors") { HasLowerNames = true };
    internal static readonly ServerModule Sketches = new("bf", 80001, "handle-io-errors") { HasLowerNames = true };
    internal static readonly ServerModule TimeSeries = new("timeseries", 80001, "handle-io-errors|handle-repl-async-load") { HasLowerNames = true };

    /// <summary>All of them.</summary>
    internal static readonly ServerModule[] All = [VectorSets, Json, Sketches, TimeSeries];

    /// <summary>Whether the names of its commands are in lower case, as those of commands without a module; otherwise they are in capitals.</summary>
    internal bool HasLowerNames { get; private init; }

    internal string InfoLine => string.Create(CultureInfo.InvariantCulture, $"module:name={Name},ver={Version},api=1,filters=0,usedby=[],using=[],options=[{Options}]");

    /// <summary>The module with a name; null: there is none.</summary>
    internal static ServerModule? Find(ReadOnlySpan<byte> name)
    {
        foreach (ServerModule module in All)
        {
            if (Ascii.Equals(name, module.Name)) return module;
        }

        return null;
    }

    /// <summary>Replies the list of modules.</summary>
    internal static void ReplyList(ReplyWriter reply)
    {
        reply.Array(All.Length);
        foreach (ServerModule module in All)
        {
            reply.Map(4);
            reply.Bulk("name"u8);
            reply.Bulk(module.Name);
            reply.Bulk("ver"u8);
            reply.Integer(module.Version);
            reply.Bulk("path"u8);
            reply.Bulk(""u8);
            reply.Bulk("args"u8);
            reply.Array(0);
        }
    }
}
