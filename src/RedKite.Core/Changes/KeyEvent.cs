using System.Text;

namespace RedKite.Server.Changes;

/// <summary>The events of keys. The names are those of Redis's keyspace notifications: see <see cref="KeyEvents.Name"/>.</summary>
internal enum KeyEvent : byte
{
    // Any type.
    Del,
    RenameFrom,
    RenameTo,
    MoveFrom,
    MoveTo,
    CopyTo,
    Restore,
    Expire,
    Persist,
    Bless,
    Unbless,
    SortStore,

    // Strings.
    Set,
    SetRange,
    SetBit,
    IncrBy,
    IncrByFloat,
    Append,
    PfAdd,

    // Lists.
    LPush,
    RPush,
    LPop,
    RPop,
    LInsert,
    LSet,
    LRem,
    LTrim,

    // Hashes.
    HSet,
    HIncrBy,
    HIncrByFloat,
    HDel,
    HExpire,
    HPersist,
    HExpired,

    // Sets.
    SAdd,
    SRem,
    SPop,
    SInterStore,
    SUnionStore,
    SDiffStore,
    SExpire,
    SPersist,
    SExpired,

    // Sorted sets.
    ZAdd,
    ZIncr,
    ZRem,
    ZRemRangeByScore,
    ZRemRangeByRank,
    ZRemRangeByLex,
    ZPopMin,
    ZPopMax,
    ZInterStore,
    ZUnionStore,
    ZDiffStore,
    ZRangeStore,
    GeoSearchStore,
    GeoRadiusStore,

    // Streams.
    XAdd,
    XTrim,
    XDel,
    XSetId,
    XGroupCreate,
    XGroupCreateConsumer,
    XGroupDelConsumer,
    XGroupDestroy,
    XGroupSetId,

    // Arrays.
    ArSet,
    ArMSet,
    ArInsert,
    ArRing,
    ArSeek,
    ArDel,
    ArDelRange,

    // Keys that expire or are evicted, that are new, or that were looked up and missing.
    Expired,
    Evicted,
    New,
    KeyMiss,

    /// <summary>A command has replaced the value as a whole; the command's own event follows.</summary>
    Overwritten,

    /// <summary>The value that replaces another one is of another type.</summary>
    TypeChanged,

    /// <summary>All keys of a database, which no notification reports.</summary>
    Flush,

    /// <summary>A change that no notification reports.</summary>
    Silent,

    /// <summary>A change that matters neither to notifications nor to clients that watch the key: of a stream's groups, or of a value's encoding.</summary>
    Bookkeeping,
}

/// <summary>The classes of events that notify-keyspace-events selects, by its letters.</summary>
internal enum KeyEventClass : byte
{
    None = 0,
    Generic = (byte)'g',
    String = (byte)'$',
    List = (byte)'l',
    Set = (byte)'s',
    Hash = (byte)'h',
    SortedSet = (byte)'z',
    Stream = (byte)'t',

    /// <summary>Events of added types, which Redis has for those of modules.</summary>
    Module = (byte)'d',

    Expired = (byte)'x',
    Evicted = (byte)'e',
    New = (byte)'n',
    KeyMiss = (byte)'m',
    Overwritten = (byte)'o',
    TypeChanged = (byte)'c',
}

