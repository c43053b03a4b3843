using RedKite.Server.Model;

namespace RedKite.Server.Acl;

/// <summary>The error texts of denials, in Redis's words.</summary>
internal static class DenialText
{
    /// <summary>The error of a command that its client's user may not execute.</summary>
    /// <param name="cmd">The request.</param>
    /// <param name="denial">What is denied.</param>
    /// <param name="context">Where the request comes from.</param>
    /// <param name="isQueued">Whether it was queued, and the permission for it was lost since.</param>
    internal static string Of(scoped in CommandContext cmd, AccessDenial denial, DenialContext context, bool isQueued) => context switch
    {
        DenialContext.Script => "ERR ACL failure in script: " + Of(cmd.Session.User, cmd, denial, withNames: false),
        _ when isQueued => OfQueued(denial),
        _ => "NOPERM " + Of(cmd.Session.User, cmd, denial, withNames: false),
    };

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

    private static string OfQueued(AccessDenial denial) =>
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: " + denial.Reason switch
        {
            DenialReason.Command => "no permission to execute the command or subcommand",
            DenialReason.Key => "no permission to touch the specified keys",
            DenialReason.Channel => "no permission to access one of the channels used as arguments",
            _ => "no permission",
        };
}
