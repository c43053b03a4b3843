using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>
/// Reads the options after a command's fixed arguments in order, ignoring case. An argument that does not match is not
/// consumed, so that one branch of the loop replies the error.
/// <code>
/// var options = new OptionReader(cmd, first: 3);
/// while (options.More)
/// {
///     if (options.Take("REPLACE"u8)) replace = true;
///     else if (options.TakeWithValue("DB"u8, out int database)) ...    // the value's index: parse it after the loop
///     else { cmd.ReplySyntaxError(); return; }
/// }
/// </code>
/// Where options precede other arguments (ZADD, XADD) the loop ends at the first argument that is not an option, whose index
/// is <see cref="Position"/>.
/// </summary>
internal ref struct OptionReader
{
    private readonly CommandContext _cmd;

    /// <param name="cmd">The command whose arguments are read.</param>
    /// <param name="first">The first argument that may be an option.</param>
    internal OptionReader(scoped in CommandContext cmd, int first)
    {
        _cmd = cmd;
        Position = first;
    }

    /// <summary>The index of the next argument; at the end, the number of arguments.</summary>
    internal int Position { get; private set; }

    /// <summary>Whether there is a next argument.</summary>
    internal readonly bool More => Position < _cmd.Count;

    /// <summary>The number of remaining arguments.</summary>
    internal readonly int Left => _cmd.Count - Position;

    /// <summary>Takes the next argument if it is this word.</summary>
    internal bool Take(ReadOnlySpan<byte> word)
    {
        if (!More || !_cmd.Is(Position, word)) return false;
        Position++;
        return true;
    }

    /// <summary>Takes the next argument and its value, if it is this word and is followed by another argument.</summary>
    /// <param name="word">The option's name.</param>
    /// <param name="value">The index of the value.</param>
    internal bool TakeWithValue(ReadOnlySpan<byte> word, out int value) => TakeWithValues(word, 1, out value);

    /// <summary>Takes the next argument and its values, if it is this word and is followed by enough arguments.</summary>
    /// <param name="word">The option's name.</param>
    /// <param name="count">The number of values.</param>
    /// <param name="firstValue">The index of the first value.</param>
    internal bool TakeWithValues(ReadOnlySpan<byte> word, int count, out int firstValue)
    {
        firstValue = Position + 1;
        if (Left <= count || !_cmd.Is(Position, word)) return false;
        Position += 1 + count;
        return true;
    }

    /// <summary>Takes any next argument.</summary>
    /// <param name="argument">Its index.</param>
    internal bool TakeAny(out int argument)
    {
        argument = Position;
        if (!More) return false;
        Position++;
        return true;
    }

    /// <summary>Skips arguments that are no options.</summary>
    internal void Skip(int count) => Position += count;
}
