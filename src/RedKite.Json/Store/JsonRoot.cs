using RedKite.Store.Values;

namespace RedKite.Json.Store;

/// <summary>The root of a document with blocks: its word has the image's bytes in the lower half, and the size of its text (<see cref="JsonTextSize"/>) in the upper one.</summary>
internal static unsafe class JsonRoot
{
    private const int TextShift = 32;

    internal static ValueRoot Of(byte* image, long imageBytes, long text) =>
        new() { Structure = image, Word = (ulong)imageBytes | ((ulong)Math.Clamp(text, 0, uint.MaxValue) << TextShift) };

    internal static long ImageBytes(in ValueRoot root) => (uint)root.Word;

    internal static long Text(in ValueRoot root) => (long)(root.Word >> TextShift);
}
