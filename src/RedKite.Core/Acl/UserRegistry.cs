using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Acl;

/// <summary>
/// The users of one server. Each has rules, which commands change as a whole under one lock, and a <see cref="User"/>, which
/// sessions refer to and which always has the latest snapshot of what the rules permit.
/// </summary>
internal sealed class UserRegistry
{
    private const int WordsBeyondRulesMax = 1024;
    private const int WordBytesBeyondRulesMax = 1 << 20;

    private readonly Settings _settings;
    private readonly Lock _changing = new();
    private SortedDictionary<string, Entry> _users = new(StringComparer.Ordinal);
    private RuleCommands _commands = null!;
    private volatile bool _allowsAnonymous;
    private volatile bool _defaultNeedsNoPassword;

    private readonly LimitCounts _limits;
    private readonly KeptMemory _kept;

    internal UserRegistry(Settings settings, LimitCounts limits, KeptMemory kept, ClientText describeClient)
    {
        _kept = kept;
        _settings = settings;
        _limits = limits;
        Log = new AclLog(settings, limits, kept, describeClient);
        FailedLogins = new FailedLogins(settings, limits);
    }

    /// <summary>The user of clients that have not logged in, and of AUTH without a name. It cannot be removed.</summary>
    internal User Default { get; } = new(User.DefaultName);

    /// <summary>The user of callers in the process until they log in as another one: it has the default user's name and may do everything.</summary>
    internal User InProcess { get; } = new(User.DefaultName);

    internal AclLog Log { get; }

    internal FailedLogins FailedLogins { get; }

    /// <summary>Whether clients need not log in: the default user is on and needs no password.</summary>
    internal bool AllowsAnonymous => _allowsAnonymous;

    /// <summary>Whether any password is the default user's.</summary>
    internal bool DefaultNeedsNoPassword => _defaultNeedsNoPassword;

    /// <summary>Raised when a user's permissions have changed: after the change is visible, before the command that made it replies.</summary>
    internal event Action<User>? Changed;

    /// <summary>Raised when a user was removed: its clients are to be closed.</summary>
    internal event Action<User>? Deleted;

    /// <summary>The rules of all users, by name.</summary>
    internal IReadOnlyList<UserRules> All
    {
        get
        {
            lock (_changing) return [.. _users.Values.Select(entry => entry.Rules)];
        }
    }

    internal UserFigures Figures
    {
        get
        {
            lock (_changing) return new UserFigures(_users.Count, _users.Values.Count(entry => entry.User != Default && entry.Rules is { IsOn: true, NeedsNoPassword: true }), AllowsAnonymous, FailedLogins.Refused);
        }
    }

    /// <summary>The commands that rules know.</summary>
    internal RuleCommands Commands => _commands;

    /// <summary>Creates the default user. Once, when the commands are known.</summary>
    internal void UseCommands(CommandTable commands)
    {
        _commands = new RuleCommands(commands.All);
        UserRules rules = NewDefault();
        if (_settings.RequirePass.Length > 0) rules.Apply(">" + _settings.RequirePass);
        lock (_changing) Publish(Default, rules);
    }

    /// <summary>The rules of a user; null: there is no such user.</summary>
    internal UserRules? Find(string name)
    {
        lock (_changing) return _users.TryGetValue(name, out Entry? entry) ? entry.Rules : null;
    }

    /// <summary>The user with a name; null: there is none.</summary>
    internal User? FindUser(string name)
    {
        lock (_changing) return _users.TryGetValue(name, out Entry? entry) ? entry.User : null;
    }

    /// <summary>The user with a name and password; null: there is none, it is off, or the password is wrong.</summary>
    internal User? Authenticate(string name, ReadOnlySpan<byte> password)
    {
        Entry? entry;
        lock (_changing) _users.TryGetValue(name, out entry);

        // The hash is computed in any case, so that the time does not reveal whether a user exists.
        bool isRight = PasswordHash.IsOneOf(entry is not null ? entry.Rules.Passwords : [], password);
        return entry is { Rules.IsOn: true } && (isRight || entry.Rules.NeedsNoPassword) ? entry.User : null;
    }

