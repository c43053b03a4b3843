using System.Globalization;

namespace RedKite.Ladder.Stages;

/// <summary>Reads requests from a stream of text, line by line and argument by argument.</summary>
/// <param name="beforeWaiting">
/// Called when the next piece has not arrived and reading is about to wait: sends deferred replies. Null if there are
/// none.
/// </param>
internal sealed class TextRequestReader(StreamReader input, Func<Task>? beforeWaiting)
{
    /// <summary>The next request's words; null when the client has disconnected.</summary>
    /// <exception cref="ProtocolException">The input is not a request.</exception>
    internal async Task<string[]?> ReadAsync()
    {
        int count;
        do
        {
            if (await ReadLineAsync() is not { } line) return null;
            count = ParseHeader('*', line, "invalid multibulk length");
        }
        while (count <= 0);

        RequestLimits.CheckArguments(count);
        string[] request = new string[count];
        for (int i = 0; i < count; i++)
        {
            if (await ReadLineAsync() is not { } header) return null;
            int length = ParseHeader('$', header, "invalid bulk length");
            RequestLimits.CheckLength(length);
            if (await ReadTextAsync(length) is not { } text) return null;
            request[i] = text;
        }

        return request;
    }

    private async Task<string?> ReadLineAsync()
    {
        Task<string?> reading = input.ReadLineAsync();
        if (!reading.IsCompleted && beforeWaiting is not null) await beforeWaiting();
        return await reading;
    }

    private async Task<string?> ReadTextAsync(int length)
    {
        char[] text = new char[length + 2]; // Includes the line end.
        ValueTask<int> reading = input.ReadBlockAsync(text.AsMemory());
        if (!reading.IsCompleted && beforeWaiting is not null) await beforeWaiting();
        return await reading == text.Length ? new string(text, 0, length) : null;
    }

    // As in Redis, an empty line between requests is ignored.
    private static int ParseHeader(char marker, string line, string otherwise)
    {
        if (line.Length == 0 && marker == '*') return 0;
        char first = line.Length > 0 ? line[0] : '\r';
        if (first != marker) throw RequestLimits.Unexpected(marker, first);
        return int.TryParse(line.AsSpan(1), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int number)
            ? number
            : throw new ProtocolException(otherwise);
    }
}
