using System.Diagnostics;
using RedKite.Json.Paths;
using RedKite.Json.Store;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Memory;

namespace RedKite.Json.Commands;

/// <summary>
/// The text of a reply: a bulk string whose length is known at its end. A short one is composed in a buffer and copied to the reply. A longer one goes there in pieces,
/// to the chunks of the reply, and its head is put in front of it at the end. So nothing as large as the text is allocated. Each thread has one; a text that is
/// written in slices keeps it, and the thread gets another one.
/// </summary>
#pragma warning disable CA1001 // It lives as long as its thread or work; the buffer frees itself.
internal sealed class JsonReplyText
#pragma warning restore CA1001
{
    /// <summary>The longest text of a reply, whatever the memory.</summary>
    internal const int BytesMax = 1 << 30;

    /// <summary>What is written in a slice while the client waits: about a millisecond, if it is numbers.</summary>
    internal const int SliceBytes = 512 << 10;

    // What is longer goes to the reply in pieces of about so many bytes.
    private const int PieceBytes = SliceBytes;

    private const int HeadBytesMax = 16;
    private const int ErrorBytesMax = 256;

    [ThreadStatic]
    private static JsonReplyText? _ofThread;

    private readonly NativeBuffer _piece = new();
    private readonly JsonTextWriter _writer = new();
    private ReplyWriter _reply = null!;
    private long _start; // where the text begins in the reply, without its head
    private int _divisor;
    private bool _isList;
    private int _depth;
    private int _next; // of the matches
    private bool _isOpen; // a match has been begun
    private byte[] _indent = [], _newline = [], _space = [];

    internal static ReadOnlySpan<byte> TooLong => "ERR the text is longer than there is room for"u8;

    /// <summary>The bytes that are written.</summary>
    internal long Length => _reply.Length - _start + _piece.Length;

    /// <summary>Whether the text is not too long so far.</summary>
    internal bool HasRoom => Length <= BytesMax / _divisor && ScratchMemory.HasRoom(Length) && !_reply.Overflowed;

    /// <summary>Begins a text behind what a command has replied.</summary>
    internal static JsonReplyText Begin(scoped in CommandContext cmd)
    {
        JsonReplyText text = _ofThread ??= new JsonReplyText();
        text._piece.Clear();
        (text._reply, text._start, text._divisor) = (cmd.Reply, cmd.Reply.Length, cmd.Keyspace.BoundsDivisor);
        return text;
    }

    internal void Write(ReadOnlySpan<byte> bytes)
    {
        if (_piece.Length >= PieceBytes / _divisor) Spill();
        _piece.Write(bytes);
    }

    /// <summary>Writes a name with its quotes and a colon.</summary>
    internal void WriteName(ReadOnlySpan<byte> name, JsonFormat format)
    {
        JsonTextWriter.WriteString(_piece, name);
        Write(":"u8);
        Write(format.Space);
    }

    internal void Line(JsonFormat format, int depth) => format.Line(_piece, depth);

    /// <summary>Writes a value.</summary>
    /// <returns>False: there is no room for it.</returns>
    internal bool TryWrite(JsonNames names, JsonValue value)
    {
        _writer.Begin(names, value);
        while (HasRoom)
        {
            if (!StepValue(default, 0)) return HasRoom;
        }

        return false;
    }

    /// <summary>Begins with the values that a path selects.</summary>
    /// <param name="isList">Whether they are a list; otherwise only the first one is written.</param>
    /// <param name="depth">How deep the list or the value is in the text.</param>
    internal void BeginMatches(bool isList, int depth = 0)
    {
        (_isList, _depth, _next, _isOpen) = (isList, depth, 0, false);
        if (isList) Write("["u8);
    }

    /// <summary>Writes the values that a path selects.</summary>
    /// <param name="matches">The values.</param>
    /// <param name="format">What is between their parts.</param>
    /// <param name="bytes">About how much is written.</param>
    /// <returns>Whether all is written, or there is no room for it (<see cref="HasRoom"/>).</returns>
    internal bool Run(JsonMatches matches, JsonFormat format, long bytes = long.MaxValue)
    {
        long end = bytes > long.MaxValue - Length ? long.MaxValue : Length + bytes;
        int depth = _depth + (_isList ? 1 : 0), count = _isList ? matches.Items.Length : Math.Min(1, matches.Items.Length);
        while (HasRoom)
        {
            if (_isOpen)
            {
                _isOpen = StepValue(format, depth);
            }
            else if (_next < count)
            {
                if (_isList && _next > 0) Write(","u8);
                if (_isList) Line(format, depth);
                _writer.Begin(matches.Names, matches.Items[_next++].Value);
                _isOpen = true;
                continue;
            }
            else
            {
                if (!_isList) return true;
                if (_next > 0) Line(format, _depth);
                Write("]"u8);
                return true;
            }

            if (Length >= end) return false;
        }

        return true;
    }

    /// <summary>Ends the text, or replies that there is no room for it.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="start">Where the command's reply begins.</param>
    internal bool EndOrReply(scoped in CommandContext cmd, long start)
    {
        bool hasRoom = HasRoom;
        if (!hasRoom) Drop();
        else if (_reply.Length == _start) _reply.Bulk(_piece.Written);
        else EndPieces();
        _piece.Clear();
        if (hasRoom)
        {
            if (_reply != cmd.Reply) cmd.Reply.Take(_reply);
            return true;
        }

        if (!cmd.Reply.Overflowed) cmd.Reply.Truncate(start);
        cmd.Reply.Error(TooLong);
        return false;
    }

    /// <summary>Ends it without a text.</summary>
    internal void Drop()
    {
        _piece.Clear();
        if (!_reply.Overflowed) _reply.Truncate(_start);
    }

    /// <summary>Ends it without a text: what the command has replied behind it, an error, takes its place.</summary>
    internal void DropBefore(long position)
    {
        Span<byte> error = stackalloc byte[ErrorBytesMax];
        error = error[..(int)(_reply.Length - position)];
        _reply.CopyFrom(position, error);
        Drop();
        _reply.Raw(error);
    }

    /// <summary>Takes its object from the thread: the text goes on after other commands, in a writer of its own. What was written is still in the buffer.</summary>
    internal void Keep(ReplyWriter own, JsonFormat format)
    {
        Debug.Assert(_reply.Length == _start, "A slice is not longer than a piece.");
        _ofThread = null;
        (_reply, _start) = (own, 0);
        (_indent, _newline, _space) = (format.Indent.ToArray(), format.Newline.ToArray(), format.Space.ToArray());
    }

    /// <summary>Writes a slice of a text that is kept.</summary>
    internal bool RunSlice(JsonMatches matches) => Run(matches, new JsonFormat(_indent, _newline, _space), SliceBytes / _divisor);

    /// <summary>Forgets what is written of a text that is kept.</summary>
    internal void Restart()
    {
        _piece.Clear();
        _reply.Clear();
        BeginMatches(_isList, _depth);
    }

    /// <summary>Releases a text that is kept.</summary>
    internal void Release()
    {
        _piece.Clear();
        _reply.Clear();
    }

    private bool StepValue(JsonFormat format, int depth)
    {
        if (_piece.Length >= PieceBytes / _divisor) Spill();
        return _writer.Step(_piece, PieceBytes / _divisor, format, depth);
    }

    private void Spill()
    {
        _reply.Raw(_piece.Written);
        _piece.Clear();
    }

    private void EndPieces()
    {
        Spill();
        long end = _reply.Length;
        Span<byte> head = stackalloc byte[HeadBytesMax];
        head[0] = (byte)'$';
        int digits = RespNumber.Format(end - _start, head[1..]);
        head[digits + 1] = (byte)'\r';
        head[digits + 2] = (byte)'\n';
        _reply.Raw(head[..(digits + 3)]);
        _reply.MoveToFront(_start, end);
        _reply.Raw("\r\n"u8);
    }
}
