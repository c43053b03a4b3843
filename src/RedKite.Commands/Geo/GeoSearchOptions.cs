using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Server.Commands.Geo;

/// <summary>The forms of search commands.</summary>
internal enum GeoSearchForm
{
    /// <summary>GEORADIUS key longitude latitude radius unit ...</summary>
    Radius,

    /// <summary>GEORADIUSBYMEMBER key member radius unit ...</summary>
    RadiusByMember,

    /// <summary>GEOSEARCH key ...</summary>
    Search,

    /// <summary>GEOSEARCHSTORE destination source ...</summary>
    SearchStore,
}

/// <summary>The order in which members are replied.</summary>
internal enum GeoOrder
{
    None,
    Nearest,
    Farthest,
}

/// <summary>
/// The arguments of GEOSEARCH, GEORADIUS and the like. They are checked for a missing key too, except that the member to
/// search around is not looked up.
/// </summary>
internal struct GeoSearchOptions
{
    private readonly GeoSearchForm _form;
    private readonly bool _mayStore;
    private GeoPosition _center;
    private bool _fromMember;
    private bool _fromPosition;
    private bool _byRadius;
    private bool _byBox;
    private double _width;
    private double _height; // or the radius

    private GeoSearchOptions(GeoSearchForm form, bool mayStore)
    {
        _form = form;
        _mayStore = mayStore;
        UnitMeters = 1;
    }

    /// <summary>The area to search.</summary>
    internal readonly GeoShape Shape => _byBox
        ? GeoShape.Box(_center, _width * UnitMeters, _height * UnitMeters)
        : GeoShape.Circle(_center, _height * UnitMeters);

    /// <summary>The unit of the distances in arguments and replies, in meters.</summary>
    internal double UnitMeters { get; private set; }

    internal bool WithDistance { get; private set; }

    internal bool WithHash { get; private set; }

    internal bool WithPosition { get; private set; }

    internal GeoOrder Order { get; private set; }

    /// <summary>COUNT: the maximum number of members; 0 if there is none.</summary>
    internal long Count { get; private set; }

    /// <summary>ANY: the search ends as soon as it has found COUNT members, instead of finding the nearest ones.</summary>
    internal bool Any { get; private set; }

    /// <summary>The argument with the destination key; 0 if the members are replied.</summary>
    internal int StoreKey { get; private set; }

    /// <summary>Whether distances are stored as scores instead of positions.</summary>
    internal bool StoresDistance { get; private set; }

    private readonly bool IsSearch => _form is GeoSearchForm.Search or GeoSearchForm.SearchStore;

    /// <summary>Reads the arguments after the key.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="set">The sorted set to search, which contains the member to search around.</param>
    /// <param name="form">The form of the command.</param>
    /// <param name="mayStore">Whether the options STORE and STOREDIST with a key are accepted.</param>
    /// <param name="result">The options.</param>
    internal static bool TryParseOrReply(
        scoped in CommandContext cmd, scoped in SortedSetValue set, GeoSearchForm form, bool mayStore, out GeoSearchOptions result)
    {
        result = new GeoSearchOptions(form, mayStore);
        return result.TryReadFixedOrReply(cmd, set, out int first)
            && result.TryReadOptionsOrReply(cmd, set, first)
            && result.IsWholeOrReply(cmd);
    }

    private bool TryReadFixedOrReply(scoped in CommandContext cmd, scoped in SortedSetValue set, out int first)
    {
        switch (_form)
        {
            case GeoSearchForm.Radius:
                first = 6;
                return cmd.TryPositionOrReply(2, out _center) && TryReadRadiusOrReply(cmd, 4);
            case GeoSearchForm.RadiusByMember:
                first = 5;
                return !set.Exists || (TryFindMemberOrReply(cmd, set, 2) && TryReadRadiusOrReply(cmd, 3));
            case GeoSearchForm.SearchStore:
                first = 3;
                StoreKey = 1;
                return true;
            default:
                first = 2;
                return true;
        }
    }

