using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// The bytes of values of one type, one value after the other, each in steps of a string or so: writing can stop after any step and go on later. Between a value's
/// first step and its last the value must not change, and no block of it may move. <see cref="RdbScratch"/> has one for each type, so that no value costs an
/// object.
/// </summary>
internal abstract class RdbValueSteps
{
    /// <summary>Begins with a value. What was left of another one is forgotten.</summary>
    /// <param name="form">The value's form.</param>
    /// <param name="database">The database.</param>
    /// <param name="entry">The key's entry.</param>
    /// <param name="expiry">When parts of the value count as expired: those are not written.</param>
    /// <param name="scratch">A buffer for the current step.</param>
    internal abstract void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch);

    /// <summary>Writes the next step. A string is the last thing in it.</summary>
    /// <returns>Whether something may be left.</returns>
    internal abstract bool Step(RdbOutput output);
}

/// <summary>The one step of a value that is a string as it is in memory.</summary>
internal sealed class RdbStringSteps : RdbValueSteps
{
    private NativeSpan _text;

    internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch) => _text = new NativeSpan(entry.Value);

    internal override bool Step(RdbOutput output)
    {
        output.String(_text.Bytes);
        return false;
    }
}
