using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Types;
using RedKite.Store.Keyspace;

namespace RedKite.Persistence.Aof;

/// <summary>
/// Writes a key as the commands that create it, those that Redis writes without aof-use-rdb-preamble. A value that its type cannot express as commands
/// (<see cref="PersistedType.TryWriteCommands"/>) is a RESTORE.
/// </summary>
/// <param name="output">Receives the commands.</param>
/// <param name="payloadBytesMax">The longest payload of a RESTORE.</param>
internal sealed class ValueCommands(CommandOutput output, int payloadBytesMax = ValueCommands.PayloadBytesMax) : IDisposable
{
    /// <summary>The longest payload of a RESTORE: the default of proto-max-bulk-len, which servers apply to the arguments of a log as well.</summary>
    internal const int PayloadBytesMax = 512 * 1024 * 1024;

    private readonly RdbOutput _payload = new();
    private readonly RdbScratch _scratch = new();

    /// <summary>Writes that a key must not be evicted.</summary>
    internal void WritePin(ReadOnlySpan<byte> key) => output.Begin("BLESS"u8, 3).Argument("SET"u8).Argument(key).Argument("NO-EVICT"u8);

    /// <summary>Writes a key with its value and its expiry.</summary>
    /// <exception cref="FileFailure">The value needs a longer payload than servers accept.</exception>
    internal void Write(Database database, Entry entry)
    {
        if (!PersistedTypes.Of(entry.Type).TryWriteCommands(output, database, entry)) WritePayload(database, entry);
        if (entry.Expires) output.Begin("PEXPIREAT"u8, 2).Argument(entry.Key).Argument(entry.ExpiryMs);
    }

    public void Dispose()
    {
        _payload.Dispose();
        _scratch.Dispose();
    }

    private void WritePayload(Database database, Entry entry)
    {
        if (!RdbValueWriter.TryOpenRemovingExpired(database, entry, ExpiryClock.Never, out RdbValueWriter value)) return;
        _payload.Clear();
        DumpPayload.Write(_payload, value, _scratch);
        if (_payload.Overflowed || _payload.Written.Length > payloadBytesMax)
        {
            throw new FileFailure("write", $"{RdbTypes.Shown(entry.Key)} as a command (aof-use-rdb-preamble yes has no such limit)", FileFailure.TooLarge);
        }

        output.Begin("RESTORE"u8, 3).Argument(entry.Key).Argument(0).Argument(_payload.Written);
        _payload.Clear();
        _scratch.Clear();
    }
}
