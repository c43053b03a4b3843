using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.SortedSets;
using RedKite.Server.Model;
using RedKite.Store.Values.SortedSets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Geo;

/// <summary>
/// Geo commands that search an area. The table is their single declaration and this file's contents. The cells that cover the
/// area are ranges of scores, and each member in them is compared with the area.
/// </summary>
internal static class GeoSearchCommands
{
    private const string SearchComplexity =
        "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area around the shape provided as the filter and M is the number of items inside the shape";

    private const string RadiusComplexity =
        "O(N+log(M)) where N is the number of elements inside the bounding box of the circular area delimited by center and radius and M is the number of items inside the index.";

    private const string FromBySyntax =
        " from:<FROMMEMBER member | FROMLONLAT fromlonlat:(longitude latitude)> "
        + "by:<circle:(<BYRADIUS radius> unit:<M | KM | FT | MI>) | box:(<BYBOX width> height unit:<M | KM | FT | MI>)> "
        + "order:[ASC | DESC] count-block:[COUNT count [ANY]]";

    private const string WithSyntax = " [WITHCOORD] [WITHDIST] [WITHHASH]";
    private const string RadiusSyntax = " radius unit:<M | KM | FT | MI>" + WithSyntax + " count-block:[COUNT count [ANY@6.2.0]] order:[ASC | DESC]";
    private const string MemberRadiusSyntax = " radius unit:<M | KM | FT | MI>" + WithSyntax + " count-block:[COUNT count [ANY]] order:[ASC | DESC]";
    private const string LastStore = "of several STORE and STOREDIST the last one counts";
    private const string StoreSyntax = " store:[STORE storekey{key}:key#1 | STOREDIST storedistkey{key}:key#2]";

    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec[] Stored = [new(1, 1, 1, Overwrite | Update), new(2, 2, 1, KeyFlags.ReadOnly | Access)];

