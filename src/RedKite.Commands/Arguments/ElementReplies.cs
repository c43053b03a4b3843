using RedKite.Protocol;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arguments;

/// <summary>Writes elements of collections.</summary>
internal static class ElementReplies
{
    /// <summary>Writes an element as a bulk string: its text, or the digits of its number.</summary>
    internal static void Element(this ReplyWriter reply, PackedElement element)
    {
        if (element.IsNumber) reply.BulkInteger(element.Number);
        else reply.Bulk(element.Bytes(default));
    }
}
