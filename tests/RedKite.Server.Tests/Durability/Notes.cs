using System.Security.Cryptography;
using System.Text;
using RedKite.Persistence.Rdb;
using RedKite.Server.Durability;
using RedKite.Server.Model;

namespace RedKite.Server.Tests.Durability;

/// <summary>Texts by name that are no keys: NOTE.SET, NOTE.GET, NOTE.CLEAR. A kind of data that the server does not know.</summary>
internal sealed class Notes(bool outliveKeys) : IKeylessData
{
    private readonly SortedDictionary<string, byte[]> _notes = new(StringComparer.Ordinal);
    private volatile byte[] _digest = [];

    public string Name => "notes";

    public string RecordName => "a note";

    public RdbRecordForm Form { get; } = RdbRecordForm.Field("redkite-note"u8);

    public int Count { get; private set; }

    public long Bytes { get; private set; }

    public IEnumerable<byte[]> Records => _notes.Select(note => Encoding.UTF8.GetBytes(note.Key + "=" + Encoding.UTF8.GetString(note.Value)));

    public byte[][] ClearRequest => ["NOTE.CLEAR"u8.ToArray()];

    public ReadOnlyMemory<byte> Digest => _digest;

    internal static Func<(IKeylessData Data, CommandFamily Family)> New(bool outliveKeys = false) => () =>
    {
        var notes = new Notes(outliveKeys);
        return (notes, notes.Family);
    };

    public byte[][] LoadRequest(byte[] record, bool replaces)
    {
        int at = record.AsSpan().IndexOf((byte)'=');
        byte[][] request = ["NOTE.SET"u8.ToArray(), record[..at], record[(at + 1)..]];
        return replaces ? [.. request, "REPLACE"u8.ToArray()] : request;
    }

    public void KeysFlushed()
    {
        if (!outliveKeys) Clear();
    }

    private CommandFamily Family => new("notes", "",
    [
        new("NOTE.SET", -3, CommandFlags.Write | CommandFlags.RunsScript, KeySpecs.None, Set, new("1.0.0", "O(1)", "Sets a note.")),
        new("NOTE.GET", 2, CommandFlags.ReadOnly | CommandFlags.RunsScript, KeySpecs.None, Get, new("1.0.0", "O(1)", "Returns a note.")),
        new("NOTE.CLEAR", 1, CommandFlags.Write | CommandFlags.RunsScript, KeySpecs.None, ClearAll, new("1.0.0", "O(N)", "Removes all notes.")),
    ]);

    private void Set(ref CommandContext cmd)
    {
        if (_notes.ContainsKey(cmd.Text(1)) && cmd.Count == 3)
        {
            cmd.Reply.Error("ERR the note exists"u8);
            return;
        }

        if (cmd.Count == 4 && cmd.Text(2) == "refused-at-load")
        {
            cmd.Reply.Error("ERR this note is refused"u8);
            return;
        }

        _notes[cmd.Text(1)] = cmd[2].ToArray();
        Update();
        cmd.ChangedLibraries();
        cmd.Reply.Ok();
    }

    private void Get(ref CommandContext cmd)
    {
        if (_notes.TryGetValue(cmd.Text(1), out byte[]? text)) cmd.Reply.Bulk(text);
        else cmd.Reply.Null();
    }

    private void ClearAll(ref CommandContext cmd)
    {
        Clear();
        cmd.ChangedLibraries();
        cmd.Reply.Ok();
    }

    private void Clear()
    {
        _notes.Clear();
        Update();
    }

    private void Update()
    {
        (Count, Bytes) = (_notes.Count, Records.Sum(static record => record.Length));
        _digest = Count == 0 ? [] : SHA256.HashData([.. Records.SelectMany(static record => record)]);
    }
}
