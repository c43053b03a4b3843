using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Server;

/// <summary>Writes a command's entry of COMMAND and COMMAND INFO: arity, flags, keys, categories and tips.</summary>
internal static class CommandInfo
{
    // In the order of listings. Flags without a name here are not reported.
    private static readonly (CommandFlags Flag, string Name)[] FlagNames =
    [
        (CommandFlags.Write, "write"),
        (CommandFlags.ReadOnly, "readonly"),
        (CommandFlags.DenyOom, "denyoom"),
        (CommandFlags.Admin, "admin"),
        (CommandFlags.PubSub, "pubsub"),
        (CommandFlags.NoScript, "noscript"),
        (CommandFlags.Blocking, "blocking"),
        (CommandFlags.Loading, "loading"),
        (CommandFlags.Stale, "stale"),
        (CommandFlags.SkipMonitor, "skip_monitor"),
        (CommandFlags.SkipSlowLog, "skip_slowlog"),
        (CommandFlags.Asking, "asking"),
        (CommandFlags.Fast, "fast"),
        (CommandFlags.NoAuth, "no_auth"),
        (CommandFlags.MayReplicate, "may_replicate"),
        (CommandFlags.NoMandatoryKeys, "no_mandatory_keys"),
        (CommandFlags.NoAsyncLoading, "no_async_loading"),
        (CommandFlags.NoMulti, "no_multi"),
        (CommandFlags.MovableKeys, "movablekeys"),
        (CommandFlags.AllowBusy, "allow_busy"),
    ];

    private static readonly (KeyFlags Flag, string Name)[] KeyFlagNames =
    [
        (KeyFlags.ReadOnly, "RO"),
        (KeyFlags.ReadWrite, "RW"),
        (KeyFlags.Overwrite, "OW"),
        (KeyFlags.Remove, "RM"),
        (KeyFlags.Access, "access"),
        (KeyFlags.Update, "update"),
        (KeyFlags.Insert, "insert"),
        (KeyFlags.Delete, "delete"),
        (KeyFlags.NotKey, "not_key"),
        (KeyFlags.Incomplete, "incomplete"),
        (KeyFlags.VariableFlags, "variable_flags"),
    ];

    /// <summary>The names of a command's flags.</summary>
    internal static IEnumerable<string> NamesOf(CommandFlags flags) => FlagNames.Where(flag => flags.HasFlag(flag.Flag)).Select(flag => flag.Name);

    private static IEnumerable<string> NamesOf(Command command)
    {
        // Redis lists the flag of modules behind these.
        const CommandFlags Before = CommandFlags.Write | CommandFlags.ReadOnly | CommandFlags.DenyOom;
        return command.Module is not null ? [.. NamesOf(command.Flags & Before), "module", .. NamesOf(command.Flags & ~Before)] : NamesOf(command.Flags);
    }

    /// <summary>Writes one command's entry, including the entries of its subcommands.</summary>
    internal static void Write(ReplyWriter reply, Command command)
    {
        reply.Array(10);
        reply.Bulk(command.FullName);
        reply.Integer(command.Arity);
        WriteNames(reply, [.. NamesOf(command)]);
        reply.Integer(command.KeyRange.First);
        reply.Integer(command.KeyRange.Last);
        reply.Integer(command.KeyRange.Step);
        AclCategory categories = command.AllCategories;
        WriteNames(reply, [.. AclCategories.Names.Where(category => categories.HasFlag(category.Category)).Select(category => "@" + category.Name)]);
        reply.Set(command.Tips.Length);
        foreach (string tip in command.Tips) reply.Bulk(tip);
        reply.Set(command.Keys.Length);
        foreach (KeySpec keys in command.Keys) Write(reply, keys);
        if (command.Subcommands.Length == 0) reply.Set(0);
        else reply.Array(command.Subcommands.Length);
        foreach (Command subcommand in command.Subcommands) Write(reply, subcommand);
    }

    /// <summary>Writes how a command uses a key.</summary>
    internal static void Write(ReplyWriter reply, KeyFlags flags) =>
        WriteNames(reply, [.. KeyFlagNames.Where(flag => flags.HasFlag(flag.Flag)).Select(flag => flag.Name)]);

    private static void Write(ReplyWriter reply, KeySpec keys)
    {
        reply.Map(keys.Notes.Length > 0 ? 4 : 3);
        if (keys.Notes.Length > 0)
        {
            reply.Bulk("notes"u8);
            reply.Bulk(keys.Notes);
        }

        reply.Bulk("flags"u8);
        Write(reply, keys.Flags);
        reply.Bulk("begin_search"u8);
        reply.Map(2);
        WriteBegin(reply, keys);
        reply.Bulk("find_keys"u8);
        reply.Map(2);
        WriteFind(reply, keys);
    }

    private static void WriteBegin(ReplyWriter reply, KeySpec keys)
    {
        if (keys.IsUnknown)
        {
            WriteKind(reply, "unknown", 0);
        }
        else if (keys.Keyword.Length > 0)
        {
            WriteKind(reply, "keyword", 2);
            reply.Bulk("keyword"u8);
            reply.Bulk(keys.Keyword);
            WriteField(reply, "startfrom", keys.StartFrom);
        }
        else
        {
            WriteKind(reply, "index", 1);
            WriteField(reply, "index", BeginsAt(keys));
        }
    }

    private static void WriteFind(ReplyWriter reply, KeySpec keys)
    {
        if (keys.IsUnknown)
        {
            WriteKind(reply, "unknown", 0);
        }
        else if (keys.CountAt > 0)
        {
            WriteKind(reply, "keynum", 3);
            WriteField(reply, "keynumidx", 0);
            WriteField(reply, "firstkey", keys.First - keys.CountAt);
            WriteField(reply, "keystep", keys.Step);
        }
        else
        {
            WriteKind(reply, "range", 3);
            WriteField(reply, "lastkey", keys.Last < 0 ? keys.Last : keys.Last - keys.First);
            WriteField(reply, "keystep", keys.Step);
            WriteField(reply, "limit", keys.Limit);
        }
    }

    // The search ends at the first key, or at the number of keys if the request states it.
    private static int BeginsAt(KeySpec keys) => keys.CountAt > 0 ? keys.CountAt : keys.First;

    private static void WriteKind(ReplyWriter reply, string kind, int fields)
    {
        reply.Bulk("type"u8);
        reply.Bulk(kind);
        reply.Bulk("spec"u8);
        reply.Map(fields);
    }

    private static void WriteField(ReplyWriter reply, string name, int value)
    {
        reply.Bulk(name);
        reply.Integer(value);
    }

    private static void WriteNames(ReplyWriter reply, string[] names)
    {
        reply.Set(names.Length);
        foreach (string name in names) reply.SimpleString(System.Text.Encoding.ASCII.GetBytes(name));
    }
}
