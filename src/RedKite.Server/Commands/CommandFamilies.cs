namespace RedKite.Server.Commands;

/// <summary>Every family of commands; a new one is added here.</summary>
internal static class CommandFamilies
{
    internal static readonly CommandFamily[] All =
    [
        StringCommands.Family,
        CounterCommands.Family,
        BitmapCommands.Family,
        BitFieldCommands.Family,
        HyperLogLogCommands.Family,
        SetCommands.Family,
        SetRandomCommands.Family,
        SetAlgebraCommands.Family,
        SortedSetCommands.Family,
        SortedSetRangeCommands.Family,
        SortedSetAlgebraCommands.Family,
        SortedSetPopCommands.Family,
        SortedSetScanCommands.Family,
        GeoCommands.Family,
        GeoSearchCommands.Family,
        ListCommands.Family,
        BlockingListCommands.Family,
        BlockingSortedSetCommands.Family,
        SortCommands.Family,
        StreamCommands.Family,
        HashCommands.Family,
        HashScanCommands.Family,
        FieldExpiryCommands.Family,
        KeyCommands.Family,
        ExpiryCommands.Family,
        ScanCommands.Family,
        ObjectCommands.Family,
        DumpCommands.Family,
        DumpCommands.ClusterFamily,
        ReplicationWaits.Family,
        AclCommands.Family,
        ConnectionCommands.Family,
        ClientCommands.Family,
        ServerCommands.KeyspaceFamily,
        ServerCommands.Family,
        ConfigCommands.Family,
        IntrospectionCommands.Family,
        DiagnosticsCommands.Family,
        MemoryCommands.Family,
    ];
}
