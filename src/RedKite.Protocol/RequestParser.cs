using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Protocol;

/// <summary>An argument's position in the input.</summary>
internal readonly record struct ArgumentSlice(int Start, int Length);

/// <summary>The result of a parse.</summary>
internal enum ParseStatus
{
    /// <summary>A whole request was read.</summary>
    Complete,

    /// <summary>The input ends inside a request; the state of the incomplete request is remembered.</summary>
    Incomplete,

    /// <summary>The input breaks the protocol, or a limit: the connection gets the error and is closed.</summary>
    Error,
}

/// <summary>The limit that a request has broken.</summary>
internal enum RequestLimit
{
    /// <summary>None: the request breaks the protocol.</summary>
    None,

    /// <summary>It has more arguments than it may.</summary>
    Arguments,

    /// <summary>An argument is longer than it may be.</summary>
    ArgumentBytes,

    /// <summary>Its client has not authenticated, and it is too large for that.</summary>
    Unauthenticated,
}

/// <summary>The limits of a request; smaller for a client that has not authenticated.</summary>
internal readonly record struct RequestLimits(long BulkBytesMax, bool Authenticated, int ArgumentsMax = int.MaxValue)
{
    /// <summary>The longest line: an inline request, or a count.</summary>
    public const int LineBytesMax = 64 * 1024;

    /// <summary>Arguments of one request before authentication.</summary>
    public const int UnauthenticatedArgumentsMax = 10;

    /// <summary>Bytes of one argument before authentication.</summary>
    public const int UnauthenticatedBulkBytesMax = 16384;

    /// <summary>Those of a log's requests, which were accepted when they were executed.</summary>
    public static RequestLimits OfLog => new(int.MaxValue, Authenticated: true);
}

/// <summary>
/// The state of an incomplete request, so that a long one is not read from its start again with every piece. Positions are relative
/// to the request's first byte.
/// </summary>
internal sealed class PartialRequest
{
    internal int Announced;   // arguments that the request announced
    internal int Position;    // where the next argument's header starts
    internal ArgumentSlice[]? Arguments;
    internal int Count;

    /// <summary>Memory of the arguments read so far. A moment old when another thread reads it.</summary>
    public long ArgumentBytes => (Arguments?.Length ?? 0) * 8L;

    /// <summary>
    /// Bytes from the request's start to the end of the incomplete argument, if known: a hint for
    /// the buffer's size.
    /// </summary>
    public long BytesExpected { get; internal set; }

    internal void Add(ArgumentSlice argument)
    {
        if (Arguments is null) Arguments = new ArgumentSlice[8];
        else if (Count == Arguments.Length) Array.Resize(ref Arguments, Count * 2);
        Arguments[Count++] = argument;
    }
}

/// <summary>
/// Reads requests: RESP arrays of bulk strings, and inline ones. It copies nothing: arguments are slices of the input, of
/// which an inline request's are unquoted in place. The checks and texts follow Redis: a bulk string's closing CRLF is
/// skipped unread, as there.
/// </summary>
internal sealed class RequestParser
{
    private const string TooManyArguments = "too many arguments, see max-request-arguments";
    private const int PooledMax = 64;
    private const int PooledBytesMax = 8 * 1024;

    // States of completed requests, for reuse: with large requests nearly every piece ends inside a request.
    private readonly Stack<PartialRequest> _pool = new();

    private ArgumentSlice[] _arguments = new ArgumentSlice[256];
    private int _count;
    private RequestHead _head = RequestHead.None;

    /// <summary>The error of the last parse, as a whole reply without its type byte and line end.</summary>
    public string ErrorText { get; private set; } = "";

    /// <summary>The limit that the last error reports.</summary>
    public RequestLimit BrokenLimit { get; private set; }

    /// <summary>
    /// Whether the last request has the same name, in the same case, and the same number of arguments as the one before it. False
    /// for some requests that have.
    /// </summary>
    public bool Repeats { get; private set; }

    /// <summary>Forgets the arguments of the requests read so far.</summary>
    public void Clear()
    {
        _count = 0;
        if (_arguments.Length > 64 * 1024) _arguments = new ArgumentSlice[256];
    }

    /// <summary>The arguments of a request that <see cref="Parse"/> completed since the last <see cref="Clear"/>.</summary>
    public ReadOnlySpan<ArgumentSlice> Arguments(int first, int count) => _arguments.AsSpan(first, count);