    /// <summary>Logs a failed login that was no command. The caller counts it.</summary>
    /// <param name="client">What ACL LOG shows as the client.</param>
    /// <param name="address">Where it came from.</param>
    /// <param name="what">What was logged in to.</param>
    internal void NoteFailedLogin(string client, string address, ReadOnlySpan<byte> what, string userName, ServerClock clock)
    {
        FailedLogins.Note(address, clock.SteadyMs);
        Log.Add(client, DenialReason.Authentication, DenialContext.TopLevel, what, userName, clock.NowMs);
    }

    /// <summary>Counts and logs that a request was denied.</summary>
    internal void NoteDenied(scoped in CommandContext cmd, AccessDenial denial, DenialContext context)
    {
        switch (denial.Reason)
        {
            case DenialReason.Command:
                cmd.Metrics.CountDeniedCommand();
                Log.Add(cmd, denial.Reason, context, System.Text.Encoding.Latin1.GetBytes(cmd.Command.FullName), cmd.Session.User.Name);
                break;
            case DenialReason.Key:
                cmd.Metrics.CountDeniedKey();
                Log.Add(cmd, denial.Reason, context, cmd[denial.Argument], cmd.Session.User.Name);
                break;
            case DenialReason.Channel:
                cmd.Metrics.CountDeniedChannel();
                Log.Add(cmd, denial.Reason, context, cmd[denial.Argument], cmd.Session.User.Name);
                break;
        }
    }

    /// <summary>Creates or changes a user (ACL SETUSER): applies all rules or none.</summary>
    /// <returns>Null, or the error text without "ERR ".</returns>
    internal string? Set(string name, IReadOnlyList<string> words)
    {
        if (!UserRules.MergeSelectors(words, out List<string> rules, out string unmatched)) return $"Unmatched parenthesis in acl selector starting at '{Shown(unmatched)}'.";
        User user;
        lock (_changing)
        {
            _users.TryGetValue(name, out Entry? entry);
            UserRules changed = entry is not null ? entry.Rules.Clone() : new UserRules(name, _commands, _settings);
            if (changed.Apply(rules, out string failed) is { } error) return $"Error in ACL SETUSER modifier '{Shown(failed)}': {error}";
            if (Excess(entry is not null, changed) is { } excess) return excess;
            user = entry is not null ? entry.User : new User(name);
            Publish(user, changed);
        }

        Changed?.Invoke(user);
        return null;
    }

    /// <summary>Removes a user other than the default one (ACL DELUSER).</summary>
    internal bool Delete(string name)
    {
        Entry? entry;
        lock (_changing)
        {
            if (!_users.Remove(name, out entry)) return false;
            _kept.Add(Kept.Users, -entry.KeptBytes);
            entry.User.Permissions = Permissions.OfDeletedUser;
        }

        Changed?.Invoke(entry.User);
        Deleted?.Invoke(entry.User);
        return true;
    }

    /// <summary>Applies a changed requirepass: it becomes the default user's only password; if it is empty, the user needs none.</summary>
    internal void SetDefaultPassword(string password)
    {
        lock (_changing)
        {
            UserRules rules = _users[User.DefaultName].Rules.Clone();
            rules.Apply("resetpass");
            rules.Apply(password.Length > 0 ? ">" + password : "nopass");
            Publish(Default, rules);
        }
    }

