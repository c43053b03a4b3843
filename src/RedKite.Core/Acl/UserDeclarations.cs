using RedKite.Server.Config;

namespace RedKite.Server.Acl;

/// <summary>The users that a starting server has: those of redis.conf's `user` lines, or of the file that `aclfile` names.</summary>
internal static class UserDeclarations
{
    /// <exception cref="RedKiteConfigException">Declarations are wrong, each of them a fault; nothing may be served with half of the rules.</exception>
    internal static void Apply(Configuration configuration, UserRegistry users)
    {
        var file = new AclFile(users, configuration.Settings);
        if (file.IsConfigured)
        {
            if (configuration.DeclaredUsers.Count > 0) throw new RedKiteConfigException($"{configuration.DeclaredUsers[0].Where}: user: with aclfile, users can only be declared in that file");
            if (file.Load() is { } errors) throw new RedKiteConfigException("aclfile: " + errors);
            return;
        }

        List<UserRules> all = [];
        List<string> faults = [];
        foreach (DeclaredUser declared in configuration.DeclaredUsers)
        {
            UserRules user = users.NewRules(declared.Name);
            if (FaultOf(declared, user, all) is { } fault) faults.Add($"{declared.Where}: user {ConfigLine.Show(declared.Name)}: {fault}");
            all.Add(user);
        }

        if (faults.Count > 0) throw new RedKiteConfigException(faults);
        users.Declare(all);
    }

    /// <summary>The lines of redis.conf that declare the users of now; null: they belong in the file that `aclfile` names.</summary>
    internal static IReadOnlyList<string>? LinesOf(Configuration configuration, UserRegistry users) =>
        new AclFile(users, configuration.Settings).IsConfigured ? null : [.. users.All.Select(rules => "user " + string.Join(' ', rules.Describe().Split(' ').Select(Quoted)))];

    private static string? FaultOf(DeclaredUser declared, UserRules user, List<UserRules> earlier)
    {
        if (RuleError.HasSpaceOrZero(declared.Name)) return "the name has a space";
        if (earlier.Exists(rules => rules.Name == declared.Name)) return RuleError.Duplicate;
        if (!UserRules.MergeSelectors(declared.Rules, out List<string> rules, out _)) return RuleError.WrongFormat;
        return user.Apply(rules, out string failed) is { } error ? $"{Shown(failed)}: {error}" : null;
    }

    // Words have no spaces. Whatever else has a meaning to the file's reader is quoted, so that the rules are read back unchanged.
    private static string Quoted(string word) =>
        word.Length > 0 && word.AsSpan().IndexOfAnyExceptInRange('!', '~') < 0 && word.AsSpan().IndexOfAny('"', '\'', '\\') < 0 ? word : ConfigLine.Quote(word);

    // A message must not have a password.
    private static string Shown(string rule) => rule.Length > 0 && rule[0] is '>' or '<' ? "a password" : ConfigLine.Show(rule);
}
