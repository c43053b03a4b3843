using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Persistence.Types;

/// <summary>
/// A type of value with all that leaves the store: its forms in RDB files and payloads, its commands in a log's base and those that read it, its digest. Each type has one object, and
/// a row in <see cref="PersistedTypes"/>; what the store does with its values is in <see cref="Stored"/>.
/// </summary>
/// <remarks>
/// A type that Redis does not have is written as a module's data (<see cref="RdbModule"/>): servers without the type find the end of it and refuse it by its
/// name. Such a type has a <see cref="ModuleId"/>, and its steps begin with that id and end with <see cref="RdbModule.WriteEnd"/>.
/// </remarks>
internal abstract class PersistedType(StoredType stored)
{
    // The number that Redis has for modules' values.
    private protected const int ModuleNumber = 5;

    /// <summary>What the store knows of the type.</summary>
    internal StoredType Stored { get; } = stored;

    /// <summary>The forms that are read, besides a module's data.</summary>
    internal virtual ReadOnlySpan<RdbType> Forms => [];

    /// <summary>The id of the module whose data is read: see <see cref="RdbModule.IdOf"/>. 0: none.</summary>
    internal virtual ulong ModuleId => 0;

    /// <summary>Removes what has expired of a value that is about to be written, if its caller may modify.</summary>
    /// <param name="database">The database.</param>
    /// <param name="entry">The entry; its block may move.</param>
    /// <param name="expiry">When parts count as expired.</param>
    /// <returns>Whether something is left. If not, the key may have been removed.</returns>
    internal virtual bool TryRemoveExpired(Database database, ref Entry entry, ExpiryClock expiry) => true;

    /// <summary>The form in which a value is written to files and payloads of a version.</summary>
    internal virtual RdbType FormOf(Database database, Entry entry, int version) => RdbType.Module;

    /// <summary>The steps that write one value after the other. Not for values whose form is one string as it is in memory.</summary>
    internal abstract RdbValueSteps NewSteps();

    /// <summary>
    /// Reads an untrusted value into a missing key, whose stripe is locked: its elements one by one, as commands add them. What has been read when it turns out
    /// to be invalid is removed by the caller.
    /// </summary>
    /// <param name="form">One of <see cref="Forms"/>, or a module's data behind its id.</param>
    /// <param name="input">The bytes. A value of any size arrives here in pieces.</param>
    /// <param name="target">The key.</param>
    /// <param name="scratch">Buffers for strings.</param>
    /// <returns>Whether the value is valid.</returns>
    internal abstract bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch);

    /// <summary>The lowest version of the format that has the value without loss: for targets that are older than this server.</summary>
    internal virtual int LowestVersionOf(Entry entry) => RdbFormat.Version;

    /// <summary>Writes the commands that create a value, expiries of its parts included. Elements come in <see cref="CommandOutput.BeginElements"/>.</summary>
    /// <returns>False, before anything is written: commands cannot express it, so that it becomes a RESTORE.</returns>
    internal virtual bool TryWriteCommands(CommandOutput output, Database database, Entry entry) => false;

    /// <summary>The commands by which values are looked at, as the dashboard does; null: none.</summary>
    internal virtual ReadingCommands? Reading => null;

    /// <summary>Mixes the type into a digest.</summary>
    internal virtual void MixType(DatasetDigest digest)
    {
        digest.MixNumber(ModuleNumber);
        digest.Mix(Stored.Name);
    }

    /// <summary>Mixes the next part of a value into a digest, one element at least: what is the same in any encoding and on every server with this value.</summary>
    /// <param name="digest">The digest.</param>
    /// <param name="database">The key's database.</param>
    /// <param name="entry">The key.</param>
    /// <param name="expiry">The time.</param>
    /// <param name="position">Where the part begins, then where the next one does. The value may change between two parts.</param>
    /// <param name="left">What the part may have.</param>
    /// <returns>Whether it was the last part.</returns>
    internal abstract bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left);
}
