using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Elements;

/// <summary>What commands on the expiry of a hash's fields and of a set's members differ in: words, events, errors and effects.</summary>
internal sealed class ElementKind
{
    /// <summary>The word in front of the list of elements.</summary>
    internal required byte[] List { get; init; }

    /// <summary>Whether NX and XX are conditions on the key, as in Valkey.</summary>
    internal bool HasKeyConditions { get; init; }

    /// <summary>The condition that none of the elements exists.</summary>
    internal required byte[] OnlyNew { get; init; }

    /// <summary>The condition that all of the elements exist.</summary>
    internal required byte[] OnlyExisting { get; init; }

    internal required byte[] BothConditionsError { get; init; }

    /// <summary>The error for something else where the list is expected.</summary>
    internal required byte[] NoListError { get; init; }

    /// <summary>The error for options without a list.</summary>
    internal required byte[] MissingListError { get; init; }

    /// <summary>The error for a second list.</summary>
    internal required byte[] RepeatedListError { get; init; }

    /// <summary>The error for the list's word without a number and an element, of commands that set an expiry.</summary>
    internal required byte[] EmptyListError { get; init; }

    /// <summary>The error for an invalid number of elements.</summary>
    internal required byte[] CountError { get; init; }

    /// <summary>The same of commands that set an expiry.</summary>
    internal required byte[] ExpireCountError { get; init; }

    /// <summary>The same of commands with options about expiry.</summary>
    internal required byte[] OptionCountError { get; init; }

    /// <summary>The error for a number of elements that is not that of the arguments.</summary>
    internal required byte[] MismatchError { get; init; }

    /// <summary>The error for a number of elements that is more than the arguments, of commands with options behind the list.</summary>
    internal required byte[] TooFewError { get; init; }

    internal required KeyEvent Removed { get; init; }

    internal required KeyEvent Expires { get; init; }

    internal required KeyEvent Persisted { get; init; }

    /// <summary>The command that removes elements, as an effect.</summary>
    internal required byte[] RemoveCommand { get; init; }

    /// <summary>The command that sets the expiry of elements as a Unix time in milliseconds.</summary>
    internal required byte[] ExpireCommand { get; init; }

    internal required byte[] PersistCommand { get; init; }

    /// <summary>The command that sets or adds elements with an expiry.</summary>
    internal required byte[] SetCommand { get; init; }
}

/// <summary>The arguments that are elements. In HSETEX each is followed by its value.</summary>
/// <param name="First">The first one's argument.</param>
/// <param name="Count">Their number.</param>
/// <param name="Step">The number of arguments for each.</param>
internal readonly record struct ElementArguments(int First, int Count, int Step = 1)
{
    /// <summary>Whether they have been read.</summary>
    internal bool AreThere => Count > 0;

    internal int End => First + (Count * Step);

    /// <summary>Parses FIELDS numfields field [field ...], or the same of members, which are all arguments behind the fixed ones.</summary>
    internal static bool TryReadOrReply(scoped in CommandContext cmd, ElementKind kind, int position, out ElementArguments elements)
    {
        elements = default;
        var options = new OptionReader(cmd, position);
        if (!options.TakeWithValue(kind.List, out int countArgument)) return Refuse(cmd, kind.NoListError);
        if (!RespNumber.TryParseInt64(cmd[countArgument], out long count) || count <= 0) return Refuse(cmd, kind.CountError);
        if (count != options.Left) return Refuse(cmd, kind.MismatchError);
        elements = new ElementArguments(options.Position, (int)count);
        return true;
    }

    /// <summary>Parses the list of a command whose options may stand before and behind it; the reader is behind the list's word.</summary>
    /// <param name="options">The reader.</param>
    /// <param name="cmd">The command.</param>
    /// <param name="kind">What the elements are.</param>
    /// <param name="countError">The error for an invalid number of elements.</param>
    /// <param name="step">The number of arguments for each element.</param>
    /// <param name="elements">The arguments that are elements; those of an earlier list, if there is one.</param>
    internal static bool TryTakeOrReply(ref OptionReader options, scoped in CommandContext cmd, ElementKind kind, byte[] countError, int step, scoped ref ElementArguments elements)
    {
        if (elements.AreThere) return Refuse(cmd, kind.RepeatedListError);
        if (!options.TakeAny(out int countArgument))
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return false;
        }

        if (!RespNumber.TryParseInt64(cmd[countArgument], out long count) || count is <= 0 or > int.MaxValue) return Refuse(cmd, countError);
        if (count * step > options.Left) return Refuse(cmd, kind.TooFewError);
        elements = new ElementArguments(options.Position, (int)count, step);
        options.Skip((int)count * step);
        return true;
    }

    private static bool Refuse(scoped in CommandContext cmd, ReadOnlySpan<byte> error)
    {
        cmd.Reply.Error(error);
        return false;
    }
}
