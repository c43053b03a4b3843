using RedKite.Json.Store;
using RedKite.Server.Model;
using RedKite.Store.Memory;

namespace RedKite.Json.Commands;

/// <summary>A value that a command works with, and that goes into no document. Each thread has one.</summary>
internal static class JsonArgument
{
    [ThreadStatic]
    private static NativeBuffer? _ofThread;

    /// <summary>Parses a value, or replies what is wrong with the text.</summary>
    internal static bool TryParseOrReply(scoped in CommandContext cmd, int argument, Arena arena, out JsonValue value)
    {
        NativeBuffer buffer = _ofThread ??= new NativeBuffer();
        buffer.Clear();
        value = default;
        if (!JsonParser.OfThread.TryParseDocument(cmd[argument], buffer, arena))
        {
            cmd.ReplySyntax(hasCode: true);
            return false;
        }

        value = JsonDocument.In(buffer).Root;
        return true;
    }

    /// <summary>The names of the value.</summary>
    internal static JsonNames Names => JsonDocument.In(_ofThread!).Names;

    /// <summary>Frees the value.</summary>
    internal static void Free(Arena arena)
    {
        JsonDocument.Free(_ofThread!, arena);
        _ofThread!.Clear();
    }
}
