namespace RedKite.Server.Tests.Commands;

/// <summary>Nested replies on one line: <c>[[1-1 [a 1]] nil 5]</c>.</summary>
public static class ReplyText
{
    public static void Shows(this RedKiteReply reply, string text) => Assert.Equal(text, Of(reply));

    private static string Of(RedKiteReply reply) => reply.Kind switch
    {
        ReplyKind.Null => "nil",
        ReplyKind.Array => "[" + string.Join(' ', reply.Items.Select(Of)) + "]",
        _ => reply.Text!,
    };
}
