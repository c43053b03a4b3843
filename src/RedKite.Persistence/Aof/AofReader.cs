using System.Buffers.Text;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Store.Memory;

namespace RedKite.Persistence.Aof;

/// <summary>What <see cref="AofReader.Read"/> found.</summary>
internal enum AofRead : byte
{
    /// <summary>A command.</summary>
    Command,

    /// <summary>An annotation with the time at which the commands after it were written.</summary>
    Timestamp,

    /// <summary>The end of the file, behind a whole unit.</summary>
    End,

    /// <summary>
    /// The end of the file within a command, or within a MULTI without its EXEC. What is whole ends at <see cref="AofReader.UnitEnd"/>.
    /// </summary>
    Truncated,
}

/// <summary>
/// Reads the commands of an append-only file in order: RESP arrays of bulk strings, with lines between them that begin with # and are
/// ignored, except <c>#TS:seconds</c> and <c>#REPL:id offset database</c>, the position in a stream for replicas that all commands before it lead to. A unit is a command, or all from MULTI to EXEC. Memory is that of the largest command. Anything
/// else than a whole command or a truncated one is an <see cref="AofException"/>.
/// </summary>
/// <remarks>
/// A file may begin with RDB data (<see cref="BeginsWithRdb"/>): an <see cref="RdbFileReader"/> reads that, and a reader opened at its end
/// reads the commands.
/// </remarks>
internal sealed class AofReader : IDisposable
{
    private const int WindowBytes = 256 * 1024;

    // The longest annotation.
    private const int LineBytesMax = 1024;

    // A marker, 19 digits and a sign, an end of line, and some.
    private const int NumberBytesMax = 32;

    private const int EndOfLineBytes = 2;

    private const int ArgumentsMax = 1 << 27;

    // "$0", an end of line, no bytes, an end of line.
    private const int ArgumentBytesMin = 6;

    private readonly IOpenFile _file;
    private readonly NativeBuffer _arguments = new(); // pairs of ints: start and length, relative to the command
    private NativeBuffer _window = new();
    private NativeBuffer _refilled = new();
    private long _windowStart;
    private int _next; // in the window
    private int _commandStart;

    /// <param name="file">The file; the caller owns it.</param>
    /// <param name="start">The position of the first command.</param>
    internal AofReader(IOpenFile file, long start = 0)
    {
        _file = file;
        Length = file.Length;
        _windowStart = start;
        UnitEnd = start;
    }

    /// <summary>The file's size when the reader was opened.</summary>
    internal long Length { get; }

    /// <summary>The position behind what has been read.</summary>
    internal long Position => _windowStart + _next;

    /// <summary>The position of the current command or annotation.</summary>
    internal long Start => _windowStart + _commandStart;

    /// <summary>The position behind the last whole unit: where a truncated file is cut.</summary>
    internal long UnitEnd { get; private set; }

    /// <summary>Whether a MULTI has been read whose EXEC has not.</summary>
    internal bool InUnit { get; private set; }

    /// <summary>The number of the command's arguments, including its name.</summary>
    internal int Count { get; private set; }

    /// <summary>An argument, valid until the next read.</summary>
    internal ReadOnlySpan<byte> this[int index]
    {
        get
        {
            ReadOnlySpan<int> slices = MemoryMarshal.Cast<byte, int>(_arguments.Written);
            return _window.Written.Slice(_commandStart + slices[2 * index], slices[(2 * index) + 1]);
        }
    }

    /// <summary>Whether the command is the MULTI or EXEC around a unit.</summary>
    internal bool IsFrame { get; private set; }

    /// <summary>What is wrong with a MULTI or EXEC that has no other around it, and is to be ignored; null: nothing.</summary>
    internal string? Stray { get; private set; }

    /// <summary>The command's bytes in the file, valid until the next read. They may be changed.</summary>
    internal Span<byte> Raw => _window.Slice(_commandStart, _next - _commandStart);

    /// <summary>The time of the last annotation, in seconds since 1970; 0: none.</summary>
    internal long TimestampSeconds { get; private set; }

    /// <summary>The position in a stream that the annotation behind the last command names; null: there is none.</summary>
    internal RdbReplication? EndPosition { get; private set; }

