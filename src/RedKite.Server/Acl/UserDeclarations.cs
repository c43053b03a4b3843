using RedKite.Server.Config;

namespace RedKite.Server.Acl;

/// <summary>The users that a starting server has: those of redis.conf's `user` lines, or of the file that `aclfile` names.</summary>
internal static class UserDeclarations
{
    /// <exception cref="RedKiteConfigException">A declaration is wrong; nothing may be served with half of the rules.</exception>
    internal static void Apply(Configuration configuration, UserRegistry users)
    {
        var file = new AclFile(users, configuration.Settings);
        if (file.IsConfigured)
        {
            if (configuration.DeclaredUsers.Count > 0) throw new RedKiteConfigException($"{configuration.DeclaredUsers[0].Where}: user: with aclfile, users can only be declared in that file");
            if (file.Load() is { } errors) throw new RedKiteConfigException("aclfile: " + errors);
            return;
        }

        configuration.UserLines = () => [.. users.All.Select(rules => "user " + string.Join(' ', rules.Describe().Split(' ').Select(Quoted)))];
        List<UserRules> all = [];
        foreach (DeclaredUser declared in configuration.DeclaredUsers)
        {
            string where = $"{declared.Where}: user {ConfigLine.Show(declared.Name)}";
            if (RuleError.HasSpaceOrZero(declared.Name)) throw new RedKiteConfigException($"{where}: the name has a space");
            if (all.Exists(rules => rules.Name == declared.Name)) throw new RedKiteConfigException($"{where}: {RuleError.Duplicate}");
            UserRules user = users.NewRules(declared.Name);
            if (!UserRules.MergeSelectors(declared.Rules, out List<string> rules, out _)) throw new RedKiteConfigException($"{where}: {RuleError.WrongFormat}");
            if (user.Apply(rules, out string failed) is { } error) throw new RedKiteConfigException($"{where}: {Shown(failed)}: {error}");
            all.Add(user);
        }

        users.Declare(all);
    }

    // Words have no spaces. Whatever else has a meaning to the file's reader is quoted, so that the rules are read back unchanged.
    private static string Quoted(string word) =>
        word.Length > 0 && word.AsSpan().IndexOfAnyExceptInRange('!', '~') < 0 && word.AsSpan().IndexOfAny('"', '\'', '\\') < 0 ? word : ConfigLine.Quote(word);

    // A message must not have a password.
    private static string Shown(string rule) => rule.Length > 0 && rule[0] is '>' or '<' ? "a password" : ConfigLine.Show(rule);
}
