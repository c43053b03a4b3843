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

    internal required byte[] NoListError { get; init; }

    /// <summary>The error for an invalid number of elements.</summary>
    internal required byte[] CountError { get; init; }

    /// <summary>The same of commands that set an expiry.</summary>
    internal required byte[] ExpireCountError { get; init; }

    /// <summary>The error for a number of elements that is not that of the arguments.</summary>
    internal required byte[] MismatchError { get; init; }

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

/// <summary>The arguments that are elements, at the command's end. In HSETEX each is followed by its value.</summary>
/// <param name="First">The first one's argument.</param>
/// <param name="Count">Their number.</param>
/// <param name="Step">The number of arguments for each.</param>
internal readonly record struct ElementArguments(int First, int Count, int Step = 1)
{
    internal int End => First + (Count * Step);

    /// <summary>Parses FIELDS numfields field [field ...], or the same of members, which are all arguments behind the fixed ones.</summary>
    internal static bool TryReadOrReply(scoped in CommandContext cmd, ElementKind kind, int position, out ElementArguments elements)
    {
        var options = new OptionReader(cmd, position);
        return TryReadOrReply(ref options, cmd, kind, kind.CountError, out elements);
    }

    /// <summary>Parses the list at the reader's position.</summary>
    /// <param name="options">The reader, in front of the list's word.</param>
    /// <param name="cmd">The command.</param>
    /// <param name="kind">What the elements are.</param>
    /// <param name="countError">The error for an invalid number of elements.</param>
    /// <param name="elements">The arguments that are elements.</param>
    internal static bool TryReadOrReply(ref OptionReader options, scoped in CommandContext cmd, ElementKind kind, byte[] countError, out ElementArguments elements)
    {
        elements = default;
        if (options.TakeWithValue(kind.List, out int countArgument)) return TryCountOrReply(options, cmd, kind, countError, countArgument, out elements);
        cmd.Reply.Error(kind.NoListError);
        return false;
    }

    /// <summary>Parses the number of elements, which is followed by them.</summary>
    internal static bool TryCountOrReply(scoped in OptionReader options, scoped in CommandContext cmd, ElementKind kind, byte[] countError, int countArgument, out ElementArguments elements)
    {
        bool isValid = RespNumber.TryParseInt64(cmd[countArgument], out long count) && count > 0;
        bool matches = isValid && count == options.Left;
        elements = matches ? new ElementArguments(options.Position, (int)count) : default;
        if (!matches) cmd.Reply.Error(isValid ? kind.MismatchError : countError);
        return matches;
    }
}