    /// <summary>Replaces all users. The default user, if it is not among them, gets the rules of a new server.</summary>
    internal void ReplaceAll(IReadOnlyList<UserRules> all)
    {
        List<User> changed = [];
        List<User> gone = [];
        lock (_changing)
        {
            SortedDictionary<string, Entry> old = _users;
            _users = new(StringComparer.Ordinal);
            foreach (Entry entry in old.Values) _kept.Add(Kept.Users, -entry.KeptBytes);
            if (!all.Any(rules => rules.Name == User.DefaultName)) Publish(Default, NewDefault());
            foreach (UserRules rules in all)
            {
                User user = rules.Name == User.DefaultName ? Default : old.TryGetValue(rules.Name, out Entry? entry) ? entry.User : new User(rules.Name);
                Publish(user, rules);
            }

            foreach ((string name, (User user, _)) in old)
            {
                changed.Add(user);
                if (_users.ContainsKey(name)) continue;
                user.Permissions = Permissions.OfDeletedUser;
                gone.Add(user);
            }
        }

        foreach (User user in changed) Changed?.Invoke(user);
        foreach (User user in gone) Deleted?.Invoke(user);
    }

    /// <summary>Adds the users that a starting server has. The default user stays unless it is one of them.</summary>
    internal void Declare(IReadOnlyList<UserRules> all)
    {
        lock (_changing)
        {
            foreach (UserRules rules in all) Publish(rules.Name == User.DefaultName ? Default : new User(rules.Name), rules);
        }
    }

    /// <summary>The rules of a user that is being declared.</summary>
    internal UserRules NewRules(string name) => new(name, _commands, _settings);

    /// <summary>A rule or name as messages show it: a zero byte ends it.</summary>
    internal static string Shown(string text) => SettingText.UpToZero(text);

    private UserRules NewDefault()
    {
        UserRules rules = NewRules(User.DefaultName);
        rules.Apply(["on", "nopass", "allkeys", "allchannels", "allcommands"], out _);
        return rules;
    }

    /// <summary>
    /// Why the words of an ACL SETUSER are not even read; null: they are. Each is compared with the rules before it, and they are kept as text while they are applied,
    /// so there may be few more than a user may have rules: for those that change or remove others, and for passwords.
    /// </summary>
    internal string? ExcessOfWords(int words, long bytes)
    {
        if (words > _settings.RulesPerUserMax + (long)WordsBeyondRulesMax) return TooManyRules();
        return bytes > Math.Min(_settings.RuleBytesPerUserMax, long.MaxValue / 2) + WordBytesBeyondRulesMax ? RulesTooLong() : null;
    }

    // Users that the file or redis.conf declares are not counted: they are the administrator's own.
    private string? Excess(bool exists, UserRules changed)
    {
        if (!exists && _users.Count >= _settings.UsersMax)
        {
            _limits.Note(Limit.Users);
            return $"too many users, max-acl-users is {_settings.UsersMax}";
        }

        if (changed.Count > _settings.RulesPerUserMax) return TooManyRules();
        return changed.TextBytes > _settings.RuleBytesPerUserMax ? RulesTooLong() : null;
    }

    private string TooManyRules()
    {
        _limits.Note(Limit.RulesPerUser);
        return $"too many rules, max-acl-rules-per-user is {_settings.RulesPerUserMax}";
    }

    private string RulesTooLong()
    {
        _limits.Note(Limit.RuleBytesPerUser);
        return $"the user's name and rules are too long, max-acl-rule-bytes-per-user is {_settings.RuleBytesPerUserMax}";
    }

    // Under the lock.
    private void Publish(User user, UserRules rules)
    {
        if (_users.TryGetValue(user.Name, out Entry? before)) _kept.Add(Kept.Users, -before.KeptBytes);
        var entry = new Entry(user, rules);
        _users[user.Name] = entry;
        _kept.Add(Kept.Users, entry.KeptBytes);
        user.Permissions = rules.Compile();
        if (user != Default) return;
        _defaultNeedsNoPassword = rules.NeedsNoPassword;
        _allowsAnonymous = rules.IsOn && rules.NeedsNoPassword;
    }

    private sealed record Entry(User User, UserRules Rules)
    {
        internal long KeptBytes { get; } = Rules.KeptBytes;
    }
}
