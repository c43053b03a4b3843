using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>
/// Reads the options behind a command's fixed arguments, one after the other, in whatever case. What does not fit is left
/// where it is, so that the loop ends in one place: the branch that replies the error.
/// <code>
/// var options = new OptionReader(cmd, first: 3);
/// while (options.More)
/// {
///     if (options.Take("REPLACE"u8)) replace = true;
///     else if (options.TakeWithValue("DB"u8, out int database)) ...    // an argument's index: parse it when all are read
///     else { cmd.ReplySyntaxError(); return; }
/// }
/// </code>
/// Where options come before other arguments (ZADD, XADD) the loop ends with the first that is none, and
/// <see cref="Position"/> is that one's index.
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

    /// <summary>The index of the argument that comes next; the number of arguments at the end.</summary>
    internal int Position { get; private set; }

    /// <summary>Whether arguments are left.</summary>
    internal readonly bool More => Position < _cmd.Count;

    /// <summary>How many arguments are left.</summary>
    internal readonly int Left => _cmd.Count - Position;

    /// <summary>Takes the next argument if it is this word.</summary>
    internal bool Take(ReadOnlySpan<byte> word)
    {
        if (!More || !_cmd.Is(Position, word)) return false;
        Position++;
        return true;
    }

    /// <summary>Takes the next argument if it is this word and another argument stands behind it, which is taken too.</summary>
    /// <param name="word">The option's name.</param>
    /// <param name="value">The index of the argument behind the word.</param>
    internal bool TakeWithValue(ReadOnlySpan<byte> word, out int value) => TakeWithValues(word, 1, out value);

    /// <summary>Takes the next argument if it is this word and so many arguments stand behind it, which are taken too.</summary>
    /// <param name="word">The option's name.</param>
    /// <param name="count">How many arguments belong to it.</param>
    /// <param name="firstValue">The index of the first of them.</param>
    internal bool TakeWithValues(ReadOnlySpan<byte> word, int count, out int firstValue)
    {
        firstValue = Position + 1;
        if (Left <= count || !_cmd.Is(Position, word)) return false;
        Position += 1 + count;
        return true;
    }

    /// <summary>Takes the next argument, whatever it is.</summary>
    /// <param name="argument">Its index.</param>
    internal bool TakeAny(out int argument)
    {
        argument = Position;
        if (!More) return false;
        Position++;
        return true;
    }
}
