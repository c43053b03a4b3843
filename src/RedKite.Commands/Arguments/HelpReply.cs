using System.Text;
using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>Writes the reply of a container's HELP: an array of simple strings with a common heading and last entry.</summary>
internal static class HelpReply
{
    /// <param name="cmd">The request.</param>
    /// <param name="lines">For each subcommand its syntax, then its description, indented by four spaces.</param>
    internal static void Write(scoped in CommandContext cmd, params ReadOnlySpan<string> lines)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Array(lines.Length + 3);
        Line(reply, cmd.ContainerText() + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
        foreach (string line in lines) Line(reply, line);
        Line(reply, "HELP");
        Line(reply, "    Prints this help.");
    }

    private static void Line(ReplyWriter reply, string text) => reply.SimpleString(Encoding.Latin1.GetBytes(text));
}
