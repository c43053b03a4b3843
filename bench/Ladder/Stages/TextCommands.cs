using System.Collections.Concurrent;
using System.Globalization;

namespace RedKite.Ladder.Stages;

/// <summary>Requests and replies as strings in which a character is a byte (Latin-1), so that values may be any bytes.</summary>
internal static class TextCommands
{
    internal const string Ok = "+OK\r\n";
    internal const string Null = "$-1\r\n";

    internal static CommandKind KindOf(string[] request) => request.Length switch
    {
        2 when Is(request[0], "GET") => CommandKind.Get,
        3 when Is(request[0], "SET") => CommandKind.Set,
        _ => CommandKind.Other,
    };

    internal static string Bulk(string value) => string.Create(CultureInfo.InvariantCulture, $"${value.Length}\r\n{value}\r\n");

    internal static string BulkOrNull(string? value) => value is null ? Null : Bulk(value);

    /// <summary>Executes a request and returns its reply.</summary>
    internal static string Execute(string[] request, ConcurrentDictionary<string, string> values)
    {
        switch (KindOf(request))
        {
            case CommandKind.Get:
                return BulkOrNull(values.GetValueOrDefault(request[1]));
            case CommandKind.Set:
                values[request[1]] = request[2];
                return Ok;
            default:
                return AnswerOther(request);
        }
    }

    /// <summary>The reply to anything but a valid GET or SET: load generators' setup commands, and errors.</summary>
    internal static string AnswerOther(string[] request)
    {
        string name = request[0];
        if (Is(name, "PING")) return request.Length switch { 1 => "+PONG\r\n", 2 => Bulk(request[1]), _ => WrongArity("ping") };
        if (Is(name, "CONFIG") || Is(name, "COMMAND")) return "*0\r\n";
        if (Is(name, "GET")) return WrongArity("get");
        if (Is(name, "SET")) return request.Length < 3 ? WrongArity("set") : "-ERR syntax error\r\n";
        return $"-ERR unknown command '{OneLine(name)}', with args beginning with: {string.Concat(request.Skip(1).Select(word => $"'{OneLine(word)}' "))}\r\n";
    }

    private static string WrongArity(string name) => $"-ERR wrong number of arguments for '{name}' command\r\n";

    // An error is a single line, whatever it quotes.
    private static string OneLine(string text) => text.Replace('\r', ' ').Replace('\n', ' ');

    private static bool Is(string name, string command) => name.Equals(command, StringComparison.OrdinalIgnoreCase);
}
