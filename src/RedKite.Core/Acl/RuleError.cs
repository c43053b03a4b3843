using System.Buffers;

namespace RedKite.Server.Acl;

/// <summary>The errors in rules, in Redis's words.</summary>
internal static class RuleError
{
    internal const string Syntax = "Syntax error";
    internal const string UnknownCommand = "Unknown command or category name in ACL";
    internal const string KeysComplete = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns";
    internal const string ChannelsComplete = "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels";
    internal const string NoSuchPassword = "The password you are trying to remove from the user does not exist";
    internal const string BadHash = "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters";
    internal const string FirstArgumentOfSubcommand = "Allowing first-arg of a subcommand is not supported";
    internal const string Duplicate = "Duplicate user found. A user can only be defined once in config files";
    internal const string WrongFormat = "Wrong format";

    private static readonly SearchValues<char> SpacesAndZero = SearchValues.Create(" \t\n\v\f\r\0");

    /// <summary>Whether a name or pattern contains a character that would split it when rules are written.</summary>
    internal static bool HasSpaceOrZero(string text) => text.AsSpan().IndexOfAny(SpacesAndZero) >= 0;
}
