using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Members;

namespace RedKite.Server.Commands.Elements;

/// <summary>An expiry to set, and of which elements.</summary>
/// <param name="ExpiryMs">The expiry in Unix milliseconds.</param>
/// <param name="Condition">Which elements get it.</param>
/// <param name="Elements">The elements.</param>
internal readonly record struct ExpiryRequest(long ExpiryMs, ExpiryCondition Condition, ElementArguments Elements)
{
    /// <summary>Parses the time, and behind it, in any order, [NX | XX | GT | LT] and FIELDS numfields field [field ...], or the same of members.</summary>
    internal static bool TryParseOrReply(scoped in CommandContext cmd, ElementKind kind, ExpiryUnit unit, out ExpiryRequest request)
    {
        request = default;
        if (!ExpiryArgument.TryFieldOrReply(cmd, 2, unit, out long expiryMs)) return false;
        var options = new OptionReader(cmd, first: 3);
        ExpiryCondition condition = ExpiryCondition.None;
        bool contradicts = false;
        ElementArguments elements = default;
        while (options.More)
        {
            int at = options.Position;
            if (options.Take(kind.List))
            {
                if (!elements.AreThere && options.Left < 2) return Refuse(cmd, kind.EmptyListError);
                if (!ElementArguments.TryTakeOrReply(ref options, cmd, kind, kind.ExpireCountError, step: 1, ref elements)) return false;
                continue;
            }

            ExpiryCondition next = ExpiryConditions.Take(ref options);
            if (next == ExpiryCondition.None)
            {
                cmd.Reply.Error("ERR unknown argument: " + cmd.ShownText(at));
                return false;
            }

            contradicts |= condition != ExpiryCondition.None && condition != next;
            condition = next;
        }

        if (!elements.AreThere) return Refuse(cmd, kind.MissingListError);
        if (contradicts) return Refuse(cmd, "ERR Multiple condition flags specified"u8);
        request = new ExpiryRequest(expiryMs, condition, elements);
        return true;
    }

    private static bool Refuse(scoped in CommandContext cmd, ReadOnlySpan<byte> error)
    {
        cmd.Reply.Error(error);
        return false;
    }
}

/// <summary>Sets, replies and removes the expiries of elements, the same way for a hash's fields and a set's members.</summary>
internal static class ElementExpiry
{
    // The replies for an element.
    private const int NotThere = -2;
    private const int WithoutExpiry = -1;
    private const int ConditionFailed = 0;
    private const int IsSet = 1;
    private const int IsRemoved = 2;

    /// <summary>Sets the expiry of elements; those for which it has passed are removed.</summary>
    internal static void Set<T>(scoped in CommandContext cmd, ElementKind kind, scoped ref T value, in ExpiryRequest request)
        where T : struct, IExpiringElements, allows ref struct
    {
        ElementArguments elements = request.Elements;
        cmd.Reply.Array(elements.Count);
        var changed = new ElementChanges(cmd, kind);
        for (int i = elements.First; i < elements.End; i++)
        {
            int result = Set(cmd, ref value, cmd[i], request);
            if (result > 0) changed.Add(cmd, i);
            cmd.Reply.Integer(result);
        }

        changed.ReportExpiry(cmd, request.ExpiryMs);
    }

    private static int Set<T>(scoped in CommandContext cmd, scoped ref T value, ReadOnlySpan<byte> element, in ExpiryRequest request)
        where T : struct, IExpiringElements, allows ref struct
    {
        long oldMs = value.ExpiryOf(element);
        if (oldMs == IElementExpiries.Missing) return NotThere;
        if (!request.Condition.Holds(oldMs, request.ExpiryMs)) return ConditionFailed;
        return Write(cmd, ref value, element, request.ExpiryMs);
    }

    /// <summary>Sets the expiry of an element that exists, or removes the element if the expiry has passed.</summary>
    internal static int Write<T>(scoped in CommandContext cmd, scoped ref T value, ReadOnlySpan<byte> element, long expiryMs)
        where T : struct, IExpiringElements, allows ref struct
    {
        if (expiryMs != Database.NoExpiry && cmd.Expiry.HasPassed(expiryMs))
        {
            value.Remove(element);
            return IsRemoved;
        }

        value.WriteExpiry(element, expiryMs);
        return IsSet;
    }

    /// <summary>Replies the expiries of elements.</summary>
    internal static void Reply<T>(scoped in CommandContext cmd, ElementKind kind, scoped in T value, ExpiryUnit unit)
        where T : struct, IElementExpiries, allows ref struct
    {
        if (!ElementArguments.TryReadOrReply(cmd, kind, 2, out ElementArguments elements)) return;
        cmd.Reply.Array(elements.Count);
        for (int i = elements.First; i < elements.End; i++)
        {
            long expiryMs = value.ExpiryOf(cmd[i]);
            if (expiryMs == IElementExpiries.Missing) cmd.Reply.Integer(NotThere);
            else if (expiryMs == Database.NoExpiry) cmd.Reply.Integer(WithoutExpiry);
            else cmd.Reply.Integer(ExpiryConditions.InUnit(expiryMs, cmd.NowMs, unit));
        }
    }

    /// <summary>Removes the expiries of elements.</summary>
    internal static void Persist<T>(scoped in CommandContext cmd, ElementKind kind, scoped ref T value)
        where T : struct, IExpiringElements, allows ref struct
    {
        if (!ElementArguments.TryReadOrReply(cmd, kind, 2, out ElementArguments elements)) return;
        cmd.Reply.Array(elements.Count);
        var changed = new ElementChanges(cmd, kind);
        for (int i = elements.First; i < elements.End; i++)
        {
            long expiryMs = value.ExpiryOf(cmd[i]);
            if (expiryMs is IElementExpiries.Missing or Database.NoExpiry)
            {
                cmd.Reply.Integer(expiryMs == Database.NoExpiry ? WithoutExpiry : NotThere);
                continue;
            }

            value.WriteExpiry(cmd[i], Database.NoExpiry);
            changed.Add(cmd, i);
            cmd.Reply.Integer(IsSet);
        }

        changed.ReportPersisted(cmd, count: 1); // as in Redis, one change for any number of fields
    }

    /// <summary>Whether the condition of HSETEX and SADDEX holds: that all of the elements exist, or none of them.</summary>
    internal static bool Holds<T>(scoped in CommandContext cmd, scoped in T value, in ElementOptions options)
        where T : struct, IElementExpiries, allows ref struct
    {
        if (!options.OnlyNew && !options.OnlyExisting) return true;
        ElementArguments elements = options.Elements;
        for (int i = elements.First; i < elements.End; i += elements.Step)
        {
            if ((value.ExpiryOf(cmd[i]) != IElementExpiries.Missing) != options.OnlyExisting) return false;
        }

        return true;
    }
}
