using System.Text;
using RedKite.Server.Config;
using RedKite.Server.Model;

namespace RedKite.Server.Acl;

/// <summary>
/// A user's rules: state, passwords, own permissions and selectors. Rules are applied to a copy, which replaces
/// the published one if all of them are valid.
/// </summary>
internal sealed class UserRules
{
    // Measured: a user with its place among the others, a selector with the commands that it allows, a rule in its lists, and a hash in hexadecimal.
    private const int UserBytes = 700;
    private const int SelectorBytes = 700;
    private const int RuleBytes = 100;
    private const int PasswordBytes = 160;

    private readonly RuleCommands _commands;
    private readonly Settings _settings;
    private readonly List<string> _passwords = [];
    private readonly List<SelectorRules> _selectors = [];
    private SelectorRules _own;

    /// <summary>A new user: off, without password, and without permissions, except for channels if acl-pubsub-default says so.</summary>
    internal UserRules(string name, RuleCommands commands, Settings settings)
    {
        Name = name;
        _commands = commands;
        _settings = settings;
        _own = NewSelector();
    }

    internal string Name { get; }

    internal bool IsOn { get; private set; }

    /// <summary>Whether any password is right.</summary>
    internal bool NeedsNoPassword { get; private set; }

    /// <summary>Payloads of RESTORE are checked in any case; the rule is kept and shown.</summary>
    internal bool SkipsSanitizing { get; private set; }

    /// <summary>Hashes in hexadecimal.</summary>
    internal IReadOnlyList<string> Passwords => _passwords;

    /// <summary>The user's own permissions.</summary>
    internal SelectorRules Own => _own;

    /// <summary>The number of passwords, patterns and rules for commands.</summary>
    internal int Count => _passwords.Count + _own.Count + _selectors.Sum(selector => selector.Count);

    /// <summary>The length of the name, the patterns and the rules for commands.</summary>
    internal long TextBytes => Name.Length + _own.TextBytes + _selectors.Sum(selector => selector.TextBytes);

    /// <summary>Memory of the user: the rules as they are declared, whose characters have two bytes, and as requests are checked by them.</summary>
    internal long KeptBytes => UserBytes + (SelectorBytes * (1L + _selectors.Count)) + ((long)RuleBytes * Count) + (3 * TextBytes) + (PasswordBytes * (long)_passwords.Count);

    /// <summary>The further selectors.</summary>
    internal IReadOnlyList<SelectorRules> Selectors => _selectors;

    /// <summary>The user's permissions; null: everything is allowed.</summary>
    internal Permissions? Compile() => _own.AllowsAll || _selectors.Exists(selector => selector.AllowsAll)
        ? null
        : new Permissions([_own.Compile(), .. _selectors.Select(selector => selector.Compile())]);

    internal UserRules Clone()
    {
        var copy = new UserRules(Name, _commands, _settings) { IsOn = IsOn, NeedsNoPassword = NeedsNoPassword, SkipsSanitizing = SkipsSanitizing };
        copy._passwords.AddRange(_passwords);
        copy._own = _own.Clone();
        copy._selectors.AddRange(_selectors); // never changed, only replaced
        return copy;
    }

    /// <summary>Applies all rules up to the first that is wrong.</summary>
    /// <param name="rules">Rules with whole selectors; see <see cref="MergeSelectors"/>.</param>
    /// <param name="failed">The rule that is wrong.</param>
    /// <returns>Null, or what is wrong.</returns>
    internal string? Apply(IEnumerable<string> rules, out string failed)
    {
        failed = "";
        foreach (string rule in rules)
        {
            failed = rule;
            if (Apply(rule) is { } error) return error;
        }

        return null;
    }

