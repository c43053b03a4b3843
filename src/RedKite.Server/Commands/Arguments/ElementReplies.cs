using RedKite.Protocol;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arguments;

/// <summary>Writes what collections are made of.</summary>
internal static class ElementReplies
{
    /// <summary>A bulk string of an element: its text, or its number's digits.</summary>
    internal static void Element(this ReplyWriter reply, PackedElement element)
    {
        if (element.IsNumber) reply.BulkInteger(element.Number);
        else reply.Bulk(element.Bytes(default));
    }
}
