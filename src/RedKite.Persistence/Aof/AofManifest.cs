using System.Collections.Immutable;
using System.Globalization;
using System.Text;

namespace RedKite.Persistence.Aof;

/// <summary>What a file of the append-only file is.</summary>
internal enum AofFileType : byte
{
    /// <summary>All data at one moment.</summary>
    Base = (byte)'b',

    /// <summary>The commands since then, or since the preceding increment.</summary>
    Increment = (byte)'i',

    /// <summary>Replaced by a newer base, and to be deleted.</summary>
    History = (byte)'h',
}

/// <summary>A file of the append-only file.</summary>
/// <param name="Name">Its name in the folder.</param>
/// <param name="Sequence">Its number, which grows with each base or each increment.</param>
/// <param name="Type">What it is.</param>
/// <param name="StartOffset">The replication offset of its first byte; -1: unknown.</param>
/// <param name="EndOffset">The replication offset behind its last byte; -1: unknown.</param>
internal sealed record AofFile(string Name, long Sequence, AofFileType Type, long StartOffset = -1, long EndOffset = -1);

/// <summary>
/// The manifest of an append-only file: which files it consists of, in their order. Immutable: each change is a new manifest, which takes
/// effect when it is written. The form is that of Redis 8.0:
/// <code>
/// file appendonly.aof.2.base.rdb seq 2 type b
/// file appendonly.aof.1.incr.aof seq 1 type h startoffset 0
/// file appendonly.aof.2.incr.aof seq 2 type i startoffset 310 endoffset 400
/// </code>
/// Lines that begin with # and unknown properties are ignored.
/// </summary>
internal sealed record AofManifest
{
    internal const int LineBytesMax = 1024;

    internal static readonly AofManifest Empty = new();

    internal AofFile? Base { get; init; }

    /// <summary>In ascending order; the last one is written to.</summary>
    internal ImmutableArray<AofFile> Increments { get; init; } = [];

    internal ImmutableArray<AofFile> History { get; init; } = [];

    /// <summary>The number of the newest base, also of one that has become history; 0: none.</summary>
    internal long LastBaseSequence { get; init; }

    /// <summary>The number of the newest increment; 0: none.</summary>
    internal long LastIncrementSequence { get; init; }

    /// <summary>The files to load, in their order.</summary>
    internal IEnumerable<AofFile> Files => Base is null ? Increments : Increments.Prepend(Base);

    internal static string ManifestName(string fileName) => fileName + ".manifest";

    internal static string BaseName(string fileName, long sequence, bool isRdb) =>
        string.Create(CultureInfo.InvariantCulture, $"{fileName}.{sequence}.base.{(isRdb ? "rdb" : "aof")}");

    internal static string IncrementName(string fileName, long sequence) =>
        string.Create(CultureInfo.InvariantCulture, $"{fileName}.{sequence}.incr.aof");

    /// <summary>The manifest with another increment, which is written to from now on.</summary>
    internal AofManifest WithIncrement(string fileName, long startOffset)
    {
        long sequence = LastIncrementSequence + 1;
        var increment = new AofFile(IncrementName(fileName, sequence), sequence, AofFileType.Increment, startOffset);
        return this with { Increments = Increments.Add(increment), LastIncrementSequence = sequence };
    }

    /// <summary>The manifest with a new base, which replaces the old one and all increments before one. These become history.</summary>
    /// <param name="fileName">The setting appendfilename.</param>
    /// <param name="isRdb">Whether the base is in RDB form.</param>
    /// <param name="firstKept">The number of the first increment that follows the new base.</param>
    internal AofManifest WithBase(string fileName, bool isRdb, long firstKept)
    {
        long sequence = LastBaseSequence + 1;
        IEnumerable<AofFile> replaced = Increments.Where(increment => increment.Sequence < firstKept);
        if (Base is not null) replaced = replaced.Append(Base);
        return this with
        {
            Base = new AofFile(BaseName(fileName, sequence, isRdb), sequence, AofFileType.Base),
            Increments = [.. Increments.Where(increment => increment.Sequence >= firstKept)],
            History = [.. replaced.Select(file => file with { Type = AofFileType.History }), .. History],
            LastBaseSequence = sequence,
        };
    }

    /// <summary>The manifest in which the last increment ends at an offset.</summary>
    internal AofManifest WithEndOffset(long endOffset) =>
        Increments.IsEmpty ? this : this with { Increments = Increments.SetItem(Increments.Length - 1, Increments[^1] with { EndOffset = endOffset }) };

