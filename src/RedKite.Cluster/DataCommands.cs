using System.Buffers.Text;
using System.Text;
using RedKite.Persistence.Log;

namespace RedKite.Server.Cluster;

/// <summary>
/// Copies the commands of a replication stream that are on data, and leaves out what passes between a primary and its replicas, and messages. The stream comes in pieces that may be cut anywhere; of
/// a command, only what is before its second argument is kept in memory. SELECT precedes a command whose database is another one than that of the command before it; the first is in database 0 otherwise.
/// </summary>
/// <param name="write">Receives what is copied.</param>
/// <param name="database">The database that is selected at the stream's begin.</param>
internal sealed class DataCommands(Action<ReadOnlySpan<byte>> write, int database)
{
    private const int LineBytesMax = 32;
    private const int NameBytesMax = 64; // no command that is propagated has a longer one

    private static readonly byte[][] LeftOut = ["PING"u8.ToArray(), "REPLCONF"u8.ToArray(), "SELECT"u8.ToArray(), "PUBLISH"u8.ToArray(), "SPUBLISH"u8.ToArray()];

    private readonly byte[] _head = new byte[(2 * LineBytesMax) + NameBytesMax + 2]; // the command up to its name
    private int _headLength;
    private int _lineStart; // in the head; of later lines, which are not kept longer than they last
    private int _arguments; // that are missing
    private long _left = -1; // bytes of the argument; -1: a line
    private bool _isNamed;
    private bool _isCopied;
    private bool _isSelect;
    private int _database = database;
    private int _next; // of a SELECT, as far as its argument is known
    private int _copiedDatabase;

    /// <summary>Commands that were copied as a whole; MULTI and EXEC count, and SELECT does not.</summary>
    internal long Count { get; private set; }

    /// <summary>Takes the next piece.</summary>
    /// <exception cref="InvalidDataException">It is no stream of commands.</exception>
    internal void Add(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            int taken = _left < 0 ? TakeLine(bytes) : TakeArgument(bytes);
            bytes = bytes[taken..];
        }
    }

    private int TakeLine(ReadOnlySpan<byte> bytes)
    {
        int end = bytes.IndexOf((byte)'\n') + 1;
        int taken = end > 0 ? end : bytes.Length;
        Keep(bytes[..taken]);
        if (end > 0) EndLine(_head.AsSpan(_lineStart, _headLength - _lineStart));
        return taken;
    }

    private void EndLine(ReadOnlySpan<byte> line)
    {
        bool begins = _arguments == 0;
        if (line.Length < 4 || line[0] != (begins ? '*' : '$') || !Utf8Parser.TryParse(line[1..^2], out int number, out int parsed) || parsed != line.Length - 3 || number < (begins ? 1 : 0)) throw new InvalidDataException("the stream has something else than commands");
        if (begins)
        {
            (_arguments, _isNamed) = (number, false);
            _lineStart = _headLength;
            return;
        }

        if (!_isNamed && number > NameBytesMax) throw new InvalidDataException("the stream has a command with a long name");
        _left = number + 2;
        if (_isNamed) PassOn();
        else _lineStart = _headLength;
    }

    private int TakeArgument(ReadOnlySpan<byte> bytes)
    {
        int taken = (int)Math.Min(_left, bytes.Length);
        _left -= taken;
        if (!_isNamed) Keep(bytes[..taken]);
        else if (_isCopied) write(bytes[..taken]);
        else if (_isSelect) TakeDigits(bytes[..taken]);
        if (_left > 0) return taken;
        _left = -1;
        if (!_isNamed)
        {
            ReadOnlySpan<byte> name = _head.AsSpan(_lineStart, _headLength - _lineStart - 2);
            _isNamed = true;
            _isCopied = true;
            foreach (byte[] other in LeftOut) _isCopied &= !Ascii.EqualsIgnoreCase(name, other);
            _isSelect = Ascii.EqualsIgnoreCase(name, "SELECT"u8);
            _next = 0;
            if (_isCopied && _database != _copiedDatabase) Select();
            PassOn();
        }

        if (--_arguments > 0) return taken;
        if (_isCopied) Count++;
        else if (_isSelect) _database = _next;
        return taken;
    }

    // A primary writes nothing but digits.
    private void TakeDigits(ReadOnlySpan<byte> bytes)
    {
        foreach (byte next in bytes)
        {
            if (!char.IsAsciiDigit((char)next)) continue;
            if (_next >= int.MaxValue / 10) throw new InvalidDataException("the stream selects a database that cannot be");
            _next = (_next * 10) + (next - '0');
        }
    }

    private void Select()
    {
        Span<byte> command = stackalloc byte[SelectCommand.LengthMax];
        write(command[..SelectCommand.Format(_database, command)]);
        _copiedDatabase = _database;
    }

    private void Keep(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > _head.Length - _headLength) throw new InvalidDataException("the stream has a line that is too long");
        bytes.CopyTo(_head.AsSpan(_headLength));
        _headLength += bytes.Length;
    }

    // What is known to be copied, or not.
    private void PassOn()
    {
        if (_isCopied) write(_head.AsSpan(0, _headLength));
        _headLength = _lineStart = 0;
    }
}
