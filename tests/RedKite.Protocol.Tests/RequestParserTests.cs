using System.Diagnostics;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Protocol.Tests;

public class RequestParserTests
{
    private static readonly RequestLimits Limits = new(512 * 1024 * 1024, Authenticated: true);

    [Fact]
    public void Requests_are_parsed_at_any_split()
    {
        byte[] stream = Encoding.Latin1.GetBytes(
            "*1\r\n$4\r\nPING\r\n"
            + "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"
            + "*0\r\n*-3\r\n"
            + "*2\r\n$4\r\nECHO\r\n$12\r\na\r\n$3\r\nb\0c\xFF\r\n"
            + "ECHO \"a b\"  'c' d\"e\"\r\n"
            + "\r\n  \r\n"
            + "PING\n"
            + "*2\rx$3\rxGETyy$2\r\nkkzz"
            + $"*2\r\n$4\r\nECHO\r\n$300\r\n{new string('v', 300)}\r\n");
        string expected = Describe(ReadAll(stream));
        Assert.Equal(9, ReadAll(stream).Count(request => request.Length > 0) + 2);
        for (int cut = 0; cut <= stream.Length; cut++) Assert.Equal(expected, Describe(ReadInPieces(stream, [cut])));
        for (int size = 1; size < 20; size++)
        {
            Assert.Equal(expected, Describe(ReadInPieces(stream, [.. Enumerable.Range(1, stream.Length / size).Select(i => i * size)])));
        }
    }

    [Fact]
    public void Random_requests_are_parsed_at_any_split()
    {
        var random = new Random(20_240_604);
        for (int round = 0; round < TestScale.Of(gate: 60, full: 300); round++)
        {
            var sent = new List<byte[][]>();
            using var stream = new MemoryStream();
            for (int i = random.Next(1, 6); i > 0; i--)
            {
                byte[][] request = new byte[random.Next(1, random.Next(10) == 0 ? 400 : 6)][];
                for (int at = 0; at < request.Length; at++)
                {
                    request[at] = new byte[random.Next(20) == 0 ? random.Next(20_000) : random.Next(12)];
                    random.NextBytes(request[at]);
                }

                sent.Add(request);
                stream.Write(TestSupport.CommandLine.Encode(request));
            }

            byte[] bytes = stream.ToArray();
            int[] cuts = [.. Enumerable.Range(0, random.Next(1, 20)).Select(_ => random.Next(bytes.Length)).Order()];
            Assert.Equal(Describe(sent), Describe(ReadInPieces(bytes, cuts)));
        }
    }

