using System.Text;
using RedKite.Protocol;

namespace RedKite.Server.Commands.Arguments;

/// <summary>What a container's HELP replies: an array of status lines, with the heading and the last entry that all have.</summary>
internal static class HelpReply
{
    /// <param name="command">In capitals.</param>
    /// <param name="lines">A subcommand's syntax, then what it does, indented by four spaces.</param>
    internal static void Write(ReplyWriter reply, string command, params ReadOnlySpan<string> lines)
    {
        reply.Array(lines.Length + 3);
        Line(reply, command + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
        foreach (string line in lines) Line(reply, line);
        Line(reply, "HELP");
        Line(reply, "    Prints this help.");
    }

    private static void Line(ReplyWriter reply, string text) => reply.SimpleString(Encoding.Latin1.GetBytes(text));
}
