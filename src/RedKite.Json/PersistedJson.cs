using RedKite.Json.Commands;
using RedKite.Json.Store;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Types;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Json;

/// <summary>
/// Documents in files, logs and digests. In files and payloads a document is its text, as one string of the module's data in version 3 of its encoding, which RedisJSON 2
/// and later read and write.
/// </summary>
internal sealed class PersistedJson() : PersistedType(JsonType.Instance)
{
    internal const string ModuleName = "ReJSON-RL";

    private const int Version = 3;
    private const int StepBytes = 16 * 1024;

    internal override ulong ModuleId { get; } = RdbModule.IdOf(ModuleName, Version);

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (!RdbModule.TryString(ref input, scratch.First, out ReadOnlySpan<byte> text)) return false;
        Arena arena = target.Database.ArenaOf(target.Hash);
        NativeBuffer image = scratch.Second;
        image.Clear();
        if (!JsonParser.OfThread.TryParseDocument(text, image, arena)) return false;
        long size = JsonParser.OfThread.MayRefer ? JsonTextSize.OfDocument(image) : 0;
        if (size > JsonTextSize.LoadedMax / target.Database.BoundsDivisor)
        {
            JsonDocument.Free(image, arena);
            image.Clear();
            return false;
        }

        JsonDocument.Create(target.Database, target.Key, target.Hash, default, target.AccessClock, image, size);
        image.Clear();
        return RdbModule.TryEnd(ref input);
    }

    internal override bool TryWriteCommands(CommandOutput output, Database database, Entry entry)
    {
        JsonDocument document = JsonDocument.Of(entry);
        NativeBuffer text = JsonTexts.Begin();
        JsonTextWriter.Write(text, document.Names, document.Root);
        output.Begin("JSON.SET"u8, 3).Argument(entry.Key).Argument("$"u8).Argument(text.Written);
        text.Clear();
        return true;
    }

    internal override ReadingCommands? Reading { get; } = new("EXISTS", static (key, _, bytes) => ["JSON.DEBUG", "TEXT", key, ReadingCommands.Text(bytes)]);

    // Of a container at the root, each item is a part.
    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        JsonDocument document = JsonDocument.Of(entry);
        JsonValue root = document.Root;
        if (!root.IsContainer)
        {
            MixText(digest, document.Names, root, default);
            return true;
        }

        if (position.Next == 0) digest.Mix(root.TypeName);
        JsonItems items = root.Items;
        if (!items.Skip((long)position.Next)) return true;
        do
        {
            int bytes = MixText(digest, document.Names, items.Value, items.IsObject ? items.Name(document.Names) : default);
            position.Next = (ulong)items.Ordinal + 1;
            if (left.Take(bytes)) return (long)position.Next >= root.Count;
        }
        while (items.MoveNext());
        return true;
    }

    private static int MixText(DatasetDigest digest, JsonNames names, JsonValue value, ReadOnlySpan<byte> name)
    {
        NativeBuffer text = JsonTexts.Begin();
        text.Write(name);
        text.Write(":"u8);
        JsonTextWriter.Write(text, names, value);
        digest.Mix(text.Written);
        int bytes = text.Length;
        text.Clear();
        return bytes;
    }

    private sealed class Steps : RdbValueSteps
    {
        private readonly JsonTextWriter _writer = new();
        private NativeBuffer _text = null!;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch)
        {
            JsonDocument document = JsonDocument.Of(entry);
            _text = scratch;
            _text.Clear();
            _writer.Begin(document.Names, document.Root);
            _part = Part.Id;
        }

        private enum Part
        {
            Id,
            Text,
            End,
        }

        private Part _part;

        internal override bool Step(RdbOutput output)
        {
            switch (_part)
            {
                case Part.Id:
                    RdbModule.WriteId(output, RdbModule.IdOf(ModuleName, Version));
                    _part = Part.Text;
                    return true;
                case Part.Text:
                    if (_writer.Step(_text, StepBytes)) return true;
                    RdbModule.WriteString(output, _text.Written);
                    _part = Part.End;
                    return true;
                default:
                    RdbModule.WriteEnd(output);
                    return false;
            }
        }
    }
}
