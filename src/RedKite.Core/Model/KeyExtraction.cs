using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>
/// Enumerates the keys of a request by the command's key specifications. Locking and COMMAND GETKEYS share it, so they
/// cannot disagree.
/// </summary>
/// <param name="command">The request's command, or its subcommand.</param>
/// <param name="start">The argument at which the request starts: 0, or 2 inside a COMMAND GETKEYS request.</param>
internal struct KeyExtraction(Command command, int start = 0)
{
    private int _spec = -1;
    private int _next;
    private int _last = -1;

    /// <summary>Whether a specification did not fit the request: an invalid or too large count, or a missing keyword.</summary>
    internal bool HasMisfit { get; private set; }

    /// <summary>The argument that is a key.</summary>
    internal int Argument { get; private set; }

    /// <summary>The specification that found it.</summary>
    internal readonly KeySpec Spec => command.Keys[_spec];

    /// <summary>Finds the next key.</summary>
    internal bool MoveNext(scoped in CommandContext cmd)
    {
        while (_next > _last)
        {
            if (++_spec >= command.Keys.Length) return false;
            if ((Spec.Flags & KeyFlags.NotKey) != 0 || FindRange(cmd, Spec)) continue;
            _last = -1;
            _next = 0;
        }

        Argument = _next;
        _next += Spec.Step;
        return true;
    }

    /// <summary>How the request uses the key.</summary>
    internal readonly KeyFlags FlagsOf(scoped in CommandContext cmd) => Spec.FlagsOf is { } rule ? rule(cmd, start) : Spec.Flags;

    // Finds the arguments from _next to _last; false when the request has none for this specification.
    private bool FindRange(scoped in CommandContext cmd, KeySpec spec)
    {
        if (spec.IsUnknown && spec.Keyword.Length == 0) return false;
        if (spec.AppliesTo is { } rule && !rule(cmd, start)) return false;
        int origin = start;
        if (spec.Keyword.Length > 0 && !FindKeyword(cmd, spec, out origin)) return false;

        _next = origin + spec.First;
        if (spec.CountAt > 0)
        {
            _last = _next + ((CountIn(cmd, origin + spec.CountAt) - 1) * spec.Step);
        }
        else if (spec.Last >= 0)
        {
            _last = origin + spec.Last;
        }
        else
        {
            int left = cmd.Count - _next;
            if (spec.Limit > 0 && left % spec.Limit != 0)
            {
                HasMisfit = true;
                return false;
            }

            _last = spec.Limit > 0 ? _next + (left / spec.Limit) + spec.Last : cmd.Count + spec.Last;
        }

        if (_next < cmd.Count && _last >= _next && _last < cmd.Count) return true;

        // An option at the end lacks its key: the request is invalid, but its other keys are known.
        if (spec.Keyword.Length == 0 || spec.Last < 0) HasMisfit = true;
        return false;
    }

    private readonly bool FindKeyword(scoped in CommandContext cmd, KeySpec spec, out int found)
    {
        if (spec.FindsKeyword is { } rule)
        {
            found = rule(cmd, start);
            return found > 0;
        }

        bool backwards = spec.StartFrom < 0;
        found = backwards ? cmd.Count + spec.StartFrom : start + spec.StartFrom;
        while (found > start && found < cmd.Count)
        {
            if (AsciiText.EqualsIgnoreCase(cmd[found], spec.Keyword)) return true;
            found += backwards ? -1 : 1;
        }

        return false;
    }

    // The number of keys that an argument states; 0 if it is invalid.
    private static int CountIn(scoped in CommandContext cmd, int argument)
    {
        if (argument >= cmd.Count || !RespNumber.TryParseInt64(cmd[argument], out long count)) return 0;
        return count > 0 && count < cmd.Count ? (int)count : 0;
    }
}
