using RedKite.Server.Client;

namespace RedKite;

/// <content>Geospatial indexes, streams, scripts and messages.</content>
public abstract partial class RedKiteCommands
{
    // Geospatial indexes

    /// <summary>Adds a member at a position in degrees. GEOADD.</summary>
    /// <returns>Whether it is new.</returns>
    public bool GeoAdd(RedKiteArgument key, RedKiteArgument member, double longitude, double latitude) => Begin("GEOADD"u8, key).Add(longitude).Add(latitude).Add(member).IsDone();

    /// <summary>The distance of two members in metres; null: one is missing. GEODIST.</summary>
    public double? GeoDistanceOf(RedKiteArgument key, RedKiteArgument member, RedKiteArgument other) => Begin("GEODIST"u8, key).Add(member).Add(other).DoubleOrNull();

    /// <summary>The members within a radius in metres of a position in degrees, the nearest first. GEOSEARCH.</summary>
    public RedKiteItems GeoSearch(RedKiteArgument key, double longitude, double latitude, double radiusMetres) =>
        Begin("GEOSEARCH"u8, key).Add("FROMLONLAT"u8).Add(longitude).Add(latitude).Add("BYRADIUS"u8).Add(radiusMetres).Add("m"u8).Add("ASC"u8).Items();

    // Streams

    /// <summary>Adds an entry with one field, under an id of the server. XADD.</summary>
    /// <returns>The entry's id.</returns>
    public string StreamAdd(RedKiteArgument key, RedKiteArgument field, RedKiteArgument value) => Begin("XADD"u8, key).Add("*"u8).Add(field).Add(value).TextOrNull()!;

    /// <summary>Adds an entry: names and values of its fields alternate. XADD.</summary>
    /// <param name="key">The stream.</param>
    /// <param name="lengthMax">The oldest entries beyond this many are removed, a few later than exactly then; null: none are.</param>
    /// <param name="fieldsAndValues">Names and values alternate.</param>
    /// <returns>The entry's id.</returns>
    public string StreamAdd(RedKiteArgument key, long? lengthMax, params ReadOnlySpan<string> fieldsAndValues) =>
        Begin("XADD"u8, key).AddIf(lengthMax is not null, "MAXLEN"u8).AddIf("~"u8, lengthMax).Add("*"u8).Add(fieldsAndValues).TextOrNull()!;

    /// <summary>The number of entries. XLEN.</summary>
    public long StreamLength(RedKiteArgument key) => Begin("XLEN"u8, key).Integer();

    /// <summary>Entries between two inclusive ids; "-" and "+" are the first and the last. XRANGE.</summary>
    public IReadOnlyList<RedKiteStreamEntry> StreamRange(RedKiteArgument key, string start = "-", string end = "+", long? count = null) =>
        RedKiteStreamEntry.ListOf(Begin("XRANGE"u8, key).Add(start).Add(end).AddIf("COUNT"u8, count).Tree());

    /// <summary>Deletes an entry. XDEL.</summary>
    /// <returns>Whether it existed.</returns>
    public bool StreamDelete(RedKiteArgument key, string id) => Begin("XDEL"u8, key).Add(id).IsDone();

    /// <summary>Removes the oldest entries beyond a number. XTRIM.</summary>
    /// <returns>How many were removed.</returns>
    public long StreamTrim(RedKiteArgument key, long lengthMax) => Begin("XTRIM"u8, key).Add("MAXLEN"u8).Add(lengthMax).Integer();

    /// <summary>Creates a consumer group, and the stream if there is none. XGROUP CREATE.</summary>
    /// <param name="key">The stream.</param>
    /// <param name="group">The group.</param>
    /// <param name="after">The id after which it begins to read; "0" for all entries, "$" for those to come.</param>
    public void StreamCreateGroup(RedKiteArgument key, RedKiteArgument group, string after = "$") =>
        Begin("XGROUP"u8).Add("CREATE"u8).Add(key).Add(group).Add(after).Add("MKSTREAM"u8).Done();

    /// <summary>Reads entries that no consumer of a group has got yet, and assigns them to a consumer. XREADGROUP.</summary>
    public IReadOnlyList<RedKiteStreamEntry> StreamReadGroup(RedKiteArgument key, RedKiteArgument group, RedKiteArgument consumer, long count = 100) =>
        RedKiteStreamEntry.FirstListOf(Begin("XREADGROUP"u8).Add("GROUP"u8).Add(group).Add(consumer).Add("COUNT"u8).Add(count).Add("STREAMS"u8).Add(key).Add(">"u8).Tree());

    /// <summary>
    /// Takes over entries that another consumer of the group has had for some time without acknowledging them, up to a number at a time. XAUTOCLAIM.
    /// </summary>
    /// <param name="key">The stream.</param>
    /// <param name="group">The group.</param>
    /// <param name="consumer">The consumer that gets them.</param>
    /// <param name="idleMin">For how long they have not been delivered.</param>
    /// <param name="start">The id to begin with: "0-0", or <see cref="RedKiteClaimedEntries.Next"/> of the last call.</param>
    /// <param name="count">The most entries.</param>
    public RedKiteClaimedEntries StreamAutoClaim(RedKiteArgument key, RedKiteArgument group, RedKiteArgument consumer, TimeSpan idleMin, string start = "0-0", long count = 100) =>
        RedKiteClaimedEntries.Of(Begin("XAUTOCLAIM"u8, key).Add(group).Add(consumer).Add(Ms(idleMin)).Add(start).Add("COUNT"u8).Add(count).Tree());

