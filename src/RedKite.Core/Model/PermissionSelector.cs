using System.Collections.Frozen;
using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>
/// One set of commands with the keys and channels for which they are allowed: a user has one, and more as selectors. It never
/// changes.
/// </summary>
internal sealed class PermissionSelector
{
    private readonly ulong[] _commands; // a bit for each Command.Index
    private readonly FrozenDictionary<int, string[]> _firstArguments; // of commands that are allowed with these only
    private readonly AccessPattern[] _keys;
    private readonly AccessPattern[] _channels;
    private readonly bool _allKeys;
    private readonly bool _allChannels;

    /// <param name="commands">A bit for each index of a command.</param>
    /// <param name="firstArguments">By the index of a command that is not allowed as a whole, the first arguments with which it is.</param>
    /// <param name="keys">Null: all keys.</param>
    /// <param name="channels">Null: all channels.</param>
    internal PermissionSelector(ulong[] commands, FrozenDictionary<int, string[]> firstArguments, AccessPattern[]? keys, AccessPattern[]? channels)
    {
        _commands = commands;
        _firstArguments = firstArguments;
        _allKeys = keys is null;
        _keys = keys ?? [];
        _allChannels = channels is null;
        _channels = channels ?? [];
    }

    /// <summary>Whether a command is allowed with any arguments.</summary>
    internal bool Allows(Command command) => (_commands[command.Index >> 6] & (1UL << (command.Index & 63))) != 0;

    /// <summary>Checks a request whose command is resolved.</summary>
    internal AccessDenial Check(scoped in CommandContext cmd)
    {
        if (!AllowsCommand(cmd)) return new AccessDenial(DenialReason.Command, 0);
        if (!_allKeys && cmd.Command.Keys.Length > 0 && CheckKeys(cmd) is { IsDenied: true } key) return key;
        if (!_allChannels && cmd.Command.Channels is { } channels && CheckChannels(cmd, channels) is { IsDenied: true } channel) return channel;
        return default;
    }

    /// <param name="key">The key.</param>
    /// <param name="access">What is done with it.</param>
    /// <param name="left">The steps that patterns may still take.</param>
    internal bool AllowsKey(ReadOnlySpan<byte> key, KeyAccess access, ref long left)
    {
        if (_allKeys) return true;
        long steps = AccessPattern.StepsFor(key, left);
        bool isAllowed = false;
        foreach (ref readonly AccessPattern pattern in _keys.AsSpan())
        {
            if ((pattern.Access & access) != access || !pattern.Matches(key, ref steps)) continue;
            isAllowed = true;
            break;
        }

        left = Math.Min(left, steps);
        return isAllowed;
    }

    /// <summary>Whether a request is allowed, and with it every key.</summary>
    internal bool AllowsAnyKey(scoped in CommandContext cmd, KeyAccess access)
    {
        if (!AllowsCommand(cmd)) return false;
        if (_allKeys) return true;
        foreach (ref readonly AccessPattern pattern in _keys.AsSpan())
        {
            if ((pattern.Access & access) == access && pattern.MatchesAll) return true;
        }

        return false;
    }

    /// <summary>Whether a channel is allowed; a pattern of channels only if the rules have it literally.</summary>
    /// <param name="channel">The channel, or a pattern.</param>
    /// <param name="isPattern">Whether it is a pattern.</param>
    /// <param name="left">The steps that patterns may still take.</param>
    internal bool AllowsChannel(ReadOnlySpan<byte> channel, bool isPattern, ref long left)
    {
        if (_allChannels) return true;
        long steps = AccessPattern.StepsFor(channel, left);
        bool isAllowed = false;
        foreach (ref readonly AccessPattern pattern in _channels.AsSpan())
        {
            if (isPattern ? !pattern.Is(channel) : !pattern.Matches(channel, ref steps)) continue;
            isAllowed = true;
            break;
        }

        left = Math.Min(left, steps);
        return isAllowed;
    }

    // A user without any permissions may still log in.
    private bool AllowsCommand(scoped in CommandContext cmd)
    {
        if (Allows(cmd.Command) || cmd.Command.Is(CommandFlags.NoAuth)) return true;
        if (cmd.Count < 2 || !_firstArguments.TryGetValue(cmd.Command.Index, out string[]? firstArguments)) return false;
        foreach (string allowed in firstArguments)
        {
            if (AsciiText.EqualsIgnoreCase(UpToZero(cmd[1]), allowed)) return true;
        }

        return false;
    }

    private static ReadOnlySpan<byte> UpToZero(ReadOnlySpan<byte> text) => text.IndexOf((byte)0) is >= 0 and int end ? text[..end] : text;

    private AccessDenial CheckKeys(scoped in CommandContext cmd)
    {
        AccessDenial denial = default;
        long left = cmd.Environment.UnitWork.AccessLeft;
        var keys = new KeyExtraction(cmd.Command);
        while (keys.MoveNext(cmd))
        {
            if (denial.IsDenied || AllowsKey(cmd[keys.Argument], KeyAccesses.Of(keys.FlagsOf(cmd)), ref left)) continue;
            denial = new AccessDenial(DenialReason.Key, keys.Argument);
        }

        cmd.Environment.UnitWork.NoteAccess(left);

        // Arguments that state no keys: the command refuses them itself, as in Redis.
        return keys.HasMisfit ? default : denial;
    }

    private AccessDenial CheckChannels(scoped in CommandContext cmd, ChannelSpec channels)
    {
        int last = channels.Last < 0 ? cmd.Count + channels.Last : channels.Last;
        long left = cmd.Environment.UnitWork.AccessLeft;
        AccessDenial denial = default;
        for (int i = channels.First; i <= last && i < cmd.Count && !denial.IsDenied; i++)
        {
            if (!AllowsChannel(cmd[i], channels.IsPattern, ref left)) denial = new AccessDenial(DenialReason.Channel, i);
        }

        cmd.Environment.UnitWork.NoteAccess(left);
        return denial;
    }
}
