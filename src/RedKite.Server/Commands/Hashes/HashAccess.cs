using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;

namespace RedKite.Server.Commands.Hashes;

/// <summary>How handlers get at the hash of their first key.</summary>
internal static class HashAccess
{
    /// <summary>Opens the hash to read it, if there is one; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenHashOrReply(this scoped in CommandContext cmd, out HashValue hash) => TryOpenOrReply(cmd, cmd.Find(1), out hash);

    /// <summary>Opens the hash to change it, if there is one; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenHashToWriteOrReply(this scoped in CommandContext cmd, out HashValue hash) => TryOpenOrReply(cmd, cmd.FindToWrite(1), out hash);

    /// <summary>Makes a hash without fields, where <see cref="OpenHashToWriteOrReply"/> found none.</summary>
    internal static HashValue CreateHash(this scoped in CommandContext cmd) =>
        HashValue.Create(cmd.Database, cmd.Key, cmd.HashOf(1), cmd.NewAccessClock, cmd.NowMs);

    /// <summary>The settings that say when a hash becomes a table.</summary>
    internal static HashLimits HashLimits(this scoped in CommandContext cmd)
    {
        Settings settings = cmd.Server.Settings;
        return new HashLimits(settings.HashMaxListpackEntries, settings.HashMaxListpackValueBytes);
    }

    private static bool TryOpenOrReply(scoped in CommandContext cmd, Entry entry, out HashValue hash)
    {
        hash = default;
        if (!cmd.IsTypeOrReply(entry, DataType.Hash)) return false;
        hash = HashValue.Open(cmd.Database, entry, cmd.NowMs);
        return true;
    }
}
