using System.Buffers.Binary;
using System.Buffers.Text;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Sketches.Persistence;
using RedKite.Sketches.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Sketches;

/// <summary>
/// SCANDUMP and LOADCHUNK of filters: a header with all numbers, then the pages that are not missing. A position is that of the page that was sent, among
/// all pages, and 2; that of the header is 1.
/// </summary>
internal static class SketchChunks
{
    private const ulong Magic = 0x3148_4B53_544B_4452; // "RDKTSKH1"
    private const int HeaderNumbers = 2 + SketchData.NumberCount; // the magic and the number of parts with them
    private const int PartNumbers = 1 + SketchPart.NumberCount;

    internal static void ReplyChunk(scoped in CommandContext cmd, Sketch sketch, long position)
    {
        cmd.Reply.Array(2);
        if (position == 0)
        {
            cmd.Reply.Integer(1);
            ReplyHeader(cmd.Reply, sketch);
            return;
        }

        if (TryFind(sketch, position - 1, skipsMissing: true, out int part, out int page, out long found))
        {
            cmd.Reply.Integer(found + 2);
            cmd.Reply.Bulk(sketch.Page(part, page));
            return;
        }

        cmd.Reply.Integer(0);
        cmd.Reply.Bulk(""u8);
    }

    /// <summary>Creates a filter as a header describes it.</summary>
    internal static bool TryLoadHeader(scoped in CommandContext cmd, SketchType type, SketchCheck isValid, ReadOnlySpan<byte> header)
    {
        if (header.Length < HeaderNumbers * sizeof(ulong) || Take(ref header) != Magic) return false;
        ulong parts = Take(ref header);
        if (parts > SketchLimits.CuckooLayersMax || parts * PartNumbers != (ulong)((header.Length / sizeof(ulong)) - SketchData.NumberCount) || header.Length % sizeof(ulong) != 0) return false;
        Sketch sketch = cmd.Create(type);
        for (int i = 0; i < SketchData.NumberCount; i++) sketch.Number(i) = Take(ref header);
        long left = SketchLimits.BytesMax;
        bool fits = true;
        for (ulong i = 0; i < parts && fits; i++)
        {
            ulong bytes = Take(ref header);
            fits = bytes <= (ulong)left;
            if (!fits) break;
            left -= (long)bytes;
            sketch.AddPart((long)bytes);
            for (int n = 0; n < SketchPart.NumberCount; n++) sketch.PartNumber(sketch.PartCount - 1, n) = Take(ref header);
        }

        if (fits && isValid(sketch)) return true;
        cmd.Database.Unlink(cmd.Database.FindByHash(cmd.HashOf(1)), UnlinkReason.Deleted);
        return false;
    }

    /// <summary>Loads a page.</summary>
    /// <returns>Null, or what is wrong with it.</returns>
    internal static ReadOnlySpan<byte> Load(Sketch sketch, long position, ReadOnlySpan<byte> bytes)
    {
        if (position < 2 || !TryFind(sketch, position - 2, skipsMissing: false, out int part, out int page, out _)) return "ERR invalid offset - no link found"u8;
        if (bytes.Length != sketch.PageLength(part, page)) return "ERR invalid chunk - Too big for current filter"u8;
        bytes.CopyTo(sketch.PageToWrite(part, page));
        return default;
    }

    private static bool TryFind(Sketch sketch, long position, bool skipsMissing, out int part, out int page, out long found)
    {
        (part, page, found) = (0, 0, position);
        long before = 0;
        for (; part < sketch.PartCount; before += sketch.PageCount(part++))
        {
            for (page = (int)Math.Min(sketch.PageCount(part), Math.Max(0, found - before)); page < sketch.PageCount(part); page++)
            {
                found = before + page;
                if (!skipsMissing || !sketch.Page(part, page).IsEmpty) return true;
            }
        }

        return false;
    }

    private static void ReplyHeader(ReplyWriter reply, Sketch sketch)
    {
        Span<byte> text = stackalloc byte[32];
        Utf8Formatter.TryFormat((HeaderNumbers + ((long)sketch.PartCount * PartNumbers)) * sizeof(ulong), text, out int digits);
        reply.Raw("$"u8);
        reply.Raw(text[..digits]);
        reply.Raw("\r\n"u8);
        Put(reply, Magic);
        Put(reply, (ulong)sketch.PartCount);
        for (int i = 0; i < SketchData.NumberCount; i++) Put(reply, sketch.Number(i));
        for (int part = 0; part < sketch.PartCount; part++)
        {
            Put(reply, (ulong)sketch.PartBytes(part));
            for (int i = 0; i < SketchPart.NumberCount; i++) Put(reply, sketch.PartNumber(part, i));
        }

        reply.Raw("\r\n"u8);
    }

    private static void Put(ReplyWriter reply, ulong number)
    {
        Span<byte> bytes = stackalloc byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(bytes, number);
        reply.Raw(bytes);
    }

    private static ulong Take(ref ReadOnlySpan<byte> bytes)
    {
        ulong number = BinaryPrimitives.ReadUInt64LittleEndian(bytes);
        bytes = bytes[sizeof(ulong)..];
        return number;
    }
}
