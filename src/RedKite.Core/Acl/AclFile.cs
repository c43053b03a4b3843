using System.Globalization;
using RedKite.Persistence.Files;
using RedKite.Server.Config;

namespace RedKite.Server.Acl;

/// <summary>
/// The file of users that `aclfile` names: one line for each, `user` with name and rules. Loading replaces all users, or none if
/// a line is wrong. Saving replaces the file by a rename, so that a crash leaves the old or the new one.
/// </summary>
internal sealed class AclFile(UserRegistry users, Settings settings)
{
    private const string NothingChanged = "WARNING: ACL errors detected, no change to the previously active ACL rules was performed";

    internal bool IsConfigured => settings.AclFilePath.Length > 0;

    private string FilePath => Path.Combine(settings.DirectoryPath, settings.AclFilePath);

    /// <summary>Returns null, or what is wrong.</summary>
    internal string? Load()
    {
        byte[] bytes;
        try
        {
            bytes = File.ReadAllBytes(FilePath);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or ArgumentException)
        {
            string reason = FileFailure.ReasonOf(failure);
            return $"Error loading ACLs, opening file '{settings.AclFilePath}': {reason}";
        }

        List<UserRules> all = [];
        List<string> errors = [];
        string[] lines = ConfigFile.SplitLines(bytes);
        for (int i = 0; i < lines.Length; i++) Read(lines[i].Trim(' ', '\t', '\r', '\n'), i + 1, all, errors);
        if (errors.Count > 0) return string.Join(' ', [.. errors, NothingChanged]);
        users.ReplaceAll(all);
        return null;
    }

    /// <summary>Returns whether it succeeded.</summary>
    internal bool Save()
    {
        string temporary = $"{FilePath}.{Environment.ProcessId}-{Guid.NewGuid():n}.tmp";
        try
        {
            string text = string.Concat(users.All.Select(rules => $"user {rules.Describe()}\n"));
            ConfigRewriter.WriteThrough(temporary, FilePath, SettingText.ToBytes(text));
            File.Move(temporary, FilePath, overwrite: true);
            return true;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            File.Delete(temporary);
            return false;
        }
    }

    private void Read(string line, int number, List<UserRules> all, List<string> errors)
    {
        if (line.Length == 0) return;
        string where = string.Create(CultureInfo.InvariantCulture, $"{settings.AclFilePath}:{number}");
        string[] words = line.Split(' ');
        if (words[0] != "user" || words.Length < 2)
        {
            errors.Add($"{where} should start with user keyword followed by the username.");
            return;
        }

        string name = words[1];
        if (RuleError.HasSpaceOrZero(name))
        {
            errors.Add($"'{where}: username '{UserRegistry.Shown(name)}' contains invalid characters.");
            return;
        }

        if (all.Exists(rules => rules.Name == name))
        {
            errors.Add(string.Create(CultureInfo.InvariantCulture, $"WARNING: Duplicate user '{UserRegistry.Shown(name)}' found on line {number}."));
            return;
        }

        UserRules user = users.NewRules(name);
        all.Add(user);
        if (!UserRules.MergeSelectors([.. words[2..].Where(word => word.Length > 0)], out List<string> rules, out _)) errors.Add($"{where}: Unmatched parentheses in selector definition.");
        else if (user.Apply(rules, out string failed) is { } error) errors.Add($"{where}: Error in applying operation '{UserRegistry.Shown(failed)}': {error}.");
    }
}
