using System.Runtime.CompilerServices;
using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>Appends strings, names and the heads of containers in the form of <see cref="JsonTag"/>.</summary>
internal static unsafe class JsonStrings
{
    /// <summary>Appends a string. A long one gets a block.</summary>
    internal static void Append(NativeBuffer output, Arena arena, ReadOnlySpan<byte> text) => Append(output, arena, text, default);

    /// <summary>Appends a string of two parts.</summary>
    internal static void Append(NativeBuffer output, Arena arena, ReadOnlySpan<byte> text, ReadOnlySpan<byte> rest)
    {
        int length = checked(text.Length + rest.Length);
        if (length > JsonTag.InlineStringMax)
        {
            JsonBlock* block = JsonBlock.CreateString(arena, length);
            var target = new Span<byte>((byte*)block + JsonBlock.HeadBytes, length);
            text.CopyTo(target);
            rest.CopyTo(target[text.Length..]);
            AppendReference(output, block);
            return;
        }

        Span<byte> room = output.Room(3 + length);
        int head = 1;
        if (length <= JsonTag.ShortStringMax)
        {
            room[0] = (byte)(JsonTag.ShortString + length);
        }
        else
        {
            room[0] = JsonTag.String16;
            Unsafe.WriteUnaligned(ref room[1], (ushort)length);
            head = 3;
        }

        text.CopyTo(room[head..]);
        rest.CopyTo(room[(head + text.Length)..]);
        output.Advance(head + length);
    }

    /// <summary>Appends a name that the document does not share.</summary>
    internal static void AppendName(NativeBuffer output, ReadOnlySpan<byte> name)
    {
        Span<byte> room = output.Room(1 + sizeof(uint) + name.Length);
        int head = 1;
        if (name.Length <= JsonTag.ShortNameMax)
        {
            room[0] = (byte)name.Length;
        }
        else
        {
            room[0] = JsonTag.LongName;
            Unsafe.WriteUnaligned(ref room[1], (uint)name.Length);
            head += sizeof(uint);
        }

        name.CopyTo(room[head..]);
        output.Advance(head + name.Length);
    }

    internal static void AppendReference(NativeBuffer output, JsonBlock* block)
    {
        output.Room(JsonTag.ReferenceBytes);
        JsonTag.SetBlock(output.Start + output.Length, block);
        output.Advance(JsonTag.ReferenceBytes);
    }

    /// <summary>Writes the head of a container among other values, for which there are two bytes in front of its items.</summary>
    internal static void CloseContainer(NativeBuffer output, int start, bool isObject)
    {
        int bytes = output.Length - start - 2;
        if (bytes <= byte.MaxValue)
        {
            output.Start[start] = isObject ? JsonTag.Object8 : JsonTag.Array8;
            output.Start[start + 1] = (byte)bytes;
            return;
        }

        output.Room(1);
        byte* head = output.Start + start;
        Buffer.MemoryCopy(head + 2, head + 3, bytes, bytes);
        head[0] = isObject ? JsonTag.Object16 : JsonTag.Array16;
        Unsafe.WriteUnaligned(head + 1, (ushort)bytes);
        output.Advance(1);
    }

    /// <summary>Cuts a buffer back.</summary>
    internal static void Truncate(this NativeBuffer output, int length) => output.Advance(length - output.Length);
}
