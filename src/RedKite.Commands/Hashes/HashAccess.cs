using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;

namespace RedKite.Server.Commands.Hashes;

/// <summary>Opens the hashes of keys. For a missing key the hash doesn't exist.</summary>
internal static class HashAccess
{
    /// <summary>Opens a key's hash to read it, which counts a hit or miss; replies WRONGTYPE for another type.</summary>
    internal static bool OpenToReadHashOrReply(this scoped in CommandContext cmd, int argument, out HashValue hash) =>
        TryOpenOrReply(cmd, cmd.Find(argument), forReading: true, out hash);

    /// <summary>Opens a key's hash to change it; replies WRONGTYPE for another type.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="argument">The key's argument.</param>
    /// <param name="hash">The hash.</param>
    /// <param name="createIfMissing">Whether a missing key gets an empty hash, to which the caller adds fields at once.</param>
    internal static bool OpenToWriteHashOrReply(this scoped in CommandContext cmd, int argument, out HashValue hash, bool createIfMissing = false)
    {
        if (!TryOpenOrReply(cmd, cmd.FindToWrite(argument), forReading: false, out hash)) return false;
        if (createIfMissing && !hash.Exists) hash = cmd.CreateHash(argument);
        return true;
    }

    /// <summary>Creates an empty hash for a missing key. The caller adds fields at once.</summary>
    internal static HashValue CreateHash(this scoped in CommandContext cmd, int argument) =>
        HashValue.Create(cmd.Database, cmd[argument], cmd.HashOf(argument), cmd.Accesses.NewClock, cmd.Expiry);

    /// <summary>The settings that decide when a hash becomes a table.</summary>
    internal static HashLimits HashLimits(this scoped in CommandContext cmd)
    {
        Settings settings = cmd.Settings;
        return new HashLimits(settings.HashMaxListpackEntries, settings.HashMaxListpackValueBytes);
    }

    private static bool TryOpenOrReply(scoped in CommandContext cmd, Entry entry, bool forReading, out HashValue hash)
    {
        hash = default;
        if (!cmd.IsTypeOrReply(entry, DataType.Hash)) return false;
        hash = forReading ? HashValue.OpenToRead(cmd.Database, entry, cmd.Expiry) : HashValue.Open(cmd.Database, entry, cmd.Expiry);
        return true;
    }
}