    private bool TryReadOptionsOrReply(scoped in CommandContext cmd, scoped in SortedSetValue set, int first)
    {
        var options = new OptionReader(cmd, first);
        while (options.More)
        {
            if (TakeFlag(ref options)) continue;
            if (options.TakeWithValue("COUNT"u8, out int value))
            {
                if (!TryReadCountOrReply(cmd, value)) return false;
            }
            else if (_mayStore && options.TakeWithValue("STORE"u8, out value))
            {
                StoreKey = value;
                StoresDistance = false;
            }
            else if (_mayStore && options.TakeWithValue("STOREDIST"u8, out value))
            {
                StoreKey = value;
                StoresDistance = true;
            }
            else if (IsSearch && TakeSearchOption(ref options, out value, out SearchOption option))
            {
                if (!TryReadSearchOptionOrReply(cmd, set, option, value)) return false;
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        return true;
    }

    private bool TakeFlag(ref OptionReader options)
    {
        if (options.Take("WITHDIST"u8)) WithDistance = true;
        else if (options.Take("WITHHASH"u8)) WithHash = true;
        else if (options.Take("WITHCOORD"u8)) WithPosition = true;
        else if (options.Take("ANY"u8)) Any = true;
        else if (options.Take("ASC"u8)) Order = GeoOrder.Nearest;
        else if (options.Take("DESC"u8)) Order = GeoOrder.Farthest;
        else if (_form == GeoSearchForm.SearchStore && options.Take("STOREDIST"u8)) StoresDistance = true;
        else return false;
        return true;
    }

    private enum SearchOption
    {
        FromMember,
        FromPosition,
        ByRadius,
        ByBox,
    }

    // As in Redis, an option for the center or the shape may be repeated, but not combined with the other one.
    private readonly bool TakeSearchOption(ref OptionReader options, out int value, out SearchOption option)
    {
        option = SearchOption.FromMember;
        if (!_fromPosition && options.TakeWithValue("FROMMEMBER"u8, out value)) return true;
        option = SearchOption.FromPosition;
        if (!_fromMember && options.TakeWithValues("FROMLONLAT"u8, 2, out value)) return true;
        option = SearchOption.ByRadius;
        if (!_byBox && options.TakeWithValues("BYRADIUS"u8, 2, out value)) return true;
        option = SearchOption.ByBox;
        value = 0;
        return !_byRadius && options.TakeWithValues("BYBOX"u8, 3, out value);
    }

    private bool TryReadSearchOptionOrReply(scoped in CommandContext cmd, scoped in SortedSetValue set, SearchOption option, int value)
    {
        switch (option)
        {
            case SearchOption.FromMember:
                _fromMember = true;
                return !set.Exists || TryFindMemberOrReply(cmd, set, value);
            case SearchOption.FromPosition:
                _fromPosition = true;
                return cmd.TryPositionOrReply(value, out _center);
            case SearchOption.ByRadius:
                _byRadius = true;
                return TryReadRadiusOrReply(cmd, value);
            default:
                _byBox = true;
                if (!cmd.TryBoxOrReply(value, out _width, out _height, out double unit)) return false;
                UnitMeters = unit;
                return true;
        }
    }

    private bool TryReadRadiusOrReply(scoped in CommandContext cmd, int argument)
    {
        if (!cmd.TryRadiusOrReply(argument, out _height, out double unit)) return false;
        UnitMeters = unit;
        return true;
    }

    private bool TryReadCountOrReply(scoped in CommandContext cmd, int argument)
    {
        if (!cmd.TryIntegerOrReply(argument, out long count)) return false;
        Count = count;
        if (count > 0) return true;
        cmd.Reply.Error("ERR COUNT must be > 0"u8);
        return false;
    }

    private bool TryFindMemberOrReply(scoped in CommandContext cmd, scoped in SortedSetValue set, int argument)
    {
        if (set.TryScore(cmd[argument], out double score))
        {
            _center = GeoCell.PositionOf(score);
            return true;
        }

        cmd.Reply.Error("ERR could not decode requested zset member"u8);
        return false;
    }

    private readonly bool IsWholeOrReply(scoped in CommandContext cmd)
    {
        if (StoreKey > 0 && (WithDistance || WithHash || WithPosition))
        {
            string what = _form == GeoSearchForm.SearchStore ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS";
            cmd.Reply.Error($"ERR {what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options");
        }
        else if (IsSearch && !_fromMember && !_fromPosition)
        {
            cmd.Reply.Error($"ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {cmd.ShownText(0)}");
        }
        else if (IsSearch && !_byRadius && !_byBox)
        {
            cmd.Reply.Error($"ERR exactly one of BYRADIUS and BYBOX can be specified for {cmd.ShownText(0)}");
        }
        else if (Any && Count == 0)
        {
            cmd.Reply.Error("ERR the ANY argument requires COUNT argument"u8);
        }
        else
        {
            return true;
        }

        return false;
    }
}