/// <summary>The names and classes of events.</summary>
internal static class KeyEvents
{
    private static readonly (KeyEvent Event, KeyEventClass Class, string Name)[] Rows =
    [
        (KeyEvent.Del, KeyEventClass.Generic, "del"),
        (KeyEvent.RenameFrom, KeyEventClass.Generic, "rename_from"),
        (KeyEvent.RenameTo, KeyEventClass.Generic, "rename_to"),
        (KeyEvent.MoveFrom, KeyEventClass.Generic, "move_from"),
        (KeyEvent.MoveTo, KeyEventClass.Generic, "move_to"),
        (KeyEvent.CopyTo, KeyEventClass.Generic, "copy_to"),
        (KeyEvent.Restore, KeyEventClass.Generic, "restore"),
        (KeyEvent.Expire, KeyEventClass.Generic, "expire"),
        (KeyEvent.Persist, KeyEventClass.Generic, "persist"),
        (KeyEvent.Bless, KeyEventClass.Generic, "bless"),
        (KeyEvent.Unbless, KeyEventClass.Generic, "unbless"),
        (KeyEvent.SortStore, KeyEventClass.List, "sortstore"),
        (KeyEvent.Set, KeyEventClass.String, "set"),
        (KeyEvent.SetRange, KeyEventClass.String, "setrange"),
        (KeyEvent.SetBit, KeyEventClass.String, "setbit"),
        (KeyEvent.IncrBy, KeyEventClass.String, "incrby"),
        (KeyEvent.IncrByFloat, KeyEventClass.String, "incrbyfloat"),
        (KeyEvent.Append, KeyEventClass.String, "append"),
        (KeyEvent.PfAdd, KeyEventClass.String, "pfadd"),
        (KeyEvent.LPush, KeyEventClass.List, "lpush"),
        (KeyEvent.RPush, KeyEventClass.List, "rpush"),
        (KeyEvent.LPop, KeyEventClass.List, "lpop"),
        (KeyEvent.RPop, KeyEventClass.List, "rpop"),
        (KeyEvent.LInsert, KeyEventClass.List, "linsert"),
        (KeyEvent.LSet, KeyEventClass.List, "lset"),
        (KeyEvent.LRem, KeyEventClass.List, "lrem"),
        (KeyEvent.LTrim, KeyEventClass.List, "ltrim"),
        (KeyEvent.HSet, KeyEventClass.Hash, "hset"),
        (KeyEvent.HIncrBy, KeyEventClass.Hash, "hincrby"),
        (KeyEvent.HIncrByFloat, KeyEventClass.Hash, "hincrbyfloat"),
        (KeyEvent.HDel, KeyEventClass.Hash, "hdel"),
        (KeyEvent.HExpire, KeyEventClass.Hash, "hexpire"),
        (KeyEvent.HPersist, KeyEventClass.Hash, "hpersist"),
        (KeyEvent.HExpired, KeyEventClass.Hash, "hexpired"),
        (KeyEvent.SAdd, KeyEventClass.Set, "sadd"),
        (KeyEvent.SRem, KeyEventClass.Set, "srem"),
        (KeyEvent.SPop, KeyEventClass.Set, "spop"),
        (KeyEvent.SExpire, KeyEventClass.Set, "sexpire"),
        (KeyEvent.SPersist, KeyEventClass.Set, "spersist"),
        (KeyEvent.SExpired, KeyEventClass.Set, "sexpired"),
        (KeyEvent.SInterStore, KeyEventClass.Set, "sinterstore"),
        (KeyEvent.SUnionStore, KeyEventClass.Set, "sunionstore"),
        (KeyEvent.SDiffStore, KeyEventClass.Set, "sdiffstore"),
        (KeyEvent.ZAdd, KeyEventClass.SortedSet, "zadd"),
        (KeyEvent.ZIncr, KeyEventClass.SortedSet, "zincr"),
        (KeyEvent.ZRem, KeyEventClass.SortedSet, "zrem"),
        (KeyEvent.ZRemRangeByScore, KeyEventClass.SortedSet, "zremrangebyscore"),
        (KeyEvent.ZRemRangeByRank, KeyEventClass.SortedSet, "zremrangebyrank"),
        (KeyEvent.ZRemRangeByLex, KeyEventClass.SortedSet, "zremrangebylex"),
        (KeyEvent.ZPopMin, KeyEventClass.SortedSet, "zpopmin"),
        (KeyEvent.ZPopMax, KeyEventClass.SortedSet, "zpopmax"),
        (KeyEvent.ZInterStore, KeyEventClass.SortedSet, "zinterstore"),
        (KeyEvent.ZUnionStore, KeyEventClass.SortedSet, "zunionstore"),
        (KeyEvent.ZDiffStore, KeyEventClass.SortedSet, "zdiffstore"),
        (KeyEvent.ZRangeStore, KeyEventClass.SortedSet, "zrangestore"),
        (KeyEvent.GeoSearchStore, KeyEventClass.SortedSet, "geosearchstore"),
        (KeyEvent.GeoRadiusStore, KeyEventClass.SortedSet, "georadiusstore"),
        (KeyEvent.XAdd, KeyEventClass.Stream, "xadd"),
        (KeyEvent.XTrim, KeyEventClass.Stream, "xtrim"),
        (KeyEvent.XDel, KeyEventClass.Stream, "xdel"),
        (KeyEvent.XSetId, KeyEventClass.Stream, "xsetid"),
        (KeyEvent.XGroupCreate, KeyEventClass.Stream, "xgroup-create"),
        (KeyEvent.XGroupCreateConsumer, KeyEventClass.Stream, "xgroup-createconsumer"),
        (KeyEvent.XGroupDelConsumer, KeyEventClass.Stream, "xgroup-delconsumer"),
        (KeyEvent.XGroupDestroy, KeyEventClass.Stream, "xgroup-destroy"),
        (KeyEvent.XGroupSetId, KeyEventClass.Stream, "xgroup-setid"),
        (KeyEvent.ArSet, KeyEventClass.Generic, "arset"), // no letter for arrays is documented
        (KeyEvent.ArMSet, KeyEventClass.Generic, "armset"),
        (KeyEvent.ArInsert, KeyEventClass.Generic, "arinsert"),
        (KeyEvent.ArRing, KeyEventClass.Generic, "arring"),
        (KeyEvent.ArSeek, KeyEventClass.Generic, "arseek"),
        (KeyEvent.ArDel, KeyEventClass.Generic, "ardel"),
        (KeyEvent.ArDelRange, KeyEventClass.Generic, "ardelrange"),
        (KeyEvent.Expired, KeyEventClass.Expired, "expired"),
        (KeyEvent.Evicted, KeyEventClass.Evicted, "evicted"),
        (KeyEvent.New, KeyEventClass.New, "new"),
        (KeyEvent.KeyMiss, KeyEventClass.KeyMiss, "keymiss"),
        (KeyEvent.Overwritten, KeyEventClass.Overwritten, "overwritten"),
        (KeyEvent.TypeChanged, KeyEventClass.TypeChanged, "type_changed"),
        (KeyEvent.Flush, KeyEventClass.None, ""),
        (KeyEvent.Silent, KeyEventClass.None, ""),
        (KeyEvent.Bookkeeping, KeyEventClass.None, ""),
    ];

