namespace RedKite.Store.Keyspace;

/// <summary>The type of a key's value, numbered as in Redis's RDB format and module interface.</summary>
public enum DataType
{
    String = 0,
    List = 1,
    Set = 2,
    SortedSet = 3,
    Hash = 4,
    Stream = 6,
}

/// <summary>How a value is kept, under the name that OBJECT ENCODING gives.</summary>
public enum ValueEncoding
{
    /// <summary>A string whose bytes are a 64-bit integer in canonical form.</summary>
    Integer = 0,

    /// <summary>A string that was set whole and is short enough to count as embedded.</summary>
    Embedded = 1,

    /// <summary>Any other string.</summary>
    Raw = 2,
}
