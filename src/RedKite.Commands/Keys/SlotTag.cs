using System.Text;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Keys;

/// <summary>A hash tag for each slot: the first text of digits and letters, shorter ones first, that hashes to it. Three characters do for all.</summary>
internal static class SlotTag
{
    private static readonly Lazy<string[]> Tags = new(Make);

    internal static string Of(int slot) => Tags.Value[slot];

    // 240,000 texts are hashed, once.
    private static string[] Make()
    {
        ReadOnlySpan<byte> characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"u8;
        var tags = new string[KeySlot.Count];
        Span<byte> text = stackalloc byte[3];
        int left = tags.Length;
        for (int length = 1; left > 0; length++)
        {
            int texts = (int)Math.Pow(characters.Length, length);
            for (int number = 0; number < texts && left > 0; number++)
            {
                for (int i = length - 1, rest = number; i >= 0; i--, rest /= characters.Length) text[i] = characters[rest % characters.Length];
                ref string tag = ref tags[KeySlot.Of(text[..length])];
                if (tag is not null) continue;
                tag = Encoding.ASCII.GetString(text[..length]);
                left--;
            }
        }

        return tags;
    }
}