    /// <summary>Acknowledges an entry of a group. XACK.</summary>
    /// <returns>Whether it was pending.</returns>
    public bool StreamAcknowledge(RedKiteArgument key, RedKiteArgument group, string id) => Begin("XACK"u8, key).Add(group).Add(id).IsDone();

    // Scripts

    /// <summary>Compiles a script and keeps it for EVALSHA until SCRIPT FLUSH or the end of the server. SCRIPT LOAD.</summary>
    /// <returns>The SHA-1 of its text, as hexadecimal digits.</returns>
    /// <exception cref="RedKiteException">It does not compile.</exception>
    public string ScriptLoad(string script) => Begin("SCRIPT"u8).Add("LOAD"u8).Add(script).TextOrNull()!;

    /// <summary>Runs a Lua script. EVAL.</summary>
    /// <param name="script">Its text.</param>
    /// <param name="keys">Every key that it uses.</param>
    /// <param name="arguments">Further arguments.</param>
    /// <exception cref="RedKiteException">It failed, or does not compile.</exception>
    public RedKiteReply Eval(string script, ReadOnlySpan<string> keys = default, ReadOnlySpan<string> arguments = default) =>
        Begin("EVAL"u8, script).Add(keys.Length).Add(keys).Add(arguments).Tree();

    /// <summary>Runs a script that SCRIPT LOAD or EVAL has loaded. EVALSHA.</summary>
    /// <param name="sha1">The SHA-1 of its text, as hexadecimal digits.</param>
    /// <param name="keys">Every key that it uses.</param>
    /// <param name="arguments">Further arguments.</param>
    /// <exception cref="RedKiteException">NOSCRIPT: it is not loaded; or it failed.</exception>
    public RedKiteReply EvalSha(string sha1, ReadOnlySpan<string> keys = default, ReadOnlySpan<string> arguments = default) =>
        Begin("EVALSHA"u8, sha1).Add(keys.Length).Add(keys).Add(arguments).Tree();

    // Messages

    /// <summary>Sends a message to the subscribers of a channel. PUBLISH.</summary>
    /// <returns>How many got it.</returns>
    public long Publish(RedKiteArgument channel, RedKiteArgument message) => Begin("PUBLISH"u8, channel).Add(message).Integer();

    /// <summary>Sends a message to the subscribers of a sharded channel. SPUBLISH.</summary>
    /// <returns>How many got it.</returns>
    public long PublishSharded(RedKiteArgument channel, RedKiteArgument message) => Begin("SPUBLISH"u8, channel).Add(message).Integer();
}

/// <summary>What <see cref="RedKiteCommands.StreamAutoClaim"/> has taken over.</summary>
/// <param name="Next">The id to go on with; "0-0": all pending entries were looked at.</param>
/// <param name="Entries">The entries.</param>
/// <param name="DeletedIds">The ids of entries that are no longer in the stream and are pending no more.</param>
public sealed record RedKiteClaimedEntries(string Next, IReadOnlyList<RedKiteStreamEntry> Entries, IReadOnlyList<string> DeletedIds)
{
    internal static RedKiteClaimedEntries Of(RedKiteReply reply) =>
        new(reply.Items[0].Text!, RedKiteStreamEntry.ListOf(reply.Items[1]), [.. reply.Items[2].Items.Select(static id => id.Text!)]);
}

/// <summary>An entry of a stream.</summary>
/// <param name="Id">Its id: milliseconds and a sequence number.</param>
/// <param name="Fields">Its fields and values, in their order.</param>
public sealed record RedKiteStreamEntry(string Id, IReadOnlyList<KeyValuePair<string, ReadOnlyMemory<byte>>> Fields)
{
    internal static RedKiteStreamEntry[] ListOf(RedKiteReply entries)
    {
        var list = new RedKiteStreamEntry[entries.Items.Count];
        for (int i = 0; i < list.Length; i++)
        {
            IReadOnlyList<RedKiteReply> parts = entries.Items[i].Items;
            IReadOnlyList<RedKiteReply> values = parts[1].Items;
            var fields = new KeyValuePair<string, ReadOnlyMemory<byte>>[values.Count / 2];
            for (int field = 0; field < fields.Length; field++) fields[field] = new(values[2 * field].Text!, values[(2 * field) + 1].Bytes);
            list[i] = new RedKiteStreamEntry(parts[0].Text!, fields);
        }

        return list;
    }

    /// <summary>The entries of the one stream that was read; none for a null.</summary>
    internal static RedKiteStreamEntry[] FirstListOf(RedKiteReply streams) => streams.IsNull ? [] : ListOf(streams.Items[0].Items[1]);
}
