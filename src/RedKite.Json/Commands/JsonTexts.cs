using RedKite.Json.Store;
using RedKite.Server.Model;
using RedKite.Store.Memory;

namespace RedKite.Json.Commands;

/// <summary>Text that replies are composed of. Each thread has one buffer.</summary>
internal static class JsonTexts
{
    /// <summary>The longest text of a reply, whatever the memory: a buffer has room for twice as much.</summary>
    internal const int BytesMax = 1 << 30;

    // Between two looks at how much there is.
    private const int PieceBytes = 16 << 20;

    internal static ReadOnlySpan<byte> TooLong => "ERR the text is longer than there is room for"u8;

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
        if (TryWrite(text, names, value, cmd.Keyspace.BoundsDivisor, format, depth)) return true;
        text.Clear();
        cmd.Reply.Error(TooLong);
        return false;
    }

    /// <summary>Writes a value's text, as far as there is room for it.</summary>
    internal static bool TryWrite(NativeBuffer text, JsonNames names, JsonValue value, int boundsDivisor, JsonFormat format = default, int depth = 0)
    {
        JsonTextWriter writer = JsonTextWriter.OfThread;
        writer.Begin(names, value);
        bool more = true;
        while (more && HasRoom()) more = writer.Step(text, PieceBytes / boundsDivisor, format, depth);
        return !more && HasRoom();

        bool HasRoom() => text.Length <= BytesMax / boundsDivisor && ScratchMemory.HasRoom(text.Length);
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
