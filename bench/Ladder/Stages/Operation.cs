namespace RedKite.Ladder.Stages;

/// <summary>A command on its way to a shard and back, with keys and values of type <typeparamref name="T"/>.</summary>
/// <param name="Value">The value to set, and afterwards the value that GET found; for other commands the whole reply.</param>
internal record struct Operation<T>(CommandKind Kind, T? Key, T? Value)
    where T : class
{
    /// <summary>Runs on the shard's thread.</summary>
    internal void Execute(Dictionary<T, T> values)
    {
        if (Kind == CommandKind.Set) values[Key!] = Value!;
        else Value = values.GetValueOrDefault(Key!);
    }
}
