namespace RedKite.Store.Keyspace;

/// <summary>
/// What an entry says of its value in its first word: type (4 bits), encoding (4) and access clock (24). As one word it is passed in a
/// register and written by one store.
/// </summary>
internal readonly struct ValueHeader(DataType type, ValueEncoding encoding, uint accessClock)
{
    private readonly uint _word = (uint)type | ((uint)encoding << 4) | (accessClock << 8);
}