    /// <summary>Applies one rule.</summary>
    /// <returns>Null, or what is wrong.</returns>
    internal string? Apply(string rule)
    {
        if (rule.Length == 0) return null; // as in Redis
        if (Is(rule, "on")) IsOn = true;
        else if (Is(rule, "off")) IsOn = false;
        else if (Is(rule, "nopass")) SetNoPassword(true);
        else if (Is(rule, "resetpass")) SetNoPassword(false);
        else if (Is(rule, "sanitize-payload")) SkipsSanitizing = false;
        else if (Is(rule, "skip-sanitize-payload")) SkipsSanitizing = true;
        else if (Is(rule, "clearselectors")) _selectors.Clear();
        else if (Is(rule, "reset")) Reset();
        else if (rule.StartsWith('>')) AddPassword(PasswordHash.Of(SettingText.ToBytes(rule[1..])));
        else if (rule.StartsWith('<')) return RemovePassword(PasswordHash.Of(SettingText.ToBytes(rule[1..])));
        else if (rule.StartsWith('#') || rule.StartsWith('!')) return ApplyHash(rule);
        else if (rule.StartsWith('(') && rule.EndsWith(')')) return AddSelector(rule[1..^1]);
        else return _own.Apply(rule);
        return null;
    }

    /// <summary>The user's line in ACL LIST, the file and redis.conf, without its first word.</summary>
    internal string Describe()
    {
        var text = new StringBuilder(Name).Append(' ').AppendJoin(' ', Flags).Append(' ');
        foreach (string password in _passwords) text.Append('#').Append(password).Append(' ');
        _own.Append(text);
        foreach (SelectorRules selector in _selectors)
        {
            text.Append(" (");
            selector.Append(text);
            text.Append(')');
        }

        return text.ToString();
    }

    /// <summary>The user's state in words.</summary>
    internal IReadOnlyList<string> Flags => [IsOn ? "on" : "off", .. NeedsNoPassword ? ["nopass"] : (string[])[], SkipsSanitizing ? "skip-sanitize-payload" : "sanitize-payload"];

    /// <summary>Joins the words of each selector in parentheses to one rule.</summary>
    /// <param name="words">The rules' words.</param>
    /// <param name="unmatched">On false, the word that opens a parenthesis which is not closed.</param>
    /// <param name="rules">The rules.</param>
    internal static bool MergeSelectors(IReadOnlyList<string> words, out List<string> rules, out string unmatched)
    {
        rules = [];
        unmatched = "";
        StringBuilder? open = null;
        foreach (string word in words)
        {
            if (open is not null)
            {
                open.Append(' ').Append(word);
                if (!word.EndsWith(')')) continue;
                rules.Add(open.ToString());
                open = null;
            }
            else if (word.StartsWith('(') && !word.EndsWith(')'))
            {
                open = new StringBuilder(word);
                unmatched = word;
            }
            else
            {
                rules.Add(word);
            }
        }

        return open is null;
    }

    private static bool Is(string rule, string word) => rule.Equals(word, StringComparison.OrdinalIgnoreCase);

    private SelectorRules NewSelector() => new(_commands, _settings.AclAllowsChannelsByDefault);

    private void Reset()
    {
        SetNoPassword(false);
        IsOn = false;
        SkipsSanitizing = false;
        _selectors.Clear();
        _own = NewSelector();
    }

    private void SetNoPassword(bool needsNone)
    {
        _passwords.Clear();
        NeedsNoPassword = needsNone;
    }

    private string? ApplyHash(string rule)
    {
        string hash = rule[1..];
        if (!PasswordHash.IsValid(hash)) return RuleError.BadHash;
        if (rule[0] == '!') return RemovePassword(hash);
        AddPassword(hash);
        return null;
    }

    private void AddPassword(string hash)
    {
        if (!_passwords.Contains(hash)) _passwords.Add(hash);
        NeedsNoPassword = false;
    }

    private string? RemovePassword(string hash) => _passwords.Remove(hash) ? null : RuleError.NoSuchPassword;

    private string? AddSelector(string rules)
    {
        SelectorRules selector = NewSelector();
        foreach (string rule in rules.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            if (selector.Apply(rule) is { } error) return error;
        }

        _selectors.Add(selector);
        return null;
    }
}