    /// <summary>Reads one request from <paramref name="position"/>, which moves behind it when it is whole.</summary>
    /// <param name="input">The bytes received; an inline request's are unquoted in place.</param>
    /// <param name="position">Where the request starts.</param>
    /// <param name="limits">What this client may send.</param>
    /// <param name="partial">The state of this request from earlier calls, kept by the caller for each connection; null: none.</param>
    /// <param name="first">Index of the first argument.</param>
    /// <param name="count">Number of arguments; 0 for an empty request, which is to be skipped.</param>
    public ParseStatus Parse(Span<byte> input, ref int position, in RequestLimits limits, ref PartialRequest? partial, out int first, out int count)
    {
        first = _count;
        count = 0;
        if (partial is null && TryParseShort(input, ref position, out count)) return ParseStatus.Complete;

        Repeats = false;
        _head = RequestHead.None;
        if (partial is not null)
        {
            ParseStatus resumed = Resume(input, ref position, limits, partial, out count);
            if (resumed != ParseStatus.Complete) return resumed;
            Release(partial);
            partial = null;
            return resumed;
        }

        int start = position;
        int at = start;
        if (start >= input.Length) return ParseStatus.Incomplete;
        if (input[start] != '*') return ParseInline(input, ref position, out count);
        ParseStatus status = ReadLength(input, ref at, "too big mbulk count string", "invalid multibulk length", out long announced);
        if (status != ParseStatus.Complete) return status;
        if (announced > int.MaxValue) return Fail("invalid multibulk length");
        if (announced > RequestLimits.UnauthenticatedArgumentsMax && !limits.Authenticated) return Fail("unauthenticated multibulk length", RequestLimit.Unauthenticated);
        while (_count - first < announced)
        {
            int header = at;
            status = ReadArgument(input, ref at, limits, out ArgumentSlice argument, out long bytesNeeded);
            if (status == ParseStatus.Complete)
            {
                if (_count - first == limits.ArgumentsMax)
                {
                    _count = first;
                    return Fail(TooManyArguments, RequestLimit.Arguments);
                }

                Add(argument);
                continue;
            }

            if (status == ParseStatus.Incomplete) partial = Suspend(first, start, header, (int)announced, bytesNeeded);
            _count = first;
            return status;
        }

        count = _count - first;
        position = at;
        return ParseStatus.Complete;
    }

    // Nearly every request: at most nine arguments of at most 999 bytes, all of it here. That is below every limit, so nothing
    // is checked against them. False: nothing was done, and the general path decides.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool TryParseShort(ReadOnlySpan<byte> input, ref int position, out int count)
    {
        const int HeaderBytes = 4, ArgumentsMax = 9;
        count = 0;
        int at = position;
        if (input.Length - at < HeaderBytes || _arguments.Length - _count < ArgumentsMax) return false;
        ref byte start = ref MemoryMarshal.GetReference(input);
        ref ArgumentSlice next = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(_arguments), _count);
        uint announced;
        uint known = 0;
        bool repeats = input.Length - at >= RequestHead.BytesMax && _head.Begins(ref Unsafe.Add(ref start, at));
        if (repeats)
        {
            announced = (uint)_head.Arguments;
            next = new ArgumentSlice(at + _head.Name.Start, _head.Name.Length);
            at += _head.Bytes;
            known = 1;
        }
        else
        {
            uint header = Unsafe.ReadUnaligned<uint>(ref Unsafe.Add(ref start, at));
            announced = (byte)(header >> 8) - (uint)'0';
            if ((header & 0x00FF00FF) != ('*' | ('\r' << 16)) || announced - 1 >= ArgumentsMax) return false;
            at += HeaderBytes;
        }

