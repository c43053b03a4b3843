using System.Text;
using RedKite.Server.Model;

namespace RedKite.Server.Acl;

/// <summary>
/// The rules of one selector: commands, keys and channels. A draft while rules are applied; once its user is published it does not
/// change any more.
/// </summary>
internal sealed class SelectorRules
{
    private readonly List<(string Pattern, KeyAccess Access)> _keys = [];
    private readonly List<string> _channels = [];
    private readonly CommandRules _commands;
    private bool _allKeys;
    private bool _allChannels;

    /// <summary>Nothing is allowed, except channels if that is the default.</summary>
    internal SelectorRules(RuleCommands commands, bool allChannels)
    {
        _commands = new CommandRules(commands);
        _allChannels = allChannels;
    }

    private SelectorRules(SelectorRules other)
    {
        _commands = other._commands.Clone();
        _keys.AddRange(other._keys);
        _channels.AddRange(other._channels);
        _allKeys = other._allKeys;
        _allChannels = other._allChannels;
    }

    /// <summary>The number of patterns and rules for commands, and one for the selector.</summary>
    internal int Count => 1 + _keys.Count + _channels.Count + _commands.Count;

    /// <summary>The length of the patterns and of the rules for commands.</summary>
    internal long TextBytes => _keys.Sum(key => (long)key.Pattern.Length) + _channels.Sum(channel => (long)channel.Length) + _commands.TextBytes;

    /// <summary>Whether everything is allowed.</summary>
    internal bool AllowsAll => _allKeys && _allChannels && _commands.AllowsAll;

    /// <summary>The commands' rules, as ACL GETUSER shows them.</summary>
    internal string Commands => _commands.Describe();

    /// <summary>The keys' patterns, as ACL GETUSER shows them.</summary>
    internal string Keys => _allKeys ? "~*" : string.Join(' ', _keys.Select(key => Prefix(key.Access) + key.Pattern));

    /// <summary>The channels' patterns, as ACL GETUSER shows them.</summary>
    internal string Channels => _allChannels ? "&*" : string.Join(' ', _channels.Select(channel => "&" + channel));

    internal SelectorRules Clone() => new(this);

    /// <summary>Applies one rule.</summary>
    /// <returns>Null, or what is wrong.</returns>
    internal string? Apply(string rule)
    {
        if (Is(rule, "allkeys") || rule == "~*") SetAllKeys(true);
        else if (Is(rule, "resetkeys")) SetAllKeys(false);
        else if (Is(rule, "allchannels") || rule == "&*") SetAllChannels(true);
        else if (Is(rule, "resetchannels")) SetAllChannels(false);
        else if (Is(rule, "allcommands") || Is(rule, "+@all")) _commands.SetAll(true);
        else if (Is(rule, "nocommands") || Is(rule, "-@all")) _commands.SetAll(false);
        else if (rule.StartsWith('~') || rule.StartsWith('%')) return AddKeys(rule);
        else if (rule.StartsWith('&')) return AddChannel(rule[1..]);
        else if (rule.StartsWith('+') || rule.StartsWith('-')) return _commands.Apply(rule);
        else return RuleError.Syntax;
        return null;
    }

    internal void Append(StringBuilder text)
    {
        if (_allKeys || _keys.Count > 0) text.Append(Keys).Append(' ');
        if (!_allChannels) text.Append("resetchannels ");
        if (_allChannels || _channels.Count > 0) text.Append(Channels).Append(' ');
        text.Append(Commands);
    }

    internal PermissionSelector Compile() => new(
        _commands.Allowed,
        _commands.FirstArguments,
        _allKeys ? null : [.. _keys.Select(key => new AccessPattern(Encoding.Latin1.GetBytes(key.Pattern), key.Access))],
        _allChannels ? null : [.. _channels.Select(channel => new AccessPattern(Encoding.Latin1.GetBytes(channel), KeyAccess.All))]);

    private static string Prefix(KeyAccess access) => access switch
    {
        KeyAccess.Read => "%R~",
        KeyAccess.Write => "%W~",
        _ => "~",
    };

    private static bool Is(string rule, string word) => rule.Equals(word, StringComparison.OrdinalIgnoreCase);

    private void SetAllKeys(bool all)
    {
        _keys.Clear();
        _allKeys = all;
    }

    private void SetAllChannels(bool all)
    {
        _channels.Clear();
        _allChannels = all;
    }

    // ~pattern, %R~pattern, %W~pattern or %RW~pattern
    private string? AddKeys(string rule)
    {
        if (_allKeys) return RuleError.KeysComplete;
        if (!TrySplit(rule, out KeyAccess access, out string pattern) || RuleError.HasSpaceOrZero(pattern)) return RuleError.Syntax;
        int known = _keys.FindIndex(key => key.Pattern == pattern);
        if (known >= 0) _keys[known] = (pattern, _keys[known].Access | access);
        else _keys.Add((pattern, access));
        return null;
    }

    private static bool TrySplit(string rule, out KeyAccess access, out string pattern)
    {
        access = KeyAccess.All;
        pattern = rule[1..];
        if (rule[0] == '~') return true;
        access = KeyAccess.None;
        int i = 1;
        while (i < rule.Length)
        {
            char letter = char.ToUpperInvariant(rule[i++]);
            if (letter == 'R' && (access & KeyAccess.Read) == 0) access |= KeyAccess.Read;
            else if (letter == 'W' && (access & KeyAccess.Write) == 0) access |= KeyAccess.Write;
            else if (letter == '~' && access != KeyAccess.None) break;
            else return false;
        }

        pattern = rule[i..];
        return access != KeyAccess.None;
    }

    private string? AddChannel(string pattern)
    {
        if (_allChannels) return RuleError.ChannelsComplete;
        if (RuleError.HasSpaceOrZero(pattern)) return RuleError.Syntax;
        if (!_channels.Contains(pattern)) _channels.Add(pattern);
        return null;
    }
}
