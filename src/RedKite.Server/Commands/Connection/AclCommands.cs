using System.Security.Cryptography;
using System.Text;
using RedKite.Server.Acl;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Connection;

/// <summary>ACL, which has a single user. The table is the single declaration of its subcommands and this file's contents.</summary>
internal static class AclCommands
{
    private const CommandFlags Usual = NoScript | Loading | Stale;
    private const string PerUser = "O(N). Where N is the number of configured users.";

    internal static readonly CommandFamily Family = new("server", "",
    [
        new("ACL", -2, None, KeySpecs.None, WithoutSubcommand, new("6.0.0", "Depends on subcommand.", "A container for commands on users."),
        [
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("6.0.0", "O(1)", "Lists the subcommands.")),
            new("LIST", 2, Admin | Usual, KeySpecs.None, List, new("6.0.0", PerUser, "Returns the rules of every user.")),
            new("USERS", 2, Admin | Usual, KeySpecs.None, Users, new("6.0.0", PerUser, "Returns the names of all users.")),
            new("WHOAMI", 2, Usual, KeySpecs.None, WhoAmI, new("6.0.0", "O(1)", "Returns the name of the connection's user.")),
        ]),
    ]);

    // Never executed: ACL alone has too few arguments, and every other form names a subcommand.
    private static void WithoutSubcommand(ref CommandContext cmd) => cmd.ReplySyntaxError();

    // ACL HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd.Reply,
        "ACL",
        "LIST",
        "    Return the rules of every user.",
        "USERS",
        "    Return the names of all users.",
        "WHOAMI",
        "    Return the name of this connection's user.");

    // ACL LIST
    private static void List(ref CommandContext cmd)
    {
        string password = cmd.Settings.RequirePass;
        string rules = password.Length == 0
            ? "nopass sanitize-payload"
            : "sanitize-payload #" + Convert.ToHexStringLower(SHA256.HashData(Encoding.Latin1.GetBytes(password)));
        cmd.Reply.Array(1);
        cmd.Reply.Bulk($"user {DefaultUser.Name} on {rules} ~* &* +@all");
    }

    // ACL USERS
    private static void Users(ref CommandContext cmd)
    {
        cmd.Reply.Array(1);
        cmd.Reply.Bulk(DefaultUser.Name);
    }

    // ACL WHOAMI
    private static void WhoAmI(ref CommandContext cmd) => cmd.Reply.Bulk(cmd.Session.User);
}
