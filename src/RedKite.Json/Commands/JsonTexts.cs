using RedKite.Store.Memory;

namespace RedKite.Json.Commands;

/// <summary>Text that is composed and not kept. Each thread has one buffer. Replies of documents have <see cref="JsonReplyText"/>.</summary>
internal static class JsonTexts
{
    [ThreadStatic]
    private static NativeBuffer? _ofThread;

    /// <summary>The current thread's buffer, empty.</summary>
    internal static NativeBuffer Begin()
    {
        NativeBuffer buffer = _ofThread ??= new NativeBuffer();
        buffer.Clear();
        return buffer;
    }
}
