using RedKite.Server.Model;

namespace RedKite.Server.Acl;

/// <summary>The error texts of denials, in Redis's words.</summary>
internal static class DenialText
{
    /// <param name="user">The user that is denied.</param>
    /// <param name="cmd">The request.</param>
    /// <param name="denial">What is denied.</param>
    /// <param name="withNames">Whether keys and channels are named: by ACL DRYRUN only.</param>
    internal static string Of(User user, scoped in CommandContext cmd, AccessDenial denial, bool withNames) => denial.Reason switch
    {
        DenialReason.Command => $"User {user.Name} has no permissions to run the '{cmd.Command.FullName}' command",
        DenialReason.Key when withNames => $"User {user.Name} has no permissions to access the '{cmd.ShownText(denial.Argument)}' key",
        DenialReason.Key => "No permissions to access a key",
        _ when withNames => $"User {user.Name} has no permissions to access the '{cmd.ShownText(denial.Argument)}' channel",
        _ => "No permissions to access a channel",
    };

    /// <summary>The error of a queued command whose user has lost the permission for it.</summary>
    internal static string InTransaction(AccessDenial denial) =>
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: " + denial.Reason switch
        {
            DenialReason.Command => "no permission to execute the command or subcommand",
            DenialReason.Key => "no permission to touch the specified keys",
            DenialReason.Channel => "no permission to access one of the channels used as arguments",
            _ => "no permission",
        };
}
