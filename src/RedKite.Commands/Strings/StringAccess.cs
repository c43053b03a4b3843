using System.Runtime.CompilerServices;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Strings;

/// <summary>Opens the strings of keys. For a missing key the entry doesn't exist.</summary>
internal static class StringAccess
{
    /// <summary>Opens a key's string to read it, which counts a hit or miss; replies WRONGTYPE for another type.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool OpenToReadStringOrReply(this scoped in CommandContext cmd, int argument, out Entry entry)
    {
        entry = cmd.Find(argument);
        return cmd.IsTypeOrReply(entry, DataType.String);
    }

    /// <summary>Opens a key's string to change it; replies WRONGTYPE for another type.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool OpenToWriteStringOrReply(this scoped in CommandContext cmd, int argument, out Entry entry)
    {
        entry = cmd.FindToWrite(argument);
        return cmd.IsTypeOrReply(entry, DataType.String);
    }
}