    // Those of added types follow the rows.
    private static readonly (KeyEventClass Class, string Name, byte[] Text)[] ByEvent = new (KeyEventClass, string, byte[])[byte.MaxValue + 1];

    private static int _count = Rows.Length;

    static KeyEvents()
    {
        foreach ((KeyEvent keyEvent, KeyEventClass eventClass, string name) in Rows) ByEvent[(int)keyEvent] = (eventClass, name, Encoding.ASCII.GetBytes(name));
    }

    /// <summary>Adds an event of an added type, for good.</summary>
    /// <param name="name">As notifications name it.</param>
    internal static KeyEvent Add(string name)
    {
        int number = Interlocked.Increment(ref _count) - 1;
        ByEvent[number] = (KeyEventClass.Module, name, Encoding.ASCII.GetBytes(name));
        return (KeyEvent)number;
    }

    /// <summary>The event's name in a notification; empty for an event that none reports.</summary>
    internal static string Name(KeyEvent keyEvent) => ByEvent[(int)keyEvent].Name;

    /// <summary>The name as it is in a notification.</summary>
    internal static ReadOnlySpan<byte> Text(KeyEvent keyEvent) => ByEvent[(int)keyEvent].Text;

    /// <summary>Whether an event counts as a change for clients that watch the key. As in Redis, changes of a stream's groups do not.</summary>
    internal static bool IsModification(KeyEvent keyEvent) =>
        keyEvent is not (KeyEvent.New or KeyEvent.KeyMiss or KeyEvent.Bless or KeyEvent.Unbless or KeyEvent.Overwritten or KeyEvent.TypeChanged or KeyEvent.Flush or KeyEvent.Bookkeeping or KeyEvent.XSetId
            or KeyEvent.XGroupCreate or KeyEvent.XGroupCreateConsumer or KeyEvent.XGroupDelConsumer or KeyEvent.XGroupDestroy or KeyEvent.XGroupSetId);

    /// <summary>Whether the command that reports it gives the key a value of its own, whatever it had before.</summary>
    internal static bool IsWholeValue(KeyEvent keyEvent) =>
        keyEvent is KeyEvent.Set or KeyEvent.RenameTo or KeyEvent.CopyTo or KeyEvent.Restore or KeyEvent.SortStore
            or KeyEvent.SInterStore or KeyEvent.SUnionStore or KeyEvent.SDiffStore
            or KeyEvent.ZInterStore or KeyEvent.ZUnionStore or KeyEvent.ZDiffStore or KeyEvent.ZRangeStore or KeyEvent.GeoSearchStore or KeyEvent.GeoRadiusStore;

    internal static KeyEventClass Class(KeyEvent keyEvent) => ByEvent[(int)keyEvent].Class;
}
