using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>The access categories of commands, in the order in which COMMAND INFO lists them.</summary>
[Flags]
internal enum AclCategory
{
    None = 0,
    Keyspace = 1 << 0,
    Read = 1 << 1,
    Write = 1 << 2,
    Set = 1 << 3,
    SortedSet = 1 << 4,
    List = 1 << 5,
    Hash = 1 << 6,
    String = 1 << 7,
    Bitmap = 1 << 8,
    HyperLogLog = 1 << 9,
    Geo = 1 << 10,
    Stream = 1 << 11,
    PubSub = 1 << 12,
    Admin = 1 << 13,
    Fast = 1 << 14,
    Slow = 1 << 15,
    Blocking = 1 << 16,
    Dangerous = 1 << 17,
    Connection = 1 << 18,
    Transaction = 1 << 19,
    Scripting = 1 << 20,
    Array = 1 << 21,
    Json = 1 << 22,
    Bloom = 1 << 23,
    Cuckoo = 1 << 24,
    CountMinSketch = 1 << 25,
    TopK = 1 << 26,
    TDigest = 1 << 27,
    TimeSeries = 1 << 28,
}

/// <summary>Names of categories, and the categories that follow from a command's row.</summary>
internal static class AclCategories
{
    /// <summary>Every category and its name without the at-sign, in the order of listings.</summary>
    internal static readonly (AclCategory Category, string Name)[] Names =
    [
        (AclCategory.Keyspace, "keyspace"),
        (AclCategory.Read, "read"),
        (AclCategory.Write, "write"),
        (AclCategory.Set, "set"),
        (AclCategory.SortedSet, "sortedset"),
        (AclCategory.List, "list"),
        (AclCategory.Hash, "hash"),
        (AclCategory.String, "string"),
        (AclCategory.Bitmap, "bitmap"),
        (AclCategory.HyperLogLog, "hyperloglog"),
        (AclCategory.Geo, "geo"),
        (AclCategory.Stream, "stream"),
        (AclCategory.PubSub, "pubsub"),
        (AclCategory.Admin, "admin"),
        (AclCategory.Fast, "fast"),
        (AclCategory.Slow, "slow"),
        (AclCategory.Blocking, "blocking"),
        (AclCategory.Dangerous, "dangerous"),
        (AclCategory.Connection, "connection"),
        (AclCategory.Transaction, "transaction"),
        (AclCategory.Scripting, "scripting"),
        (AclCategory.Array, "array"),
        (AclCategory.Json, "json"),
        (AclCategory.Bloom, "bloom"),
        (AclCategory.Cuckoo, "cuckoo"),
        (AclCategory.CountMinSketch, "cms"),
        (AclCategory.TopK, "topk"),
        (AclCategory.TDigest, "tdigest"),
        (AclCategory.TimeSeries, "timeseries"),
    ];

    /// <summary>
    /// A command's categories: its family's, what its row adds, and what its flags imply. A container has its family's
    /// only through its subcommands.
    /// </summary>
    internal static AclCategory Of(Command command)
    {
        if (command is { Module: not null, Category: "" }) return AclCategory.None; // vector sets
        AclCategory categories = command.Categories;
        if (command.Subcommands.Length == 0) categories |= Named(command.Category);
        if (command.Is(CommandFlags.Write)) categories |= AclCategory.Write;

        // A script that is declared read-only is still a script: it does not count as a read command.
        if (command.Is(CommandFlags.ReadOnly) && !categories.HasFlag(AclCategory.Scripting)) categories |= AclCategory.Read;
        if (command.Is(CommandFlags.Admin)) categories |= AclCategory.Admin | AclCategory.Dangerous;
        if (command.Is(CommandFlags.PubSub)) categories |= AclCategory.PubSub;
        if (command.Is(CommandFlags.Blocking)) categories |= AclCategory.Blocking;
        return categories | (command.Is(CommandFlags.Fast) ? AclCategory.Fast : AclCategory.Slow);
    }

    /// <summary>The category with a name, without the at-sign and in any case; None if there is no such category.</summary>
    internal static AclCategory Find(ReadOnlySpan<byte> name)
    {
        foreach ((AclCategory category, string categoryName) in Names)
        {
            if (AsciiText.EqualsIgnoreCase(name, categoryName)) return category;
        }

        return AclCategory.None;
    }

    private static AclCategory Named(string name)
    {
        foreach ((AclCategory category, string categoryName) in Names)
        {
            if (categoryName == name) return category;
        }

        return AclCategory.None;
    }
}
