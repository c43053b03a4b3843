using RedKite.Persistence.Types;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Buffers for the strings of one value that are decoded or encoded, the steps by which it is written, and what is wrong with a value that is read without making it invalid. Used by one
/// thread at a time.
/// </summary>
internal sealed class RdbScratch : IDisposable
{
    private readonly RdbValueSteps?[] _steps = new RdbValueSteps?[StoredTypes.CountMax];

    /// <summary>The steps of values that are one string.</summary>
    internal RdbStringSteps StringSteps { get; } = new();

    /// <summary>The steps of values of a type.</summary>
    internal RdbValueSteps StepsOf(PersistedType type) => _steps[(int)type.Stored.Number] ??= type.NewSteps();

    /// <summary>A packed list, or the text of a field or element.</summary>
    internal NativeBuffer First { get; } = new();

    /// <summary>The value that belongs to it.</summary>
    internal NativeBuffer Second { get; } = new();

    /// <summary>
    /// Whether a value is invalid that states wrongly what follows from its elements: their number, their order, the largest id. Otherwise that is
    /// determined anew, as redis-server loads such values, too.
    /// </summary>
    internal bool IsStrict { get; set; }

    /// <summary>What the value that was read last has stated wrongly; null: nothing.</summary>
    internal string? Corrected { get; private set; }

    /// <summary>Begins to read a value.</summary>
    internal void BeginValue() => Corrected = null;

    /// <summary>Notes that the value states something wrongly that follows from its elements.</summary>
    /// <returns>False: the value is invalid for that.</returns>
    internal bool Corrects(string what)
    {
        Corrected ??= what;
        return !IsStrict;
    }

    /// <summary>Opens a packed list, if the bytes are a valid one.</summary>
    internal bool TryOpen(ReadOnlySpan<byte> bytes, out PackedListReader list) =>
        PackedListReader.TryOpen(bytes, out list) && (list.StatesCount || Corrects("the number of elements of a packed list"));

    /// <summary>Releases large buffers after a value.</summary>
    internal void Clear()
    {
        First.Clear();
        Second.Clear();
    }

    public void Dispose()
    {
        First.Dispose();
        Second.Dispose();
    }
}