    internal static readonly CommandFamily Family = new("geo", "geo",
    [
        new("GEOSEARCH", -7, CommandFlags.ReadOnly, Accessed, GeoSearch,
            new("6.2.0", SearchComplexity, "Returns the members of a geo index in a circle or box.", "key" + FromBySyntax + WithSyntax) { History = [("7.0.0", "Accepts units in any case.")] }),
        new("GEOSEARCHSTORE", -8, Write | DenyOom, Stored, GeoSearchStore,
            new("6.2.0", SearchComplexity, "Stores the members of a geo index in a circle or box at a key.", "destination source" + FromBySyntax + " [STOREDIST]") { History = [("7.0.0", "Accepts units in any case.")] }),
        new("GEORADIUS", -6, Write | DenyOom, StoringAfter(6), GeoRadius,
            new("3.2.0", RadiusComplexity, "Returns or stores the members of a geo index within a radius of a position.", "key longitude latitude" + RadiusSyntax + StoreSyntax) { History = [("6.2.0", "Adds `ANY`."), ("7.0.0", "Accepts units in any case.")], DeprecatedSince = "6.2.0", ReplacedBy = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument" }),
        new("GEORADIUS_RO", -6, CommandFlags.ReadOnly, Accessed, GeoRadiusReadOnly,
            new("3.2.10", RadiusComplexity, "Returns the members of a geo index within a radius of a position.", "key longitude latitude" + RadiusSyntax) { History = [("6.2.0", "Adds `ANY`."), ("7.0.0", "Accepts units in any case.")], DeprecatedSince = "6.2.0", ReplacedBy = "`GEOSEARCH` with the `BYRADIUS` argument" }),
        new("GEORADIUSBYMEMBER", -5, Write | DenyOom, StoringAfter(5), GeoRadiusByMember,
            new("3.2.0", RadiusComplexity, "Returns or stores the members of a geo index within a radius of a member.", "key member" + MemberRadiusSyntax + StoreSyntax) { History = [("6.2.0", "Adds `ANY`."), ("7.0.0", "Accepts units in any case.")], DeprecatedSince = "6.2.0", ReplacedBy = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments" }),
        new("GEORADIUSBYMEMBER_RO", -5, CommandFlags.ReadOnly, Accessed, GeoRadiusByMemberReadOnly,
            new("3.2.10", RadiusComplexity, "Returns the members of a geo index within a radius of a member.", "key member" + MemberRadiusSyntax) { History = [("6.2.0", "Adds `ANY`."), ("7.0.0", "Accepts units in any case.")], DeprecatedSince = "6.2.0", ReplacedBy = "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments" }),
    ]);

    private static KeySpec[] StoringAfter(int options) =>
    [
        new(1, 1, 1, KeyFlags.ReadOnly | Access),
        new(1, 1, 1, Overwrite | Update | Incomplete, Notes: LastStore) { Keyword = "STORE", StartFrom = options, FindsKeyword = (scoped in cmd, start) => FindLastStore(cmd, start, options, "STORE"u8) },
        new(1, 1, 1, Overwrite | Update | Incomplete, Notes: LastStore) { Keyword = "STOREDIST", StartFrom = options, FindsKeyword = (scoped in cmd, start) => FindLastStore(cmd, start, options, "STOREDIST"u8) },
    ];

    // Of several options STORE and STOREDIST the last one counts. As in Redis, a request with one of them is searched from GEORADIUS's unit on.
    private static int FindLastStore(scoped in CommandContext cmd, int start, int options, ReadOnlySpan<byte> keyword)
    {
        int found = -1;
        bool isOption = false;
        for (int i = start + 5; i + 1 < cmd.Count; i++)
        {
            if (!IsStore(cmd, i)) continue;
            isOption |= i >= start + options || (i + 2 < cmd.Count && IsStore(cmd, i + 1));
            found = i++;
        }

        return isOption && found > 0 && cmd.Is(found, keyword) ? found : -1;
    }

    private static bool IsStore(scoped in CommandContext cmd, int argument) => cmd.Is(argument, "STORE"u8) || cmd.Is(argument, "STOREDIST"u8);

    // GEOSEARCH key FROMMEMBER member | FROMLONLAT longitude latitude BYRADIUS radius unit | BYBOX width height unit
    //     [ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]
    private static void GeoSearch(ref CommandContext cmd) => Search(ref cmd, 1, GeoSearchForm.Search, mayStore: false);

    // GEOSEARCHSTORE destination source FROMMEMBER ... BYRADIUS ... [ASC | DESC] [COUNT count [ANY]] [STOREDIST]
    private static void GeoSearchStore(ref CommandContext cmd) => Search(ref cmd, 2, GeoSearchForm.SearchStore, mayStore: false);

    // GEORADIUS key longitude latitude radius unit [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]
    private static void GeoRadius(ref CommandContext cmd) => Search(ref cmd, 1, GeoSearchForm.Radius, mayStore: true);

    // GEORADIUS_RO key longitude latitude radius unit [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]
    private static void GeoRadiusReadOnly(ref CommandContext cmd) => Search(ref cmd, 1, GeoSearchForm.Radius, mayStore: false);

    // GEORADIUSBYMEMBER key member radius unit [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]
    private static void GeoRadiusByMember(ref CommandContext cmd) => Search(ref cmd, 1, GeoSearchForm.RadiusByMember, mayStore: true);

    // GEORADIUSBYMEMBER_RO key member radius unit [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]
    private static void GeoRadiusByMemberReadOnly(ref CommandContext cmd) => Search(ref cmd, 1, GeoSearchForm.RadiusByMember, mayStore: false);

    private static void Search(ref CommandContext cmd, int sourceKey, GeoSearchForm form, bool mayStore)
    {
        if (!cmd.OpenToReadSortedSetOrReply(sourceKey, out SortedSetValue set)) return;
        if (!GeoSearchOptions.TryParseOrReply(cmd, set, form, mayStore, out GeoSearchOptions options)) return;
        if (!set.Exists)
        {
            if (options.StoreKey > 0) cmd.StoreNothing(options.StoreKey);
            else cmd.Reply.Array(0);
            return;
        }

        // With a COUNT but without ANY and an order, the nearest members are returned.
        GeoOrder order = options.Order == GeoOrder.None && options.Count > 0 && !options.Any ? GeoOrder.Nearest : options.Order;
        var found = new GeoMatches(order == GeoOrder.Farthest, options.Count == 0 || options.Any ? long.MaxValue : options.Count, cmd.WasAccepted);
        if (!TryCollect(set, options, ref found))
        {
            found.Release();
            cmd.Reply.Error($"ERR Insufficient memory, failed allocating transient memory for {cmd.Command.FullName.ToUpperInvariant()}");
            return;
        }

        if (order != GeoOrder.None) found.Sort();
        if (options.StoreKey > 0) Store(cmd, set, options, found.Items, form == GeoSearchForm.SearchStore ? KeyEvent.GeoSearchStore : KeyEvent.GeoRadiusStore);
        else Reply(cmd.Reply, set, options, found.Items);
        found.Release();
    }

    private static bool TryCollect(scoped in SortedSetValue set, scoped in GeoSearchOptions options, scoped ref GeoMatches found)
    {
        GeoShape shape = options.Shape;
        GeoCover cover = GeoCover.Of(shape);
        long limit = options.Any ? options.Count : long.MaxValue;
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        for (int i = 0; i < cover.Count && found.Count < limit; i++)
        {
            GeoCell cell = cover[i];
            double end = cell.ScoreEnd;
            long rank = set.CountBefore(new ScoreBound(cell.ScoreMin, afterEqual: false));
            for (SortedSetCursor cursor = set.At(rank, digits); cursor.Exists && found.Count < limit; cursor.MoveNext(), rank++)
            {
                double score = cursor.Score;
                if (score >= end) break;
                GeoPosition position = GeoCell.PositionOf(score);
                if (shape.Contains(position, out double distance) && !found.TryAdd(rank, score, distance)) return false;
            }
        }

        return true;
    }

    private static void Reply(ReplyWriter reply, scoped in SortedSetValue set, scoped in GeoSearchOptions options, scoped ReadOnlySpan<GeoMatch> matches)
    {
        int parts = 1 + (options.WithDistance ? 1 : 0) + (options.WithHash ? 1 : 0) + (options.WithPosition ? 1 : 0);
        reply.Array(matches.Length);
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        foreach (GeoMatch match in matches)
        {
            if (parts > 1) reply.Array(parts);
            reply.Bulk(set.At(match.Rank, digits).Member);
            if (options.WithDistance) reply.Distance(match.Distance / options.UnitMeters);
            if (options.WithHash) reply.Integer((long)match.Score);
            if (options.WithPosition) reply.Position(GeoCell.PositionOf(match.Score));
        }
    }

    private static void Store(scoped in CommandContext cmd, scoped in SortedSetValue set, scoped in GeoSearchOptions options, scoped ReadOnlySpan<GeoMatch> matches, KeyEvent stored)
    {
        var builder = new SortedSetBuilder(cmd.Database, cmd.HashOf(options.StoreKey));
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        foreach (GeoMatch match in matches)
        {
            builder.Add(set.At(match.Rank, digits).Member, options.StoresDistance ? match.Distance / options.UnitMeters : match.Score);
        }

        cmd.StoreAndReplyCount(options.StoreKey, builder, stored, matches.Length);
    }
}
