using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Sets;

/// <summary>The arguments that are members: MEMBERS nummembers member [member ...], at the command's end.</summary>
internal readonly record struct MemberArguments(int First, int Count)
{
    internal int End => First + Count;

    /// <summary>Parses the list at the reader's position.</summary>
    internal static bool TryReadOrReply(ref OptionReader options, scoped in CommandContext cmd, out MemberArguments members)
    {
        members = default;
        if (!options.TakeWithValue("MEMBERS"u8, out int countArgument))
        {
            cmd.Reply.Error("ERR Mandatory argument MEMBERS is missing or not at the right position"u8);
            return false;
        }

        if (!RespNumber.TryParseInt64(cmd[countArgument], out long count) || count <= 0)
        {
            cmd.Reply.Error("ERR Number of members must be a positive integer"u8);
            return false;
        }

        if (count != options.Left)
        {
            cmd.Reply.Error("ERR The `nummembers` parameter must match the number of arguments"u8);
            return false;
        }

        members = new MemberArguments(options.Position, (int)count);
        return true;
    }
}

/// <summary>The options of SADDEX: when members are added, and how their expiries change.</summary>
internal struct MemberOptions
{
    /// <summary>MNX: only if none of the members exists.</summary>
    internal bool OnlyNew { get; private set; }

    /// <summary>MXX: only if all of the members exist.</summary>
    internal bool OnlyExisting { get; private set; }

    internal bool KeepsExpiry { get; private set; }

    internal bool HasExpiry { get; private set; }

    /// <summary>The expiry in Unix milliseconds, if there is one.</summary>
    internal long ExpiryMs { get; private set; }

    internal MemberArguments Members { get; private set; }

    /// <summary>Parses the options, from argument 2 on, in any order before the members.</summary>
    internal static bool TryParseOrReply(scoped in CommandContext cmd, out MemberOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first: 2);
        while (options.More && !cmd.Is(options.Position, "MEMBERS"u8))
        {
            if (!result.TryTakeOrReply(ref options, cmd)) return false;
        }

        if (!MemberArguments.TryReadOrReply(ref options, cmd, out MemberArguments members)) return false;
        result.Members = members;
        return true;
    }

    private bool TryTakeOrReply(ref OptionReader options, scoped in CommandContext cmd)
    {
        bool isNew = options.Take("MNX"u8);
        if (isNew || options.Take("MXX"u8))
        {
            if (OnlyNew || OnlyExisting)
            {
                cmd.Reply.Error("ERR Only one of MXX or MNX arguments can be specified"u8);
                return false;
            }

            OnlyNew = isNew;
            OnlyExisting = !isNew;
            return true;
        }

        bool hadExpiry = HasExpiry || KeepsExpiry;
        bool hasTime = ExpiryArgument.Take(ref options, out int time, out ExpiryUnit unit);
        if (!hasTime && !options.Take("KEEPTTL"u8))
        {
            cmd.Reply.Error("ERR unknown argument: " + cmd.ShownText(options.Position));
            return false;
        }

        if (hadExpiry)
        {
            cmd.Reply.Error("ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"u8);
            return false;
        }

        KeepsExpiry = !hasTime;
        if (!hasTime) return true;
        HasExpiry = ExpiryArgument.TryFieldOrReply(cmd, time, unit, out long expiryMs);
        ExpiryMs = expiryMs;
        return HasExpiry;
    }
}

/// <summary>
/// The members that a command changed, and effects that name only those. Without a consumer they are counted and not recorded.
/// </summary>
internal ref struct MemberChanges
{
    private readonly List<int>? _arguments;

    internal MemberChanges(scoped in CommandContext cmd) => _arguments = cmd.Recording.TakesEffects ? [] : null;

    /// <summary>The number of changed members.</summary>
    internal long Count { get; private set; }

    /// <summary>Adds the member at an argument.</summary>
    internal void Add(int argument)
    {
        Count++;
        _arguments?.Add(argument);
    }

    /// <summary>SADDEX without a condition, with an absolute expiry.</summary>
    internal static void WriteSAddEx(scoped in CommandContext cmd, in MemberOptions options)
    {
        if (!cmd.Recording.TakesEffects) return;
        MemberArguments members = options.Members;
        EffectArguments effect = cmd.Effect("SADDEX"u8, 4 + (options.HasExpiry ? 2 : options.KeepsExpiry ? 1 : 0) + members.Count).Argument(cmd[1]);
        if (options.HasExpiry) effect.Argument("PXAT"u8).Argument(options.ExpiryMs);
        else if (options.KeepsExpiry) effect.Argument("KEEPTTL"u8);
        effect.Argument("MEMBERS"u8).Argument(members.Count);
        for (int i = members.First; i < members.End; i++) effect.Argument(cmd[i]);
    }

    /// <summary>The effect is that the members are removed.</summary>
    internal readonly void WriteSRem(scoped in CommandContext cmd)
    {
        if (_arguments is null) return;
        WriteMembers(cmd, cmd.Effect("SREM"u8, 2 + _arguments.Count).Argument(cmd[1]));
    }

    /// <summary>The effect is that the members have no expiry.</summary>
    internal readonly void WriteSPersist(scoped in CommandContext cmd)
    {
        if (_arguments is null) return;
        WriteMembers(cmd, cmd.Effect("SPERSIST"u8, 4 + _arguments.Count).Argument(cmd[1]).Argument("MEMBERS"u8).Argument(_arguments.Count));
    }

    /// <summary>The effect is an absolute expiry of the members, in Unix milliseconds.</summary>
    internal readonly void WriteSPExpireAt(scoped in CommandContext cmd, long expiryMs)
    {
        if (_arguments is null) return;
        WriteMembers(cmd, cmd.Effect("SPEXPIREAT"u8, 5 + _arguments.Count).Argument(cmd[1]).Argument(expiryMs).Argument("MEMBERS"u8).Argument(_arguments.Count));
    }

    private readonly void WriteMembers(scoped in CommandContext cmd, EffectArguments effect)
    {
        foreach (int argument in _arguments!) effect.Argument(cmd[argument]);
    }
}
