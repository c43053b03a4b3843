using System.Collections;
using System.Globalization;
using System.Text;

namespace RedKite.Testing;

/// <summary>A command that the server has received from a connection.</summary>
/// <param name="Number">Its place among all of them, from 1.</param>
/// <param name="Time">When it arrived, by the server's clock.</param>
/// <param name="ClientId">The client's id.</param>
/// <param name="ClientName">The client's name; empty: it has none.</param>
/// <param name="Database">The selected database.</param>
/// <param name="Name">The command's name in lower case, with a subcommand: "client|setname".</param>
/// <param name="Arguments">All arguments as UTF-8, the name as it was written first.</param>
/// <param name="Error">The error that it was answered with; null: none. Later than the rest.</param>
public sealed record RedKiteReceivedCommand(long Number, DateTimeOffset Time, long ClientId, string ClientName, int Database, string Name, IReadOnlyList<string> Arguments, string? Error)
{
    private const int ShownArgumentMax = 60;

    /// <summary>Whether it names a key or channel; what client libraries send on their own (HELLO, CLIENT, INFO, ...) does not.</summary>
    internal bool HasKeysOrChannels { get; init; }

    /// <summary>The command as a line: long arguments cut short, what is not printable escaped.</summary>
    public override string ToString()
    {
        var text = new StringBuilder();
        text.Append(Number).Append(": [").Append(ClientId).Append(ClientName.Length > 0 ? " " + ClientName : "").Append(Database != 0 ? $" db{Database}" : "").Append(']');
        foreach (string argument in Arguments) AppendShown(text.Append(' '), argument);
        if (Error is not null) text.Append(" -> ").Append(Error);
        return text.ToString();
    }

    internal static StringBuilder AppendShown(StringBuilder text, string argument)
    {
        if (argument.Length == 0) return text.Append("\"\"");
        foreach (char character in argument.AsSpan(0, Math.Min(argument.Length, ShownArgumentMax)))
        {
            switch (character)
            {
                case '\n':
                    text.Append("\\n");
                    break;
                case '\r':
                    text.Append("\\r");
                    break;
                default:
                    if (char.IsControl(character) || character == '\uFFFD') text.Append(CultureInfo.InvariantCulture, $"\\x{(int)character:x2}");
                    else text.Append(character);
                    break;
            }
        }

        return argument.Length > ShownArgumentMax ? text.Append("...") : text;
    }
}

