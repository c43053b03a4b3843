namespace RedKite.Scripting;

/// <summary>What redis.acl_check_cmd finds out about a command.</summary>
internal enum CommandPermission
{
    /// <summary>There is no such command.</summary>
    NoCommand,

    /// <summary>The command does not take that many arguments.</summary>
    WrongArguments,

    /// <summary>The script's user may not execute it.</summary>
    Denied,

    /// <summary>The script's user may execute it.</summary>
    Allowed,
}