    [Fact]
    public void Million_arguments_in_a_thousand_pieces_are_parsed_once()
    {
        const int Arguments = 1_000_000;
        const int Pieces = 1_000;
        using var stream = new MemoryStream();
        stream.Write(Encoding.ASCII.GetBytes($"*{Arguments}\r\n"));
        for (int i = 0; i < Arguments; i++) stream.Write("$1\r\nx\r\n"u8);
        byte[] bytes = stream.ToArray();
        var parser = new RequestParser();
        Read(parser, bytes, 1);

        // The fastest of a few attempts: a busy machine only makes them slower.
        TimeSpan inOne = TimeSpan.MaxValue, inPieces = TimeSpan.MaxValue;
        long allocated = 0;
        for (int round = 0; round < TestScale.Of(gate: 1, full: 5); round++)
        {
            long whole = Stopwatch.GetTimestamp();
            Read(parser, bytes, 1);
            TimeSpan elapsed = Stopwatch.GetElapsedTime(whole);
            if (elapsed < inOne) inOne = elapsed;

            long pieces = Stopwatch.GetTimestamp();
            long before = GC.GetAllocatedBytesForCurrentThread();
            Read(parser, bytes, Pieces);
            elapsed = Stopwatch.GetElapsedTime(pieces);
            if (elapsed < inPieces) inPieces = elapsed;
            allocated = Math.Max(allocated, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        // Reparsing from the start for each piece would take 500 times the work and several gigabytes.
        if (TestScale.IsLong) Assert.True(inPieces < (inOne * 20) + TimeSpan.FromMilliseconds(200), $"{inOne} in one piece, {inPieces} in {Pieces}");
        Assert.InRange(allocated, 0, 100_000_000);

        static void Read(RequestParser parser, byte[] bytes, int pieces)
        {
            PartialRequest? partial = null;
            for (int piece = 1; piece <= pieces; piece++)
            {
                parser.Clear();
                int position = 0;
                Span<byte> input = bytes.AsSpan(0, (int)((long)bytes.Length * piece / pieces));
                ParseStatus status = parser.Parse(input, ref position, Limits, ref partial, out int first, out int count);
                Assert.Equal(piece == pieces ? ParseStatus.Complete : ParseStatus.Incomplete, status);
                if (piece < pieces) continue;
                Assert.Equal(Arguments, count);
                ArgumentSlice last = parser.Arguments(first, count)[^1];
                Assert.Equal(new ArgumentSlice(bytes.Length - 3, 1), last);
            }
        }
    }

    [Fact]
    public void Partial_request_reports_the_bytes_it_needs()
    {
        byte[] bytes = Encoding.ASCII.GetBytes("*2\r\n$4\r\nECHO\r\n$1000\r\nabc");
        PartialRequest? partial = null;
        int position = 0;
        var parser = new RequestParser();
        Assert.Equal(ParseStatus.Incomplete, parser.Parse(bytes, ref position, Limits, ref partial, out _, out _));
        Assert.Equal(0, position);
        Assert.Equal("*2\r\n$4\r\nECHO\r\n$1000\r\n".Length + 1002, partial!.BytesExpected);
        Assert.Equal(ParseStatus.Incomplete, parser.Parse(bytes, ref position, Limits, ref partial, out _, out _));
        Assert.Equal("*2\r\n$4\r\nECHO\r\n$1000\r\n".Length + 1002, partial!.BytesExpected);
    }

    [Theory]
    [InlineData("*x\r\n", "invalid multibulk length")]
    [InlineData("*\r\n", "invalid multibulk length")]
    [InlineData("*01\r\n", "invalid multibulk length")]
    [InlineData("*+1\r\n", "invalid multibulk length")]
    [InlineData("*2147483648\r\n", "invalid multibulk length")]
    [InlineData("*99999999999999999999\r\n", "invalid multibulk length")]
    [InlineData("*1\r\nX\r\n", "expected '$', got 'X'")]
    [InlineData("*1\r\n\nfoo\r\n", "expected '$', got ' '")]
    [InlineData("*1\r\n\xFF\r\n", "expected '$', got '\xFF'")]
    [InlineData("*2\r\n$4\r\nECHO\r\n:1\r\n", "expected '$', got ':'")]
    [InlineData("*1\r\n$-1\r\n", "invalid bulk length")]
    [InlineData("*1\r\n$ 4\r\n", "invalid bulk length")]
    [InlineData("*1\r\n$x\r\n", "invalid bulk length")]
    [InlineData("*1\r\n$536870913\r\n", "invalid bulk length")]
    [InlineData("ECHO \"a\r\n", "unbalanced quotes in request")]
    [InlineData("ECHO 'a\r\n", "unbalanced quotes in request")]
    [InlineData("ECHO \"a\"b\r\n", "unbalanced quotes in request")]
    public void Malformed_request_is_reported(string request, string error)
    {
        foreach (int cut in Enumerable.Range(0, request.Length))
        {
            Assert.Equal("ERR Protocol error: " + error, ErrorOf(Encoding.Latin1.GetBytes(request), cut, Limits));
        }
    }

    [Theory]
    [InlineData("*", "too big mbulk count string")]
    [InlineData("*1\r\n$", "too big bulk count string")]
    [InlineData("*1\r\nX", "too big bulk count string")]
    [InlineData("P", "too big inline request")]
    [InlineData("P\0\r\n", "too big inline request")]
    [InlineData("*1\0\r\n", "too big mbulk count string")]
    public void Overlong_line_is_reported(string start, string error)
    {
        int header = start.LastIndexOf('\n') + 1;
        if (start.Contains('\0', StringComparison.Ordinal)) header = 0; // no line ends after a NUL
        byte[] bytes = Encoding.ASCII.GetBytes(start + new string('1', header + RequestLimits.LineBytesMax + 1 - start.Length));
        Assert.Null(ErrorOf(bytes[..^1], 0, Limits));
        Assert.Equal("ERR Protocol error: " + error, ErrorOf(bytes, 0, Limits));
        Assert.Equal("ERR Protocol error: " + error, ErrorOf(bytes, bytes.Length / 2, Limits));
    }

    [Theory]
    [InlineData("*11\r\n", "unauthenticated multibulk length")]
    [InlineData("*10\r\n", null)]
    [InlineData("*1\r\n$16385\r\n", "unauthenticated bulk length")]
    [InlineData("*1\r\n$16384\r\n", null)]
    public void Unauthenticated_client_has_small_limits(string request, string? error)
    {
        Assert.Equal(error is null ? null : "ERR Protocol error: " + error, ErrorOf(Encoding.ASCII.GetBytes(request), 0, Limits with { Authenticated = false }));
        Assert.Null(ErrorOf(Encoding.ASCII.GetBytes(request), 0, Limits));
    }

    [Fact]
    public void Split_requests_allocate_nothing_in_the_steady_state()
    {
        var request = new StringBuilder("*101\r\n");
        for (int i = 0; i < 101; i++) request.Append("$3\r\nabc\r\n");
        byte[] bytes = Encoding.ASCII.GetBytes(request.ToString());
        var parser = new RequestParser();
        Read(parser, bytes, times: 10);
        Assert.Equal(0, Allocations.LeastBytes(() => Read(parser, bytes, times: 1_000)));

        static void Read(RequestParser parser, byte[] bytes, int times)
        {
            PartialRequest? partial = null;
            for (int i = 0; i < times; i++)
            {
                parser.Clear();
                int position = 0;
                _ = parser.Parse(bytes.AsSpan(0, bytes.Length - 1), ref position, Limits, ref partial, out _, out _);
                _ = parser.Parse(bytes, ref position, Limits, ref partial, out _, out _);
            }
        }
    }

    [Fact]
    public void Error_keeps_the_preceding_requests()
    {
        var parser = new RequestParser();
        byte[] bytes = Encoding.ASCII.GetBytes("*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n!\r\n");
        int position = 0;
        PartialRequest? partial = null;
        Assert.Equal(ParseStatus.Complete, parser.Parse(bytes, ref position, Limits, ref partial, out _, out _));
        Assert.Equal(ParseStatus.Error, parser.Parse(bytes, ref position, Limits, ref partial, out _, out _));
        Assert.Equal(14, position);
        Assert.Equal([new ArgumentSlice(8, 4)], parser.Arguments(0, 1).ToArray());
    }

    private static string? ErrorOf(byte[] bytes, int cut, RequestLimits limits)
    {
        var parser = new RequestParser();
        PartialRequest? partial = null;
        foreach (int end in new[] { cut, bytes.Length })
        {
            parser.Clear();
            int position = 0;
            ParseStatus status = parser.Parse(bytes.AsSpan(0, end), ref position, limits, ref partial, out _, out _);
            if (status == ParseStatus.Error) return parser.ErrorText;
            Assert.Equal(0, position);
        }

        return null;
    }

    [Fact]
    public void Repeated_request_reuses_name_and_argument_count()
    {
        // Some are too long for it, some too close to the end of the input.
        string[] names = ["GET", "get", "SET", "LPUSH", "ZRANGEBYSCORE", "GEORADIUSBYMEMBER_RO", "ANAMETHATISTOOLONGTOBEREMEMBERED", "P", ""];
        var random = new Random(32);
        var parser = new RequestParser();
        string? name = null;
        int arguments = 0, repeats = 0;
        for (int round = 0; round < 2000; round++)
        {
            List<string[]> requests = [.. Enumerable.Range(0, random.Next(1, 8)).SelectMany(_ => Requests())];
            byte[] bytes = Encoding.ASCII.GetBytes(string.Concat(requests.Select(request => $"*{request.Length}\r\n" + string.Concat(request.Select(text => $"${text.Length}\r\n{text}\r\n")))));
            int position = 0;
            PartialRequest? partial = null;
            parser.Clear();
            foreach (string[] request in requests)
            {
                int start = position;
                Assert.Equal(ParseStatus.Complete, parser.Parse(bytes, ref position, Limits, ref partial, out int first, out int count));
                Assert.Equal(request, parser.Arguments(first, count).ToArray().Select(argument => Encoding.ASCII.GetString(bytes, argument.Start, argument.Length)));
                bool same = request[0] == name && count == arguments;
                if (parser.Repeats) Assert.True(same);
                else Assert.False(same && request[0].Length <= 8 && position - start >= 32, "A usual request repeats, and that is not seen.");
                if (parser.Repeats) repeats++;

                // Requests too short for the comparison do not set a reference either.
                (name, arguments) = bytes.Length - start >= 32 ? (request[0], count) : (null, 0);
            }

            Assert.Equal(bytes.Length, position);
        }

        Assert.InRange(repeats, 1000, int.MaxValue);

        IEnumerable<string[]> Requests() =>
            Enumerable.Repeat<string[]>([names[random.Next(names.Length)], .. Enumerable.Range(0, random.Next(4)).Select(_ => new string('v', random.Next(4, 30)))], random.Next(1, 4));
    }

    [Fact]
    public void Unparsed_request_is_not_repeated()
    {
        foreach (byte filler in new byte[] { 0, 255 })
        {
            var parser = new RequestParser();
            byte[] bytes = new byte[100];
            Array.Fill(bytes, filler);
            int position = 0;
            PartialRequest? partial = null;
            Assert.Equal(ParseStatus.Incomplete, parser.Parse(bytes, ref position, Limits, ref partial, out _, out _));
            Assert.False(parser.Repeats);
        }
    }

    private static List<byte[][]> ReadAll(byte[] stream) => ReadInPieces(stream, []);

    // Reads like a connection: complete requests are consumed; the rest moves to the start of a new buffer each time.
    private static List<byte[][]> ReadInPieces(byte[] stream, int[] cuts)
    {
        var parser = new RequestParser();
        var requests = new List<byte[][]>();
        PartialRequest? partial = null;
        byte[] buffer = [];
        int from = 0;
        foreach (int cut in cuts.Append(stream.Length))
        {
            buffer = [.. buffer, .. stream.AsSpan(from, Math.Max(0, cut - from))];
            from = Math.Max(from, cut);
            int position = 0;
            parser.Clear();
            while (true)
            {
                ParseStatus status = parser.Parse(buffer, ref position, Limits, ref partial, out int first, out int count);
                Assert.NotEqual(ParseStatus.Error, status);
                if (status == ParseStatus.Incomplete) break;
                partial = null;
                if (count == 0) continue;
                byte[][] request = new byte[count][];
                for (int i = 0; i < count; i++)
                {
                    ArgumentSlice argument = parser.Arguments(first, count)[i];
                    request[i] = buffer.AsSpan(argument.Start, argument.Length).ToArray();
                }

                requests.Add(request);
            }

            buffer = buffer[position..];
        }

        Assert.Empty(buffer);
        return requests;
    }

    private static string Describe(List<byte[][]> requests) => string.Join('\n', requests.Select(request => TestSupport.CommandLine.Format(request)));
}
