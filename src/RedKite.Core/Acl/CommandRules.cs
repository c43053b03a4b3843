using System.Collections.Frozen;
using RedKite.Server.Model;

namespace RedKite.Server.Acl;

/// <summary>
/// The commands of one selector: those that are allowed, and the rules that allow them, in the order in which ACL LIST shows them. A rule for
/// everything replaces all earlier ones; a rule for a command replaces those for it and its subcommands.
/// </summary>
internal sealed class CommandRules
{
    private readonly RuleCommands _commands;
    private readonly ulong[] _allowed;
    private readonly SortedDictionary<int, List<string>> _firstArguments = [];
    private readonly List<string> _rules = [];
    private bool _allowsUnknown; // the last rule for everything, which future commands follow

    internal CommandRules(RuleCommands commands)
    {
        _commands = commands;
        _allowed = new ulong[(commands.All.Count + 63) / 64];
    }

    private CommandRules(CommandRules other)
    {
        _commands = other._commands;
        _allowed = [.. other._allowed];
        foreach ((int index, List<string> arguments) in other._firstArguments) _firstArguments[index] = [.. arguments];
        _rules.AddRange(other._rules);
        _allowsUnknown = other._allowsUnknown;
    }

    /// <summary>The number of rules.</summary>
    internal int Count => _rules.Count;

    /// <summary>The length of the rules.</summary>
    internal long TextBytes => _rules.Sum(rule => (long)rule.Length);

    /// <summary>Whether every command is allowed.</summary>
    internal bool AllowsAll
    {
        get
        {
            foreach (Command command in _commands.All)
            {
                if ((_allowed[command.Index >> 6] & (1UL << (command.Index & 63))) == 0) return false;
            }

            return true;
        }
    }

    internal ulong[] Allowed => _allowed;

    internal FrozenDictionary<int, string[]> FirstArguments => _firstArguments.ToFrozenDictionary(entry => entry.Key, entry => entry.Value.ToArray());

    internal CommandRules Clone() => new(this);

    /// <summary>The rules as text: +@all or -@all, then what differs from it.</summary>
    internal string Describe() => string.Join(' ', [_allowsUnknown ? "+@all" : "-@all", .. _rules]);

    internal void SetAll(bool allow)
    {
        Array.Fill(_allowed, allow ? ulong.MaxValue : 0);
        _firstArguments.Clear();
        _rules.Clear();
        _allowsUnknown = allow;
    }

    /// <summary>Applies a rule that begins with + or -.</summary>
    /// <returns>Null, or what is wrong.</returns>
    internal string? Apply(string rule)
    {
        bool allow = rule[0] == '+';
        string name = rule[1..];
        if (name.StartsWith('@')) return ApplyCategory(name, allow);
        if (allow && name.Contains('|', StringComparison.Ordinal)) return AllowPart(name);
        if (_commands.Find(name) is not { } command) return RuleError.UnknownCommand;
        Set(command, allow);
        Note(name, allow);
        return null;
    }

    private string? ApplyCategory(string name, bool allow)
    {
        AclCategory category = AclCategories.Find(System.Text.Encoding.Latin1.GetBytes(name[1..]));
        if (category == AclCategory.None) return RuleError.UnknownCommand;
        foreach (Command command in _commands.All)
        {
            if ((command.AllCategories & category) != 0) Set(command, allow);
        }

        Note(name, allow);
        return null;
    }

    // +command|subcommand, or +command|argument: the command with this first argument only.
    private string? AllowPart(string name)
    {
        int bar = name.LastIndexOf('|');
        string argument = name[(bar + 1)..];
        if (_commands.Find(name[..bar]) is not { } command) return RuleError.UnknownCommand;
        if (command.Parent is not null) return RuleError.FirstArgumentOfSubcommand;
        if (argument.Length == 0) return RuleError.Syntax;
        if (command.Subcommands.Length > 0)
        {
            if (_commands.Find(name) is not { } subcommand) return RuleError.UnknownCommand;
            Set(subcommand, allow: true);
        }
        else
        {
            // Redis accepts spaces here, and crashes with an assertion when it shows the rule.
            if (RuleError.HasSpaceOrZero(argument)) return RuleError.Syntax;
            if (!_firstArguments.TryGetValue(command.Index, out List<string>? arguments)) _firstArguments[command.Index] = arguments = [];
            if (!arguments.Contains(argument, StringComparer.OrdinalIgnoreCase)) arguments.Add(argument);
        }

        Note(name, allow: true);
        return null;
    }

    // With all subcommands.
    private void Set(Command command, bool allow)
    {
        SetOne(command, allow);
        foreach (Command subcommand in command.Subcommands) SetOne(subcommand, allow);
    }

    private void SetOne(Command command, bool allow)
    {
        ulong bit = 1UL << (command.Index & 63);
        if (allow) _allowed[command.Index >> 6] |= bit;
        else _allowed[command.Index >> 6] &= ~bit;
        _firstArguments.Remove(command.Index);
    }

    private void Note(string name, bool allow)
    {
#pragma warning disable CA1308 // Rules are shown in lower case.
        string lower = name.ToLowerInvariant();
#pragma warning restore CA1308
        _rules.RemoveAll(rule => rule.AsSpan(1).SequenceEqual(lower) || (rule.Length > lower.Length + 1 && rule.AsSpan(1).StartsWith(lower) && rule[lower.Length + 1] == '|'));
        _rules.Add((allow ? "+" : "-") + lower);
    }
}

/// <summary>The commands by the names that rules use: Redis's own, regardless of rename-command.</summary>
internal sealed class RuleCommands
{
    private readonly Dictionary<string, Command> _byName = new(StringComparer.OrdinalIgnoreCase);

    internal RuleCommands(IReadOnlyList<Command> built)
    {
        All = built;
        foreach (Command command in All) _byName.Add(command.FullName, command);
    }

    /// <summary>Commands and subcommands, by <see cref="Command.Index"/>.</summary>
    internal IReadOnlyList<Command> All { get; }

    internal Command? Find(string fullName) => _byName.GetValueOrDefault(fullName);
}
