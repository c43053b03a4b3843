using System.Buffers;
using RedKite.Protocol;
using RedKite.Server.Commands.SortedSets;
using RedKite.Server.Model;
using RedKite.Store.Values.SortedSets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Geo;

/// <summary>
/// Geo commands that name their members: positions are the scores of a sorted set (see <see cref="GeoCell"/>). The table is
/// their single declaration and this file's contents. Searches are in GeoSearchCommands.
/// </summary>
internal static class GeoCommands
{
    // A sign, three digits, a point and 17 digits.

    // The largest double has 309 digits before the point.
    private const int DistanceTextMax = 32;
    private const long DistanceUnits = 10_000;

    private const int HashTextLength = 11;
    private const int ScoresOnStack = 64;

    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("geo", "geo",
    [
        new("GEOADD", -5, Write | DenyOom, KeySpecs.One(1, ReadWrite | Update), GeoAdd,
            new("3.2.0", "O(log(N)) for each item added, where N is the number of elements in the sorted set.", "Adds members to a geo index or sets their positions. Creates the key if it doesn't exist.",
                "key condition:[NX | XX]@6.2.0 [change:CH@6.2.0] data:<longitude latitude member [longitude latitude member ...]>") { History = [("6.2.0", "Adds `NX`, `XX` and `CH`.")] }),
        new("GEOPOS", -2, CommandFlags.ReadOnly, Accessed, GeoPos,
            new("3.2.0", "O(1) for each member requested.", "Returns the longitudes and latitudes of members of a geo index.", "key [member ...]")),
        new("GEODIST", -4, CommandFlags.ReadOnly, Accessed, GeoDist,
            new("3.2.0", "O(1)", "Returns the distance between two members of a geo index.", "key member1 member2 unit:[M | KM | FT | MI]")),
        new("GEOHASH", -2, CommandFlags.ReadOnly, Accessed, GeoHash,
            new("3.2.0", "O(1) for each member requested.", "Returns the positions of members of a geo index as geohash strings.", "key [member ...]")),
    ]);

    // GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]
    private static void GeoAdd(ref CommandContext cmd)
    {
        if (!SortedSetAddOptions.TryParseGeoOrReply(cmd, out SortedSetAddOptions options)) return;
        int members = (cmd.Count - options.First) / 3;
        double[]? rented = members > ScoresOnStack ? ArrayPool<double>.Shared.Rent(members) : null;
        Span<double> scores = rented ?? stackalloc double[ScoresOnStack];
        if (TryPositionsOrReply(cmd, options.First, scores[..members])) SortedSetCommands.AddScores(cmd, options, scores[..members], options.First + 2, 3);
        if (rented is not null) ArrayPool<double>.Shared.Return(rented);
    }

    private static bool TryPositionsOrReply(scoped in CommandContext cmd, int first, Span<double> scores)
    {
        for (int i = 0; i < scores.Length; i++)
        {
            if (!cmd.TryPositionOrReply(first + (3 * i), out GeoPosition position)) return false;
            scores[i] = GeoCell.ScoreOf(position);
        }

        return true;
    }

    // GEOPOS key [member ...]
    private static void GeoPos(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++)
        {
            if (set.TryScore(cmd[i], out double score)) cmd.Reply.Position(GeoCell.PositionOf(score));
            else cmd.Reply.NullArray();
        }
    }

    // GEODIST key member1 member2 [M | KM | FT | MI]
    private static void GeoDist(ref CommandContext cmd)
    {
        double unitMeters = 1;
        if (cmd.Count > 5)
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (cmd.Count == 5 && !cmd.TryUnitOrReply(4, out unitMeters)) return;
        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        if (set.TryScore(cmd[2], out double from) && set.TryScore(cmd[3], out double to))
        {
            cmd.Reply.Distance(GeoDistance.Between(GeoCell.PositionOf(from), GeoCell.PositionOf(to)) / unitMeters);
        }
        else
        {
            cmd.Reply.Null();
        }
    }

    // GEOHASH key [member ...]
    private static void GeoHash(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++)
        {
            if (set.TryScore(cmd[i], out double score)) GeoCell.WriteText(score, cmd.Reply.BulkSpan(HashTextLength));
            else cmd.Reply.Null();
        }
    }

    /// <summary>Writes a longitude and a latitude.</summary>
    internal static void Position(this ReplyWriter reply, GeoPosition position)
    {
        reply.Array(2);
        reply.Double(position.Longitude);
        reply.Double(position.Latitude);
    }

    /// <summary>Writes a distance with four digits after the decimal point.</summary>
    internal static void Distance(this ReplyWriter reply, double distance)
    {
        // As in Redis, what is rounded is the product, so that a distance close to the middle of two texts is a tie.
        long units = (long)Math.Round(distance * DistanceUnits, MidpointRounding.ToEven);
        Span<byte> text = stackalloc byte[DistanceTextMax];
        int length = RespNumber.Format(units / DistanceUnits, text);
        text[length++] = (byte)'.';
        for (long unit = DistanceUnits / 10; unit > 0; unit /= 10) text[length++] = (byte)('0' + (units / unit % 10));
        reply.Bulk(text[..length]);
    }
}
