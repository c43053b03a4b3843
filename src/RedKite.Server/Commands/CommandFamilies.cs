using RedKite.Server.Commands.Connection;
using RedKite.Server.Commands.Geo;
using RedKite.Server.Commands.Hashes;
using RedKite.Server.Commands.Keys;
using RedKite.Server.Commands.Lists;
using RedKite.Server.Commands.Server;
using RedKite.Server.Commands.Sets;
using RedKite.Server.Commands.SortedSets;
using RedKite.Server.Commands.Sorting;
using RedKite.Server.Commands.Streams;
using RedKite.Server.Commands.Strings;
using RedKite.Server.Model;

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
        SetAlgebraCommands.Family,
        SetPopCommands.Family,
        SetScanCommands.Family,
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
        StreamRangeCommands.Family,
        StreamReadCommands.Family,
        StreamGroupCommands.Family,
        StreamPendingCommands.Family,
        StreamInfoCommands.Family,
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