    /// <summary>The annotation that names a position in a stream.</summary>
    internal static byte[] PositionLine(RdbReplication position) => Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"#REPL:{position.Id} {position.Offset} {position.Database}\r\n"));

    /// <summary>Whether a file begins with RDB data.</summary>
    internal static bool BeginsWithRdb(IOpenFile file)
    {
        Span<byte> head = stackalloc byte[RdbFileReader.HeaderBytes];
        int read = file.Read(0, head);
        return RdbFileReader.Begins(head[..read]);
    }

    /// <summary>Reads the next command or annotation.</summary>
    internal AofRead Read()
    {
        while (true)
        {
            _commandStart = _next;
            if (Position == Length) return InUnit ? AofRead.Truncated : AofRead.End;
            Step step = TryStep();
            switch (step)
            {
                case Step.Command:
                    NoteUnit();
                    return AofRead.Command;
                case Step.Timestamp:
                    return AofRead.Timestamp;
                case Step.Ignored:
                    continue;
            }

            _next = _commandStart;
            if (step == Step.Cut || _windowStart + _window.Length == Length) return AofRead.Truncated;
            Fill();
        }
    }

    public void Dispose()
    {
        _arguments.Dispose();
        _window.Dispose();
        _refilled.Dispose();
    }

    private Step TryStep()
    {
        if (_next == _window.Length) return Step.Starved;
        return _window.Written[_next] switch
        {
            (byte)'#' => TryAnnotation(),
            (byte)'*' => TryCommand(),
            _ => throw Invalid("expected a command, which begins with '*'"),
        };
    }

    private Step TryAnnotation()
    {
        ReadOnlySpan<byte> rest = _window.Written[_next..];
        int end = rest[..Math.Min(rest.Length, LineBytesMax)].IndexOf((byte)'\n');
        if (end < 0) return rest.Length < LineBytesMax ? Step.Starved : throw Invalid("the annotation is too long");
        _next += end + 1;
        ReadOnlySpan<byte> line = rest[..end].TrimEnd((byte)'\r');
        if (line.StartsWith(PositionPrefix)) EndPosition = PositionIn(Encoding.ASCII.GetString(line[PositionPrefix.Length..]));
        if (!line.StartsWith("#TS:"u8) || !Utf8Parser.TryParse(line[4..], out long seconds, out int used) || used != line.Length - 4) return Step.Ignored;
        TimestampSeconds = seconds;
        return Step.Timestamp;
    }

    private static ReadOnlySpan<byte> PositionPrefix => "#REPL:"u8;

    private static RdbReplication? PositionIn(string text) => text.Split(' ') is [{ Length: RdbReplication.IdLength } id, var offset, var database]
        && long.TryParse(offset, NumberStyles.None, CultureInfo.InvariantCulture, out long bytes) && int.TryParse(database, NumberStyles.None, CultureInfo.InvariantCulture, out int index)
        ? new RdbReplication(index, id, bytes) : null;

    private Step TryCommand()
    {
        Step step = TryNumber((byte)'*', out long count);
        if (step != Step.Command) return step;
        if (count is < 1 or > ArgumentsMax) throw Invalid("the number of arguments is invalid");
        if (count * ArgumentBytesMin > Length - Position) return Step.Cut;
        _arguments.Clear();
        for (int i = 0; i < count; i++)
        {
            step = TryNumber((byte)'$', out long length);
            if (step != Step.Command) return step;
            if (length is < 0 or > int.MaxValue) throw Invalid("the length of an argument is invalid");
            if (length + EndOfLineBytes > Length - Position) return Step.Cut;
            if (length + EndOfLineBytes > _window.Length - _next) return Step.Starved;
            if (!_window.Written.Slice(_next + (int)length, EndOfLineBytes).SequenceEqual("\r\n"u8)) throw Invalid("an argument does not end where its length says");
            Span<int> slice = MemoryMarshal.Cast<byte, int>(_arguments.Room(2 * sizeof(int)));
            slice[0] = _next - _commandStart;
            slice[1] = (int)length;
            _arguments.Advance(2 * sizeof(int));
            _next += (int)length + EndOfLineBytes;
        }

        Count = (int)count;
        return Step.Command;
    }

    // A marker, digits, and the end of the line.
    private Step TryNumber(byte marker, out long number)
    {
        number = 0;
        ReadOnlySpan<byte> rest = _window.Written[_next..];
        if (rest.IsEmpty) return Step.Starved;
        if (rest[0] != marker) throw Invalid($"expected '{(char)marker}'");
        int end = rest[..Math.Min(rest.Length, NumberBytesMax)].IndexOf((byte)'\n');
        if (end < 0) return rest.Length < NumberBytesMax ? Step.Starved : throw Invalid("a length has no end");
        bool isNumber = end > EndOfLineBytes && rest[end - 1] == (byte)'\r' && Utf8Parser.TryParse(rest[1..(end - 1)], out number, out int used) && used == end - EndOfLineBytes;
        if (!isNumber) throw Invalid("a length is no number");
        _next += end + 1;
        return Step.Command;
    }

    // Moves the window so that it begins with the current command and has more of it.
    private void Fill()
    {
        ReadOnlySpan<byte> unread = _window.Written[_commandStart..];
        long wanted = Math.Min(Math.Max(WindowBytes, unread.Length * 2L), int.MaxValue);
        int bytes = (int)Math.Min(wanted - unread.Length, Length - _windowStart - _window.Length);
        if (bytes == 0) throw Invalid("a command of more than 2 GiB");
        _refilled.Clear();
        Span<byte> target = _refilled.Room(unread.Length + bytes);
        unread.CopyTo(target);
        int read = _file.Read(_windowStart + _window.Length, target[unread.Length..]);
        if (read < bytes) throw Invalid("the file became shorter while it was read");
        _refilled.Advance(unread.Length + read);
        _windowStart += _commandStart;
        (_window, _refilled) = (_refilled, _window);
        (_commandStart, _next) = (0, 0);
    }

    private void NoteUnit()
    {
        bool begins = Ascii.EqualsIgnoreCase(this[0], "MULTI"u8), ends = Ascii.EqualsIgnoreCase(this[0], "EXEC"u8); // as in Redis, whatever arguments they have
        IsFrame = begins || ends;
        EndPosition = null;

        // No server writes these: what was between is missing. As in Redis they change nothing; a transaction begins at its first MULTI.
        Stray = IsFrame && InUnit == begins ? (begins ? "MULTI within a transaction" : "EXEC without MULTI") : null;
        if (IsFrame) InUnit = begins;
        if (!InUnit) UnitEnd = Position;
    }

    private AofException Invalid(string reason) => AofException.AtByte(_file.Path, Position, reason);

    // What the window has at the current position. Starved: the beginning of something. Cut: the same, and the file has no more of it.
    private enum Step
    {
        Command,
        Timestamp,
        Ignored,
        Starved,
        Cut,
    }
}
