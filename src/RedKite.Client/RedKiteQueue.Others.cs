using RedKite.Server.Client;

namespace RedKite;

/// <content>Geospatial indexes, streams, scripts and messages.</content>
public abstract partial class RedKiteQueue
{
    // Geospatial indexes

    /// <inheritdoc cref="RedKiteCommands.GeoAdd(RedKiteArgument, RedKiteArgument, double, double)"/>
    public RedKiteQueued<bool> GeoAdd(RedKiteArgument key, RedKiteArgument member, double longitude, double latitude) =>
        Begin("GEOADD"u8, key).Add(longitude).Add(latitude).Add(member).IsDone();

    /// <inheritdoc cref="RedKiteCommands.GeoDistanceOf(RedKiteArgument, RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<double?> GeoDistanceOf(RedKiteArgument key, RedKiteArgument member, RedKiteArgument other) =>
        Begin("GEODIST"u8, key).Add(member).Add(other).DoubleOrNull();

    /// <inheritdoc cref="RedKiteCommands.GeoSearch(RedKiteArgument, double, double, double)"/>
    public RedKiteQueued<RedKiteItems> GeoSearch(RedKiteArgument key, double longitude, double latitude, double radiusMetres) =>
        Begin("GEOSEARCH"u8, key).Add("FROMLONLAT"u8).Add(longitude).Add(latitude).Add("BYRADIUS"u8).Add(radiusMetres).Add("m"u8).Add("ASC"u8).Items();

    // Streams

    /// <inheritdoc cref="RedKiteCommands.StreamAdd(RedKiteArgument, RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<string> StreamAdd(RedKiteArgument key, RedKiteArgument field, RedKiteArgument value) => Begin("XADD"u8, key).Add("*"u8).Add(field).Add(value).Text();

    /// <inheritdoc cref="RedKiteCommands.StreamAdd(RedKiteArgument, long?, ReadOnlySpan{string})"/>
    public RedKiteQueued<string> StreamAdd(RedKiteArgument key, long? lengthMax, params ReadOnlySpan<string> fieldsAndValues) =>
        Begin("XADD"u8, key).AddIf(lengthMax is not null, "MAXLEN"u8).AddIf("~"u8, lengthMax).Add("*"u8).Add(fieldsAndValues).Text();

    /// <inheritdoc cref="RedKiteCommands.StreamLength(RedKiteArgument)"/>
    public RedKiteQueued<long> StreamLength(RedKiteArgument key) => Begin("XLEN"u8, key).Integer();

    /// <inheritdoc cref="RedKiteCommands.StreamRange(RedKiteArgument, string, string, long?)"/>
    public RedKiteQueued<IReadOnlyList<RedKiteStreamEntry>> StreamRange(RedKiteArgument key, string start = "-", string end = "+", long? count = null) =>
        Begin("XRANGE"u8, key).Add(start).Add(end).AddIf("COUNT"u8, count).As<IReadOnlyList<RedKiteStreamEntry>>(static reply => RedKiteStreamEntry.ListOf(reply));

    /// <inheritdoc cref="RedKiteCommands.StreamDelete(RedKiteArgument, string)"/>
    public RedKiteQueued<bool> StreamDelete(RedKiteArgument key, string id) => Begin("XDEL"u8, key).Add(id).IsDone();

    /// <inheritdoc cref="RedKiteCommands.StreamTrim(RedKiteArgument, long)"/>
    public RedKiteQueued<long> StreamTrim(RedKiteArgument key, long lengthMax) => Begin("XTRIM"u8, key).Add("MAXLEN"u8).Add(lengthMax).Integer();

    /// <inheritdoc cref="RedKiteCommands.StreamCreateGroup(RedKiteArgument, RedKiteArgument, string)"/>
    public RedKiteQueued StreamCreateGroup(RedKiteArgument key, RedKiteArgument group, string after = "$") =>
        Begin("XGROUP"u8).Add("CREATE"u8).Add(key).Add(group).Add(after).Add("MKSTREAM"u8).Done();

    /// <inheritdoc cref="RedKiteCommands.StreamReadGroup(RedKiteArgument, RedKiteArgument, RedKiteArgument, long)"/>
    public RedKiteQueued<IReadOnlyList<RedKiteStreamEntry>> StreamReadGroup(RedKiteArgument key, RedKiteArgument group, RedKiteArgument consumer, long count = 100) =>
        Begin("XREADGROUP"u8).Add("GROUP"u8).Add(group).Add(consumer).Add("COUNT"u8).Add(count).Add("STREAMS"u8).Add(key).Add(">"u8).As<IReadOnlyList<RedKiteStreamEntry>>(static reply => RedKiteStreamEntry.FirstListOf(reply));

    /// <inheritdoc cref="RedKiteCommands.StreamAutoClaim(RedKiteArgument, RedKiteArgument, RedKiteArgument, TimeSpan, string, long)"/>
    public RedKiteQueued<RedKiteClaimedEntries> StreamAutoClaim(RedKiteArgument key, RedKiteArgument group, RedKiteArgument consumer, TimeSpan idleMin, string start = "0-0", long count = 100) =>
        Begin("XAUTOCLAIM"u8, key).Add(group).Add(consumer).Add(Ms(idleMin)).Add(start).Add("COUNT"u8).Add(count).As(RedKiteClaimedEntries.Of);

    /// <inheritdoc cref="RedKiteCommands.StreamAcknowledge(RedKiteArgument, RedKiteArgument, string)"/>
    public RedKiteQueued<bool> StreamAcknowledge(RedKiteArgument key, RedKiteArgument group, string id) => Begin("XACK"u8, key).Add(group).Add(id).IsDone();

    // Scripts

    /// <inheritdoc cref="RedKiteCommands.ScriptLoad(string)"/>
    public RedKiteQueued<string> ScriptLoad(string script) => Begin("SCRIPT"u8).Add("LOAD"u8).Add(script).Text();

    /// <inheritdoc cref="RedKiteCommands.Eval(string, ReadOnlySpan{string}, ReadOnlySpan{string})"/>
    public RedKiteQueued<RedKiteReply> Eval(string script, ReadOnlySpan<string> keys = default, ReadOnlySpan<string> arguments = default) =>
        Begin("EVAL"u8, script).Add(keys.Length).Add(keys).Add(arguments).Tree();

    /// <inheritdoc cref="RedKiteCommands.EvalSha(string, ReadOnlySpan{string}, ReadOnlySpan{string})"/>
    public RedKiteQueued<RedKiteReply> EvalSha(string sha1, ReadOnlySpan<string> keys = default, ReadOnlySpan<string> arguments = default) =>
        Begin("EVALSHA"u8, sha1).Add(keys.Length).Add(keys).Add(arguments).Tree();

    // Messages

    /// <inheritdoc cref="RedKiteCommands.Publish(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<long> Publish(RedKiteArgument channel, RedKiteArgument message) => Begin("PUBLISH"u8, channel).Add(message).Integer();

    /// <inheritdoc cref="RedKiteCommands.PublishSharded(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<long> PublishSharded(RedKiteArgument channel, RedKiteArgument message) => Begin("SPUBLISH"u8, channel).Add(message).Integer();
}
