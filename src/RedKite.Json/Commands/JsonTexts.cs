using RedKite.Json.Store;
using RedKite.Server.Model;
using RedKite.Store.Memory;

namespace RedKite.Json.Commands;

/// <summary>Text that replies are composed of. Each thread has one buffer.</summary>
internal static class JsonTexts
{
    // Between two looks at how much there is.
    private const int PieceBytes = 16 << 20;

    [ThreadStatic]
    private static NativeBuffer? _ofThread;

    /// <summary>The current thread's buffer, empty.</summary>
    internal static NativeBuffer Begin()
    {
        NativeBuffer buffer = _ofThread ??= new NativeBuffer();
        buffer.Clear();
        return buffer;
    }

    /// <summary>Writes a value's text, or replies that there is no room for it.</summary>
    internal static bool TryWriteOrReply(scoped in CommandContext cmd, NativeBuffer text, JsonNames names, JsonValue value, JsonFormat format = default, int depth = 0)
    {
        JsonTextWriter writer = JsonTextWriter.OfThread;
        writer.Begin(names, value);
        bool more = true;
        while (more && ScratchMemory.HasRoom(text.Length)) more = writer.Step(text, PieceBytes, format, depth);
        if (!more && ScratchMemory.HasRoom(text.Length)) return true;
        text.Clear();
        cmd.Reply.Error("ERR the text is longer than there is room for"u8);
        return false;
    }

    /// <summary>Replies a value's text as a bulk string.</summary>
    internal static void Reply(scoped in CommandContext cmd, JsonNames names, JsonValue value)
    {
        NativeBuffer text = Begin();
        if (!TryWriteOrReply(cmd, text, names, value)) return;
        cmd.Reply.Bulk(text.Written);
        text.Clear();
    }
}