    /// <summary>The manifest without history, once its files are deleted.</summary>
    internal AofManifest WithoutHistory() => this with { History = [] };

    /// <summary>The manifest of a Redis before 7.0: its single file is the base.</summary>
    internal static AofManifest OfSingleFile(string fileName) =>
        new() { Base = new AofFile(fileName, 1, AofFileType.Base), LastBaseSequence = 1 };

    internal byte[] Format()
    {
        var text = new StringBuilder();
        IEnumerable<AofFile> files = Base is null ? History : History.Prepend(Base);
        foreach (AofFile file in files.Concat(Increments))
        {
            text.Append(CultureInfo.InvariantCulture, $"file {AofWords.Quote(file.Name)} seq {file.Sequence} type {(char)file.Type}");
            if (file.StartOffset >= 0) text.Append(CultureInfo.InvariantCulture, $" startoffset {file.StartOffset}");
            if (file.EndOffset >= 0) text.Append(CultureInfo.InvariantCulture, $" endoffset {file.EndOffset}");
            text.Append('\n');
        }

        return Encoding.ASCII.GetBytes(text.ToString());
    }

    /// <summary>Parses a manifest.</summary>
    /// <param name="bytes">Its content.</param>
    /// <param name="path">Its path, for errors.</param>
    /// <exception cref="AofException">It is invalid.</exception>
    internal static AofManifest Parse(ReadOnlySpan<byte> bytes, string path)
    {
        if (bytes.IsEmpty) throw AofException.AtLine(path, 1, "the manifest is empty");
        AofManifest manifest = Empty;
        for (int line = 1; !bytes.IsEmpty; line++)
        {
            int end = bytes.IndexOf((byte)'\n');
            if (end < 0 || end >= LineBytesMax) throw AofException.AtLine(path, line, end < 0 ? "the line has no end" : "the line is too long");
            ReadOnlySpan<byte> text = bytes[..end];
            bytes = bytes[(end + 1)..];
            if (text.StartsWith("#"u8)) continue;
            manifest = manifest.WithParsed(ParseLine(text, path, line), path, line);
        }

        return manifest;
    }

    private static AofFile ParseLine(ReadOnlySpan<byte> line, string path, int number)
    {
        if (!AofWords.TrySplit(line, out List<string> words) || words.Count < 6 || words.Count % 2 != 0) throw Invalid("it is not 'file NAME seq NUMBER type LETTER'");
        string name = "";
        long sequence = 0;
        char type = '\0';
        long startOffset = -1;
        long endOffset = -1;
        for (int i = 0; i < words.Count; i += 2)
        {
            string value = words[i + 1];
            switch (words[i].ToUpperInvariant())
            {
                case "FILE":
                    name = value;
                    break;
                case "SEQ":
                    sequence = Number(value);
                    break;
                case "TYPE":
                    type = value.Length > 0 ? value[0] : '\0';
                    break;
                case "STARTOFFSET":
                    startOffset = Number(value);
                    break;
                case "ENDOFFSET":
                    endOffset = Number(value);
                    break;
            }
        }

        if (name.Length == 0 || sequence <= 0 || type == '\0') throw Invalid("it lacks the file's name, number or type");
        if (name.Contains('/') || name.Contains('\\')) throw Invalid("the file is a path; only a name is allowed");
        if (type is not ('b' or 'i' or 'h')) throw Invalid($"unknown type '{type}'");
        return new AofFile(name, sequence, (AofFileType)type, startOffset, endOffset);

        long Number(string text) =>
            long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long parsed) ? parsed : throw Invalid($"'{text}' is no number");

        AofException Invalid(string reason) => AofException.AtLine(path, number, reason);
    }

    private AofManifest WithParsed(AofFile file, string path, int line)
    {
        switch (file.Type)
        {
            case AofFileType.Base:
                if (Base is not null) throw AofException.AtLine(path, line, "a second base");
                return this with { Base = file, LastBaseSequence = file.Sequence };
            case AofFileType.Increment:
                if (file.Sequence <= LastIncrementSequence) throw AofException.AtLine(path, line, "the increments' numbers are not ascending");
                return this with { Increments = Increments.Add(file), LastIncrementSequence = file.Sequence };
            default:
                return this with { History = History.Add(file) };
        }
    }
}
