using System.Security.Cryptography;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Acl;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Connection;

/// <summary>ACL: users and what they may do. The table is the single declaration of its subcommands and this file's contents.</summary>
internal sealed class AclCommands
{
    private const CommandFlags Usual = NoScript | Loading | Stale;
    private const string PerUser = "O(N). Where N is the number of configured users.";
    private const int PasswordBits = 256;
    private const int PasswordBitsMax = 4096;

    private readonly UserRegistry _users;
    private readonly AclFile _file;

    internal AclCommands(ServerCore core)
    {
        _users = core.Users;
        _file = new AclFile(core.Users, core.Settings);
        Family = NewFamily();
    }

    internal CommandFamily Family { get; }

    private CommandFamily NewFamily() => new("server", "",
    [
        new("ACL", -2, None, KeySpecs.None, WithoutSubcommand, new("6.0.0", "Depends on subcommand.", "A container for commands on users."),
        [
            new("CAT", -2, Usual, KeySpecs.None, ListCategory, new("6.0.0", "O(1) since the categories and commands are a fixed set.", "Lists the categories, or the commands of one.", "[category]")),
            new("DELUSER", -3, Admin | Usual, KeySpecs.None, DeleteUsers, new("6.0.0", "O(1) amortized time considering the typical user.", "Deletes users and closes their connections.", "username [username ...]")) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
            new("DRYRUN", -4, Admin | Usual, KeySpecs.None, DryRun, new("7.0.0", "O(1).", "Tells whether a user may execute a command, without executing it.", "username command [arg [arg ...]]")),
            new("GENPASS", -2, Usual, KeySpecs.None, GeneratePassword, new("6.0.0", "O(1)", "Generates a random password in hexadecimal.", "[bits:integer]")),
            new("GETUSER", 3, Admin | Usual, KeySpecs.None, GetUser, new("6.0.0", "O(N). Where N is the number of password, command and pattern rules that the user has.", "Returns the rules of a user.", "username") { History = [("6.2.0", "Returns channels."), ("7.0.0", "Returns selectors, and keys and channels as rules.")] }),
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("6.0.0", "O(1)", "Lists the subcommands.")),
            new("LIST", 2, Admin | Usual, KeySpecs.None, List, new("6.0.0", PerUser, "Returns the rules of every user.")),
            new("LOAD", 2, Admin | Usual, KeySpecs.None, Load, new("6.0.0", PerUser, "Replaces all users by those of the file.")),
            new("LOG", -2, Admin | Usual, KeySpecs.None, ShowLog, new("6.0.0", "O(N) with N being the number of entries shown.", "Lists what users were denied, or forgets it.", "operation:[count:integer | RESET]") { History = [("7.2.0", "Returns the entry's id and times.")] }),
            new("SAVE", 2, Admin | Usual, KeySpecs.None, Save, new("6.0.0", PerUser, "Writes all users to the file.")) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
            new("SETUSER", -3, Admin | Usual, KeySpecs.None, SetUser, new("6.0.0", "O(N). Where N is the number of rules provided.", "Creates a user or changes its rules.", "username [rule [rule ...]]") { History = [("6.2.0", "Channels."), ("7.0.0", "Selectors, and keys to read or to write only.")] }) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
            new("USERS", 2, Admin | Usual, KeySpecs.None, Users, new("6.0.0", PerUser, "Returns the names of all users.")),
            new("WHOAMI", 2, Usual, KeySpecs.None, WhoAmI, new("6.0.0", "O(1)", "Returns the name of the connection's user.")),
        ]),
    ]);

    // Never executed: ACL alone has too few arguments, and every other form names a subcommand.
    private static void WithoutSubcommand(ref CommandContext cmd) => cmd.ReplySyntaxError();

    // ACL CAT [category]
    private void ListCategory(ref CommandContext cmd)
    {
        if (cmd.Count == 2)
        {
            cmd.Reply.Array(AclCategories.Names.Length);
            foreach ((_, string name) in AclCategories.Names) cmd.Reply.Bulk(name);
            return;
        }

        if (cmd.Count > 3)
        {
            ReplyWrongForm(cmd);
            return;
        }

        AclCategory category = AclCategories.Find(cmd[2]);
        if (category == AclCategory.None)
        {
            cmd.Reply.Error($"ERR Unknown category '{cmd.ShownText(2)}'");
            return;
        }

        Command[] found = [.. _users.Commands.All.Where(command => (command.AllCategories & category) != 0)];
        cmd.Reply.Array(found.Length);
        foreach (Command command in found) cmd.Reply.Bulk(command.FullName);
    }

    // ACL DELUSER username [username ...]
    private void DeleteUsers(ref CommandContext cmd)
    {
        for (int i = 2; i < cmd.Count; i++) cmd.Arguments.Redact(i);
        int deleted = 0;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (cmd[i].SequenceEqual("default"u8))
            {
                cmd.Reply.Error("ERR The 'default' user cannot be removed"u8);
                return;
            }

            if (!_users.Delete(cmd.Text(i))) continue;
            deleted++;
        }

        // The caller gets its reply first.
        if (cmd.Session.User.Permissions is { AreGone: true }) cmd.Session.CloseAfterReply();
        cmd.Reply.Integer(deleted);
    }

    // ACL DRYRUN username command [arg ...]
    private void DryRun(ref CommandContext cmd)
    {
        const int Start = 3;
        if (_users.FindUser(cmd.Text(2)) is not { } user)
        {
            cmd.Reply.Error($"ERR User '{cmd.ShownText(2)}' not found");
            return;
        }

        Command? command = cmd.Environment.Commands.Find(cmd[Start]);
        if (command is { Subcommands.Length: > 0 } && cmd.Count > Start + 1) command = CommandTable.FindSubcommand(command, cmd[Start + 1]);
        if (command is null)
        {
            cmd.Reply.Error($"ERR Command '{cmd.ShownText(Start)}' not found");
            return;
        }

        if (!command.Accepts(cmd.Count - Start))
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{command.FullName}' command");
            return;
        }

        CommandContext inner = cmd.Inner(command, Start);
        AccessDenial denial = user.Check(inner);
        if (!denial.IsDenied) cmd.Reply.Ok();
        else cmd.Reply.Bulk(DenialText.Of(user, inner, denial, withNames: true));
    }

    // ACL GENPASS [bits]
    private static void GeneratePassword(ref CommandContext cmd)
    {
        if (cmd.Count > 3)
        {
            ReplyWrongForm(cmd);
            return;
        }

        long bits = PasswordBits;
        if (cmd.Count == 3 && !cmd.TryIntegerOrReply(2, out bits)) return;
        if (bits is <= 0 or > PasswordBitsMax)
        {
            cmd.Reply.Error("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096"u8);
            return;
        }

        cmd.Reply.Bulk(RandomNumberGenerator.GetHexString((int)((bits + 3) / 4), lowercase: true));
    }

    // ACL GETUSER username
    private void GetUser(ref CommandContext cmd)
    {
        cmd.Arguments.Redact(2);
        if (_users.Find(cmd.Text(2)) is not { } rules)
        {
            cmd.Reply.Null();
            return;
        }

        ReplyWriter reply = cmd.Reply;
        reply.Map(6);
        reply.Bulk("flags"u8);
        reply.Set(rules.Flags.Count);
        foreach (string flag in rules.Flags) reply.Bulk(flag);
        reply.Bulk("passwords"u8);
        reply.Array(rules.Passwords.Count);
        foreach (string password in rules.Passwords) reply.Bulk(password);
        ReplySelector(reply, rules.Own);
        reply.Bulk("selectors"u8);
        reply.Array(rules.Selectors.Count);
        foreach (SelectorRules selector in rules.Selectors)
        {
            reply.Map(3);
            ReplySelector(reply, selector);
        }
    }

    // ACL HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "CAT [<category>]",
        "    Return the categories, or the commands of one.",
        "DELUSER <username> [<username> ...]",
        "    Delete users and close their connections.",
        "DRYRUN <username> <command> [<arg> ...]",
        "    Return whether a user may execute a command, without executing it.",
        "GENPASS [<bits>]",
        "    Return a random password in hexadecimal (default: 256 bits).",
        "GETUSER <username>",
        "    Return the rules of a user.",
        "LIST",
        "    Return the rules of every user.",
        "LOAD",
        "    Replace all users by those of the file.",
        "LOG [<count> | RESET]",
        "    Return what users were denied, newest first, or forget it.",
        "SAVE",
        "    Write all users to the file.",
        "SETUSER <username> <attribute> [<attribute> ...]",
        "    Create a user or change its rules.",
        "USERS",
        "    Return the names of all users.",
        "WHOAMI",
        "    Return the name of this connection's user.");

    // ACL LIST
    private void List(ref CommandContext cmd)
    {
        IReadOnlyList<UserRules> all = _users.All;
        cmd.Reply.Array(all.Count);
        foreach (UserRules rules in all) cmd.Reply.Bulk(Encoding.Latin1.GetBytes("user " + rules.Describe()));
    }

    // ACL LOAD
    private void Load(ref CommandContext cmd)
    {
        if (!IsFileConfiguredOrReply(cmd)) return;
        if (_file.Load() is { } errors) cmd.Reply.Error("ERR " + errors);
        else cmd.Reply.Ok();
        if (cmd.Session.User.Permissions is { AreGone: true }) cmd.Session.CloseAfterReply();
    }

    // ACL LOG [count | RESET]
    private void ShowLog(ref CommandContext cmd)
    {
        const int Shown = 10;
        if (cmd.Count > 3)
        {
            ReplyWrongForm(cmd);
            return;
        }

        long count = Shown;
        if (cmd.Count == 3)
        {
            if (cmd.Is(2, "RESET"u8))
            {
                _users.Log.Clear();
                cmd.Reply.Ok();
                return;
            }

            if (!cmd.TryIntegerOrReply(2, out count)) return;
        }

        AclLogEntry[] entries = _users.Log.Newest(count);
        cmd.Reply.Array(entries.Length);
        foreach (AclLogEntry entry in entries) ReplyEntry(cmd, entry);
    }

    // ACL SAVE
    private void Save(ref CommandContext cmd)
    {
        if (!IsFileConfiguredOrReply(cmd)) return;
        if (_file.Save()) cmd.Reply.Ok();
        else cmd.Reply.Error("ERR There was an error trying to save the ACLs. Please check the server logs for more information"u8);
    }

    // ACL SETUSER username [rule ...]
    private void SetUser(ref CommandContext cmd)
    {
        for (int i = 2; i < cmd.Count; i++) cmd.Arguments.Redact(i); // rules may be passwords
        if (_users.ExcessOfWords(cmd.Count - 3, cmd.Arguments.Bytes) is { } excess)
        {
            cmd.Reply.Error("ERR " + excess);
            return;
        }

        for (int i = 2; i < cmd.Count; i++)
        {
            if (cmd[i].Length <= ArgumentReading.TextBytesMax) continue;
            cmd.Reply.Error($"ERR a user's name or rule has more than {ArgumentReading.TextBytesMax} bytes");
            return;
        }

        string name = cmd.Text(2);
        if (RuleError.HasSpaceOrZero(name))
        {
            cmd.Reply.Error("ERR Usernames can't contain spaces or null characters"u8);
            return;
        }

        string[] words = new string[cmd.Count - 3];
        for (int i = 0; i < words.Length; i++) words[i] = cmd.Text(i + 3);
        if (_users.Set(name, words) is { } error) cmd.Reply.Error("ERR " + error);
        else cmd.Reply.Ok();
    }

    // ACL USERS
    private void Users(ref CommandContext cmd)
    {
        IReadOnlyList<UserRules> all = _users.All;
        cmd.Reply.Array(all.Count);
        foreach (UserRules rules in all) cmd.Reply.Bulk(Encoding.Latin1.GetBytes(rules.Name));
    }

    // ACL WHOAMI
    private static void WhoAmI(ref CommandContext cmd) => cmd.Reply.Bulk(Encoding.Latin1.GetBytes(cmd.Session.User.Name));

    private static void ReplyWrongForm(scoped in CommandContext cmd) =>
        cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");

    private static void ReplySelector(ReplyWriter reply, SelectorRules selector)
    {
        reply.Bulk("commands"u8);
        reply.Bulk(Encoding.Latin1.GetBytes(selector.Commands));
        reply.Bulk("keys"u8);
        reply.Bulk(Encoding.Latin1.GetBytes(selector.Keys));
        reply.Bulk("channels"u8);
        reply.Bulk(Encoding.Latin1.GetBytes(selector.Channels));
    }

    private static void ReplyEntry(scoped in CommandContext cmd, AclLogEntry entry)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Map(10);
        reply.Bulk("count"u8);
        reply.Integer(entry.Count);
        reply.Bulk("reason"u8);
        reply.Bulk(entry.Reason switch
        {
            DenialReason.Command => "command"u8,
            DenialReason.Key => "key"u8,
            DenialReason.Channel => "channel"u8,
            _ => "auth"u8,
        });
        reply.Bulk("context"u8);
        reply.Bulk(entry.Context switch
        {
            DenialContext.Transaction => "multi"u8,
            DenialContext.Script => "lua"u8,
            _ => "toplevel"u8,
        });
        reply.Bulk("object"u8);
        reply.Bulk(entry.Object);
        reply.Bulk("username"u8);
        reply.Bulk(Encoding.Latin1.GetBytes(entry.UserName));
        reply.Bulk("age-seconds"u8);
        reply.Double(Math.Max(0, cmd.NowMs - entry.UpdatedMs) / 1000.0);
        reply.Bulk("client-info"u8);
        reply.Bulk(Encoding.Latin1.GetBytes(entry.Client));
        reply.Bulk("entry-id"u8);
        reply.Integer(entry.Id);
        reply.Bulk("timestamp-created"u8);
        reply.Integer(entry.CreatedMs);
        reply.Bulk("timestamp-last-updated"u8);
        reply.Integer(entry.UpdatedMs);
    }

    private bool IsFileConfiguredOrReply(scoped in CommandContext cmd)
    {
        if (_file.IsConfigured) return true;
        cmd.Reply.Error("ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."u8);
        return false;
    }
}
