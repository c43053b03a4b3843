namespace RedKite.Server.Model;

/// <summary>
/// A user's permissions, compiled from the rules: an immutable snapshot that the user's sessions read with each command. The single
/// permission check, for every caller, based on the command's row.
/// </summary>
internal sealed class Permissions
{
    private readonly PermissionSelector[] _selectors;

    /// <param name="selectors">The user's own permissions first. A request is allowed if one of them allows all of it.</param>
    internal Permissions(PermissionSelector[] selectors) => _selectors = selectors;

    /// <summary>The permissions of a user that was deleted while it was in use.</summary>
    internal static Permissions OfDeletedUser { get; } = new([]);

    /// <summary>Whether there are none at all, so that not even commands that every user may execute are allowed.</summary>
    internal bool AreGone => _selectors.Length == 0;

    /// <summary>Checks a request whose command is resolved.</summary>
    internal AccessDenial Check(scoped in CommandContext cmd)
    {
        // A connection is about to be closed; a caller in the process may log in as someone else.
        if (AreGone && cmd.Session.Connection is null && cmd.Command.Is(CommandFlags.NoAuth)) return default;
        if (!cmd.Environment.IsInUnit) cmd.Environment.UnitWork.BeginAccess();
        var worst = new AccessDenial(DenialReason.Command, 0);
        foreach (PermissionSelector selector in _selectors)
        {
            AccessDenial denial = selector.Check(cmd);
            if (!denial.IsDenied) return default;
            if (denial.Reason > worst.Reason || (denial.Reason == worst.Reason && denial.Argument > worst.Argument)) worst = denial;
        }

        return worst;
    }

    /// <summary>
    /// Whether a command of the short path is certainly allowed for its key. False means that <see cref="Check"/> has to decide: first
    /// arguments and flags that depend on arguments are not looked at here.
    /// </summary>
    internal bool AllowsShort(Command command, ReadOnlySpan<byte> key)
    {
        KeyAccess access = command.ShortAccess;
        long left = AccessPattern.ShortStepsMax;
        foreach (PermissionSelector selector in _selectors)
        {
            if (selector.Allows(command) && selector.AllowsKey(key, access, ref left)) return true;
        }

        return false;
    }

    /// <summary>Whether a request is allowed to access keys that its arguments do not name (SORT BY and GET).</summary>
    internal bool AllowsAnyKey(scoped in CommandContext cmd, KeyAccess access)
    {
        foreach (PermissionSelector selector in _selectors)
        {
            if (selector.AllowsAnyKey(cmd, access)) return true;
        }

        return false;
    }

    /// <summary>Whether a command is allowed to access a key that its arguments do not name.</summary>
    /// <param name="command">The command.</param>
    /// <param name="key">The key.</param>
    /// <param name="access">The access.</param>
    /// <param name="left">The steps that may still be taken for all keys.</param>
    internal bool AllowsKey(Command command, ReadOnlySpan<byte> key, KeyAccess access, ref long left)
    {
        foreach (PermissionSelector selector in _selectors)
        {
            if (selector.Allows(command) && selector.AllowsKey(key, access, ref left)) return true;
        }

        return false;
    }

    /// <summary>
    /// Whether a subscription may stay: some selector has its channel; a pattern of channels only literally. Called for every
    /// subscription of a user whose permissions have changed.
    /// </summary>
    /// <param name="channel">The channel, or a pattern.</param>
    /// <param name="isPattern">Whether it is a pattern.</param>
    /// <param name="left">The steps that may still be taken for all subscriptions.</param>
    internal bool AllowsChannel(ReadOnlySpan<byte> channel, bool isPattern, ref long left)
    {
        foreach (PermissionSelector selector in _selectors)
        {
            if (selector.AllowsChannel(channel, isPattern, ref left)) return true;
        }

        return false;
    }
}
