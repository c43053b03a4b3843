using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Server;

/// <summary>Writes a command's entry of COMMAND DOCS: its purpose, history and arguments.</summary>
internal static class CommandDocumentation
{
    // By the value of ArgumentType.
    private static readonly string[] TypeNames = ["string", "integer", "double", "key", "pattern", "unix-time", "pure-token", "oneof", "block"];

    /// <summary>Writes one command's map, including the maps of its subcommands.</summary>
    internal static void Write(ReplyWriter reply, Command command)
    {
        CommandDoc doc = command.Doc;
        bool hasComplexity = doc.Complexity.Length > 0 && command.Module is null;
        CommandArgument[] arguments = command.Arguments;
        bool deprecated = doc.DeprecatedSince.Length > 0;
        bool flagged = deprecated || doc.IsSystemCommand;
        reply.Map(
            3 + One(command.Module is not null) + One(hasComplexity) + One(flagged) + One(deprecated) + One(doc.ReplacedBy.Length > 0)
            + One(doc.History.Length > 0) + One(arguments.Length > 0) + One(command.Subcommands.Length > 0));
        WriteField(reply, "summary", doc.Summary);
        WriteField(reply, "since", doc.Since);
        WriteField(reply, "group", command.Group);
        if (command.Module is { } module) WriteField(reply, "module", module.Name);
        if (hasComplexity) WriteField(reply, "complexity", doc.Complexity);
        if (flagged)
        {
            reply.Bulk("doc_flags"u8);
            reply.Set(One(deprecated) + One(doc.IsSystemCommand));
            if (deprecated) reply.SimpleString("deprecated"u8);
            if (doc.IsSystemCommand) reply.SimpleString("syscmd"u8);
        }

        if (deprecated) WriteField(reply, "deprecated_since", doc.DeprecatedSince);
        if (doc.ReplacedBy.Length > 0) WriteField(reply, "replaced_by", doc.ReplacedBy);
        if (doc.History.Length > 0) WriteHistory(reply, doc.History);
        if (arguments.Length > 0) WriteArguments(reply, arguments);
        if (command.Subcommands.Length == 0) return;

        reply.Bulk("subcommands"u8);
        reply.Map(command.Subcommands.Length);
        foreach (Command subcommand in command.Subcommands)
        {
            reply.Bulk(subcommand.FullName);
            Write(reply, subcommand);
        }
    }

    private static void WriteHistory(ReplyWriter reply, (string Version, string Change)[] history)
    {
        reply.Bulk("history"u8);
        reply.Set(history.Length);
        foreach ((string version, string change) in history)
        {
            reply.Array(2);
            reply.Bulk(version);
            reply.Bulk(change);
        }
    }

    private static void WriteArguments(ReplyWriter reply, CommandArgument[] arguments)
    {
        reply.Bulk("arguments"u8);
        reply.Array(arguments.Length);
        foreach (CommandArgument argument in arguments) WriteArgument(reply, argument);
    }

    private static void WriteArgument(ReplyWriter reply, CommandArgument argument)
    {
        int flags = One(argument.IsOptional) + One(argument.IsMultiple) + One(argument.RepeatsToken);
        bool nested = argument.Type is ArgumentType.OneOf or ArgumentType.Block;
        reply.Map(
            3 + One(argument.KeySpec >= 0) + One(argument.Token is not null) + One(argument.Since.Length > 0)
            + One(argument.DeprecatedSince.Length > 0) + One(flags > 0));
        WriteField(reply, "name", argument.Name);
        WriteField(reply, "type", TypeNames[(int)argument.Type]);

        // Choices and blocks are displayed through their arguments.
        if (!nested) WriteField(reply, "display_text", argument.DisplayText.Length > 0 ? argument.DisplayText : argument.Name);
        if (argument.KeySpec >= 0)
        {
            reply.Bulk("key_spec_index"u8);
            reply.Integer(argument.KeySpec);
        }

        if (argument.Token is not null) WriteField(reply, "token", argument.Token);
        if (argument.Since.Length > 0) WriteField(reply, "since", argument.Since);
        if (argument.DeprecatedSince.Length > 0) WriteField(reply, "deprecated_since", argument.DeprecatedSince);
        if (flags > 0)
        {
            reply.Bulk("flags"u8);
            reply.Set(flags);
            if (argument.IsOptional) reply.SimpleString("optional"u8);
            if (argument.IsMultiple) reply.SimpleString("multiple"u8);
            if (argument.RepeatsToken) reply.SimpleString("multiple_token"u8);
        }

        if (nested) WriteArguments(reply, argument.Arguments);
    }

    private static void WriteField(ReplyWriter reply, string name, string value)
    {
        reply.Bulk(name);
        reply.Bulk(value);
    }

    private static int One(bool condition) => condition ? 1 : 0;
}