/// <summary>
/// The commands that connections have sent, the oldest first, up to the last 10,000. Those with an unknown name or a wrong number of arguments are not among them, nor
/// are calls in the process. Enumerating sees a copy. Thread-safe.
/// </summary>
#pragma warning disable CA1710 // Tests read as sentences: redis.Received.Expect(...).
public sealed class RedKiteReceived : IReadOnlyCollection<RedKiteReceivedCommand>
#pragma warning restore CA1710
{
    private const int KeptMax = 10_000;
    private const int ShownMax = 20;

    // For the command that is nearest to an expected one.
    private const int ComparedCommandsMax = 1000;
    private const int ComparedCharactersMax = 200;

    private readonly Lock _adding = new();
    private readonly Queue<RedKiteReceivedCommand> _commands = new();
    private long _total;

    internal RedKiteReceived()
    {
    }

    /// <summary>How many are kept.</summary>
    public int Count
    {
        get
        {
            lock (_adding) return _commands.Count;
        }
    }

    /// <summary>How many were received since the last <see cref="Clear"/>.</summary>
    public long Total => Volatile.Read(ref _total);

    /// <summary>Those of a command, by its name in any case: "get", "client|setname".</summary>
    public IReadOnlyList<RedKiteReceivedCommand> Of(string name) => [.. this.Where(command => string.Equals(command.Name, name, StringComparison.OrdinalIgnoreCase))];

    /// <summary>Forgets all of them.</summary>
    public void Clear()
    {
        lock (_adding)
        {
            _commands.Clear();
            _total = 0;
        }
    }

    /// <summary>Checks that a command was received that begins with these arguments; the name counts in any case.</summary>
    /// <returns>The last one.</returns>
    /// <exception cref="RedKiteExpectationException">None was; the message shows the nearest command and the last ones.</exception>
    public RedKiteReceivedCommand Expect(params string[] arguments)
    {
        RedKiteReceivedCommand? found = this.LastOrDefault(command => BeginsWith(command, arguments));
        return found ?? throw new RedKiteExpectationException($"Expected to receive '{Shown(arguments)}'. {DescribeNearest(arguments)}{Describe()}");
    }

    /// <summary>Checks that no command was received that begins with these arguments.</summary>
    /// <exception cref="RedKiteExpectationException">One was; the message shows the last commands.</exception>
    public void ExpectNone(params string[] arguments)
    {
        if (this.LastOrDefault(command => BeginsWith(command, arguments)) is { } found) throw new RedKiteExpectationException($"Did not expect '{found}'. {Describe()}");
    }

    /// <summary>
    /// The last commands with keys or channels as text, for the messages of a test's own checks. How many others there were, such as a client library's HELLO and
    /// CLIENT, is said at the end.
    /// </summary>
    public string Describe()
    {
        RedKiteReceivedCommand[] all = [.. this];
        if (all.Length == 0) return "No command was received.";
        RedKiteReceivedCommand[] shown = [.. all.Where(static command => command.HasKeysOrChannels).TakeLast(ShownMax)];
        int others = all.Count(static command => !command.HasKeysOrChannels);
        var text = new StringBuilder(shown.Length == 0 ? "No command with a key or channel was received." : "The last commands:");
        foreach (RedKiteReceivedCommand command in shown) text.Append("\n  ").Append(command);
        if (others > 0) text.Append(CultureInfo.InvariantCulture, $"\n  and {others} without key or channel");
        return text.ToString();
    }

    /// <inheritdoc/>
    public IEnumerator<RedKiteReceivedCommand> GetEnumerator()
    {
        RedKiteReceivedCommand[] copy;
        lock (_adding) copy = [.. _commands];
        return ((IEnumerable<RedKiteReceivedCommand>)copy).GetEnumerator();
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    internal void Add(in CommandCall call, DateTimeOffset time, string? error)
    {
        var arguments = new string[call.ArgumentCount];
        for (int i = 0; i < arguments.Length; i++) arguments[i] = Encoding.UTF8.GetString(call[i]);
        lock (_adding)
        {
            _commands.Enqueue(new RedKiteReceivedCommand(++_total, time, call.ClientId, call.ClientName, call.DatabaseIndex, call.Name, arguments, error)
            {
                HasKeysOrChannels = call.Context.Command.Keys.Length > 0 || call.Context.Command.Channels is not null,
            });
            if (_commands.Count > KeptMax) _commands.Dequeue();
        }
    }

    private static string Shown(string[] arguments)
    {
        var text = new StringBuilder();
        for (int i = 0; i < arguments.Length; i++) RedKiteReceivedCommand.AppendShown(i > 0 ? text.Append(' ') : text, arguments[i]);
        return text.ToString();
    }

    // Whatever has the fewest differing characters: a test that fails has most often one wrong argument.
    private string DescribeNearest(string[] arguments)
    {
        string expected = Shown(arguments);
        RedKiteReceivedCommand? nearest = this.Where(static command => command.HasKeysOrChannels).TakeLast(ComparedCommandsMax)
            .MinBy(command => Distance(expected, Shown([.. command.Arguments.Take(arguments.Length)])));
        return nearest is null ? "" : $"The nearest is\n  {nearest}\n";
    }

    // Levenshtein's, in any case.
    private static int Distance(string left, string right)
    {
        int width = Math.Min(right.Length, ComparedCharactersMax);
        Span<int> row = stackalloc int[ComparedCharactersMax + 1];
        for (int i = 0; i <= width; i++) row[i] = i;
        for (int l = 0; l < Math.Min(left.Length, ComparedCharactersMax); l++)
        {
            int diagonal = row[0]++;
            for (int r = 0; r < width; r++)
            {
                int replaced = diagonal + (char.ToUpperInvariant(left[l]) == char.ToUpperInvariant(right[r]) ? 0 : 1);
                diagonal = row[r + 1];
                row[r + 1] = Math.Min(replaced, Math.Min(row[r], diagonal) + 1);
            }
        }

        return row[width];
    }

    private static bool BeginsWith(RedKiteReceivedCommand command, string[] arguments)
    {
        if (command.Arguments.Count < arguments.Length) return false;
        for (int i = 0; i < arguments.Length; i++)
        {
            if (!string.Equals(command.Arguments[i], arguments[i], i == 0 ? StringComparison.OrdinalIgnoreCase : StringComparison.Ordinal)) return false;
        }

        return true;
    }
}

/// <summary>A check of <see cref="RedKiteReceived"/> has failed.</summary>
public sealed class RedKiteExpectationException : Exception
{
    /// <param name="message">What was expected, and the last commands.</param>
    public RedKiteExpectationException(string message)
        : base(message)
    {
    }
}
