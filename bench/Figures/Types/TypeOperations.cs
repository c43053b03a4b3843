namespace RedKite.Figures.Types;

/// <summary>
/// The rows of the CPU table. Commands of redis-benchmark's own tests have the same form, but none of them creates its data
/// within the measured time, as its LRANGE tests do. An offset cannot be random, because it must not have leading zeros.
/// </summary>
internal static class TypeOperations
{
    private const int Many = 1_000_000;
    private const int Some = TypeOperation.OrdinaryRange;
    private const int Thousand = 1000;
    private const int MegaByte = 1 << 20;

    internal static readonly IReadOnlyList<TypeOperation> All =
    [
        new("lpush", "LPUSH mylist VXK", Fresh: "mylist"),
        new("rpush", "RPUSH mylist VXK", Fresh: "mylist"),
        new("lpop", "LPOP mylist", Fresh: "mylist", Supply: static (pipe, count) => TypeData.ListOfThreeBytes(pipe, "mylist", count)),
        new("rpop", "RPOP mylist", Fresh: "mylist", Supply: static (pipe, count) => TypeData.ListOfThreeBytes(pipe, "mylist", count)),
        new("lrange_100", "LRANGE mylist 0 99", Load: static pipe => TypeData.ListOfThreeBytes(pipe, "mylist", Some)),
        new("lrange_300", "LRANGE mylist 0 299", Load: static pipe => TypeData.ListOfThreeBytes(pipe, "mylist", Some)),
        new("lmove", "LMOVE mylist mylist LEFT RIGHT", Load: static pipe => TypeData.List(pipe, "mylist", Some)),
        new("hset", "HSET myhash element:__rand_int__ VXK", Fresh: "myhash"),
        new("hget", "HGET myhash element:__rand_int__", Load: static pipe => TypeData.Hash(pipe, "myhash", Some)),
        new("hgetall_20", "HGETALL hash:__rand_int__", Load: static pipe => TypeData.Hashes(pipe, Some, fields: 20)),
        new("sadd", "SADD myset element:__rand_int__", Fresh: "myset"),
        new("spop", "SPOP myset", Fresh: "myset", Supply: static (pipe, count) => TypeData.Set(pipe, "myset", count)),
        new("sismember", "SISMEMBER myset element:__rand_int__", Load: static pipe => TypeData.Set(pipe, "myset", Some)),
        new("sinter_1000", "SINTER set:a set:b", TypeOperation.WideRatioMin, Load: LoadTwoSets),
        new("sunion_1000", "SUNION set:a set:b", TypeOperation.WideRatioMin, Load: LoadTwoSets),
        new("sdiff_1000", "SDIFF set:a set:b", TypeOperation.WideRatioMin, Load: LoadTwoSets),
        new("zadd", "ZADD myzset __rand_int__ element:__rand_int__", Fresh: "myzset"),
        new("zpopmin", "ZPOPMIN myzset", Fresh: "myzset", Supply: static (pipe, count) => TypeData.SortedSet(pipe, "myzset", count)),
        new("zscore", "ZSCORE myzset element:__rand_int__", Load: static pipe => TypeData.SortedSet(pipe, "myzset", Some)),
        new("zrangebyscore_100", "ZRANGEBYSCORE myzset __rand_int__ +inf LIMIT 0 100", Load: static pipe => TypeData.SortedSet(pipe, "myzset", Some)),
        new("zrank_million", "ZRANK bigzset element:__rand_int__", Range: Many, Load: static pipe => TypeData.SortedSet(pipe, "bigzset", Many)),
        new("geosearch", "GEOSEARCH places FROMMEMBER element:__rand_int__ BYRADIUS 2 km ASC", Load: static pipe => TypeData.Places(pipe, "places", Some)),
        new("xadd_4", "XADD mystream * sensor 17 temperature __rand_int__ humidity __rand_int__ pressure __rand_int__", Fresh: "mystream"),
        new("xrange_100", "XRANGE mystream __rand_int__ + COUNT 100", Load: static pipe => TypeData.Stream(pipe, "mystream", Some)),
        new("mset", MsetOfTen, Load: null),
        new("getbit", "GETBIT bits:a 4711000", Load: LoadTwoBitmaps),
        new("setbit", "SETBIT bits:a 4711000 1", Load: LoadTwoBitmaps),
        new("bitcount_1m", "BITCOUNT bits:a", TypeOperation.WideRatioMin, Load: LoadTwoBitmaps),
        new("bitop_1m", "BITOP AND bits:c bits:a bits:b", TypeOperation.WideRatioMin, Load: LoadTwoBitmaps),
        new("pfadd", "PFADD hll element:__rand_int__", Fresh: "hll"),
        new("pfcount", "PFCOUNT hll:a", Load: LoadTwoHyperLogLogs),
        new("pfcount_2", "PFCOUNT hll:a hll:b", TypeOperation.WideRatioMin, Load: LoadTwoHyperLogLogs),
        new("pfmerge_2", "PFMERGE hll:c hll:a hll:b", TypeOperation.WideRatioMin, Load: LoadTwoHyperLogLogs),
    ];

    private const string MsetOfTen =
        "MSET key:__rand_int__ VXK key:__rand_int__ VXK key:__rand_int__ VXK key:__rand_int__ VXK key:__rand_int__ VXK "
        + "key:__rand_int__ VXK key:__rand_int__ VXK key:__rand_int__ VXK key:__rand_int__ VXK key:__rand_int__ VXK";

    // Half of each is in the other.
    private static void LoadTwoSets(CommandPipe pipe)
    {
        TypeData.Set(pipe, "set:a", Thousand);
        TypeData.Set(pipe, "set:b", Thousand, first: Thousand / 2);
    }

    private static void LoadTwoBitmaps(CommandPipe pipe)
    {
        TypeData.Bits(pipe, "bits:a", MegaByte, seed: 1);
        TypeData.Bits(pipe, "bits:b", MegaByte, seed: 2 * MegaByte);
    }

    private static void LoadTwoHyperLogLogs(CommandPipe pipe)
    {
        TypeData.HyperLogLog(pipe, "hll:a", Some, first: 0);
        TypeData.HyperLogLog(pipe, "hll:b", Some, first: Some / 2);
    }
}