        for (uint i = known; i < announced; i++)
        {
            if (input.Length - at < sizeof(ulong)) return false;
            ulong text = Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref start, at));
            uint length = (byte)(text >> 8) - (uint)'0';
            if ((byte)text != '$' || length > 9) return false;
            uint second = (byte)(text >> 16);
            if (second == '\r')
            {
                at += 4;
            }
            else
            {
                if (length == 0 || second - '0' > 9) return false;
                length = (length * 10) + second - '0';
                uint third = (byte)(text >> 24);
                if (third == '\r')
                {
                    at += 5;
                }
                else
                {
                    if (third - '0' > 9 || (byte)(text >> 32) != '\r') return false;
                    length = (length * 10) + third - '0';
                    at += 6;
                }
            }

            if ((int)length + 2 > input.Length - at) return false;
            Unsafe.Add(ref next, i) = new ArgumentSlice(at, (int)length);
            at += (int)length + 2;
        }

        Repeats = repeats;
        if (!repeats) _head = RequestHead.Of(input[position..], (int)announced, next with { Start = next.Start - position });
        count = (int)announced;
        _count += count;
        position = at;
        return true;
    }

    // Continues a request whose first part was read before. Only new input is parsed, and the arguments read before
    // stay where they are until the request is whole: a request in many pieces takes no longer than in one.
    private ParseStatus Resume(ReadOnlySpan<byte> input, ref int position, in RequestLimits limits, PartialRequest partial, out int count)
    {
        count = 0;
        int start = position;
        int at = start + partial.Position;
        while (partial.Count < partial.Announced)
        {
            ParseStatus status = ReadArgument(input, ref at, limits, out ArgumentSlice argument, out long bytesNeeded);
            if (status != ParseStatus.Complete)
            {
                partial.BytesExpected = bytesNeeded == 0 ? 0 : partial.Position + bytesNeeded;
                return status;
            }

            if (partial.Count == limits.ArgumentsMax) return Fail(TooManyArguments, RequestLimit.Arguments);
            partial.Add(argument with { Start = argument.Start - start });
            partial.Position = at - start;
        }

        foreach (ArgumentSlice argument in partial.Arguments.AsSpan(0, partial.Count)) Add(argument with { Start = argument.Start + start });
        count = partial.Count;
        position = at;
        return ParseStatus.Complete;
    }

    // An argument's header and its bytes. If they are incomplete, bytesNeeded is their total number, if the header is known already.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ParseStatus ReadArgument(ReadOnlySpan<byte> input, ref int at, in RequestLimits limits, out ArgumentSlice argument, out long bytesNeeded)
    {
        argument = default;
        bytesNeeded = 0;
        int start = at;
        if (start >= input.Length) return ParseStatus.Incomplete;
        if (input[start] != '$') return RefuseHeader(input[start..]);
        ParseStatus status = ReadLength(input, ref at, "too big bulk count string", "invalid bulk length", out long length);
        if (status != ParseStatus.Complete) return status;
        if (length < 0 || length > limits.BulkBytesMax) return Fail("invalid bulk length", length < 0 ? RequestLimit.None : RequestLimit.ArgumentBytes);
        if (length > RequestLimits.UnauthenticatedBulkBytesMax && !limits.Authenticated) return Fail("unauthenticated bulk length", RequestLimit.Unauthenticated);
        if (length + 2 > input.Length - at)
        {
            bytesNeeded = at - start + length + 2;
            return ParseStatus.Incomplete;
        }

        argument = new ArgumentSlice(at, (int)length);
        at += (int)length + 2;
        return ParseStatus.Complete;
    }

    // A header that does not begin with '$' is reported only when its line is complete, as in Redis.
    private ParseStatus RefuseHeader(ReadOnlySpan<byte> rest)
    {
        ParseStatus line = FindLineEnd(rest, "too big bulk count string", out _);
        return line == ParseStatus.Complete ? Fail($"expected '$', got '{Printable(rest[0])}'") : line;
    }

    // '*' or '$' was seen at the position; the number runs up to a carriage return, whose line feed is skipped unread.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ParseStatus ReadLength(ReadOnlySpan<byte> input, ref int at, string tooLong, string invalid, out long length)
    {
        // The common case: one to four digits, then CR LF, all of it here.
        ref byte text = ref Unsafe.Add(ref MemoryMarshal.GetReference(input), at + 1);
        int left = input.Length - at - 1;
        if (left >= 6)
        {
            uint value = text - (uint)'0';
            if (value is <= 9 and > 0)
            {
                for (int i = 1; i <= 4; i++)
                {
                    uint next = Unsafe.Add(ref text, i);
                    if (next == '\r')
                    {
                        at += i + 3;
                        length = value;
                        return ParseStatus.Complete;
                    }

                    next -= '0';
                    if (next > 9) break;
                    value = (value * 10) + next;
                }
            }
        }

        return ReadLengthSlow(input, ref at, tooLong, invalid, out length);
    }

    private ParseStatus ReadLengthSlow(ReadOnlySpan<byte> input, ref int at, string tooLong, string invalid, out long length)
    {
        length = 0;
        ReadOnlySpan<byte> rest = input[at..];
        ParseStatus line = FindLineEnd(rest, tooLong, out int end);
        if (line != ParseStatus.Complete) return line;
        if (!RespNumber.TryParseInt64(rest[1..end], out length)) return Fail(invalid);
        at += end + 2;
        return ParseStatus.Complete;
    }

    // Where the line's carriage return is. A NUL hides everything behind it, as from C's string search: such a line never ends.
    private ParseStatus FindLineEnd(ReadOnlySpan<byte> rest, string tooLong, out int end)
    {
        end = rest.IndexOfAny((byte)'\r', (byte)0);
        if (end < 0 || rest[end] == 0) return rest.Length > RequestLimits.LineBytesMax ? Fail(tooLong) : ParseStatus.Incomplete;
        return end + 1 < rest.Length ? ParseStatus.Complete : ParseStatus.Incomplete;
    }

    private ParseStatus ParseInline(Span<byte> input, ref int position, out int count)
    {
        count = 0;
        Span<byte> rest = input[position..];
        int end = rest.IndexOfAny((byte)'\n', (byte)0); // a NUL hides the end, see FindLineEnd
        if (end < 0 || rest[end] == 0) return rest.Length > RequestLimits.LineBytesMax ? Fail("too big inline request") : ParseStatus.Incomplete;
        int length = end > 0 && rest[end - 1] == '\r' ? end - 1 : end;
        int first = _count;
        if (!SplitInline(rest[..length], position))
        {
            _count = first;
            return Fail("unbalanced quotes in request");
        }

        count = _count - first;
        position += end + 1;
        return ParseStatus.Complete;
    }

    // Words separated by blanks; "..." with escapes and '...' with \' may hold anything, and must end before a blank. Vertical tabs
    // and form feeds are blanks between words but do not end one. There is no NUL in the line: here it stands for the end.
    private bool SplitInline(Span<byte> line, int offset)
    {
        int at = 0;
        while (true)
        {
            while (at < line.Length && IsBlank(line[at])) at++;
            if (at == line.Length) return true;
            int start = at, written = at;
            byte quote = 0;
            while (true)
            {
                byte c = at < line.Length ? line[at] : (byte)0;
                if (quote == 0)
                {
                    if (c is 0 or (byte)' ' or (byte)'\t' or (byte)'\r' or (byte)'\n') break;
                    if (c is (byte)'"' or (byte)'\'') quote = c;
                    else line[written++] = c;
                    at++;
                    continue;
                }

                if (c == 0) return false;
                if (quote == '"' && c == '\\' && at + 3 < line.Length && line[at + 1] == 'x'
                    && char.IsAsciiHexDigit((char)line[at + 2]) && char.IsAsciiHexDigit((char)line[at + 3]))
                {
                    line[written++] = (byte)((HexValue(line[at + 2]) << 4) | HexValue(line[at + 3]));
                    at += 4;
                }
                else if (quote == '"' && c == '\\' && at + 1 < line.Length)
                {
                    line[written++] = Unescape(line[at + 1]);
                    at += 2;
                }
                else if (quote == '\'' && c == '\\' && at + 1 < line.Length && line[at + 1] == '\'')
                {
                    line[written++] = (byte)'\'';
                    at += 2;
                }
                else if (c == quote)
                {
                    at++;
                    if (at < line.Length && !IsBlank(line[at])) return false;
                    break;
                }
                else
                {
                    line[written++] = c;
                    at++;
                }
            }

            Add(new ArgumentSlice(offset + start, written - start));
        }
    }

    private static bool IsBlank(byte c) => c is (byte)' ' or (>= 9 and <= 13);

    private static byte Unescape(byte c) => c switch
    {
        (byte)'n' => (byte)'\n',
        (byte)'r' => (byte)'\r',
        (byte)'t' => (byte)'\t',
        (byte)'b' => (byte)'\b',
        (byte)'a' => 7,
        _ => c,
    };

    private static int HexValue(byte c) => c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;

    private static char Printable(byte c) => c is (byte)'\r' or (byte)'\n' ? ' ' : (char)c;

    private void Add(ArgumentSlice argument)
    {
        if (_count == _arguments.Length) Array.Resize(ref _arguments, _count * 2);
        _arguments[_count++] = argument;
    }

    private PartialRequest Suspend(int first, int start, int header, int announced, long bytesNeeded)
    {
        if (!_pool.TryPop(out PartialRequest? partial)) partial = new PartialRequest();
        foreach (ArgumentSlice argument in _arguments.AsSpan(first, _count - first)) partial.Add(argument with { Start = argument.Start - start });
        partial.Announced = announced;
        partial.Position = header - start;
        partial.BytesExpected = bytesNeeded == 0 ? 0 : partial.Position + bytesNeeded;
        return partial;
    }

    private void Release(PartialRequest partial)
    {
        partial.Count = 0;
        if (partial.ArgumentBytes <= PooledBytesMax && _pool.Count < PooledMax) _pool.Push(partial);
    }

    private ParseStatus Fail(string text, RequestLimit limit = RequestLimit.None)
    {
        ErrorText = "ERR Protocol error: " + text;
        BrokenLimit = limit;
        return ParseStatus.Error;
    }
}
