using System.Globalization;
using System.Text.RegularExpressions;
using RedKite.Differential.Tests.Streams;
using RedKite.Differential.Tests.Transcripts;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Messages;

/// <summary>Runs steps on both servers. After each, all that every client has been sent is compared: replies, messages, invalidations.</summary>
internal sealed partial class MessageStreamRunner : IDisposable
{
    private const int ShownSteps = 40;

    private readonly ServerPair _pair;
    private readonly Clients _oracle;
    private readonly Clients _subject;

    internal MessageStreamRunner(ServerPair pair, IReadOnlyList<char> names)
    {
        _pair = pair;
        _oracle = new Clients(pair.Oracle.Port, names);
        _subject = new Clients(pair.Subject.Port, names);
        Names = names;
    }

    internal IReadOnlyList<char> Names { get; }

    /// <summary>Returns null if all messages were equal, otherwise the difference with the steps before it.</summary>
    internal string? Run(IReadOnlyList<MessageStep> steps)
    {
        for (int i = 0; i < steps.Count; i++)
        {
            if (Compare(steps[i]) is not { } difference) continue;
            string[] before = [.. steps.Take(i + 1).TakeLast(ShownSteps).Select(step => step.ToString())];
            return $"step {i}\n{string.Join('\n', before)}\n{difference}";
        }

        return null;
    }

    public void Dispose()
    {
        _oracle.Dispose();
        _subject.Dispose();
    }

    private string? Compare(MessageStep step)
    {
        if (step.Reconnects)
        {
            _oracle.Close(step.Client);
            _subject.Close(step.Client);
            _pair.WaitForConnections(Names.Count + 1); // with those of control and of the tracker that stays
            _oracle.Open(step.Client);
            _subject.Open(step.Client);
            return null;
        }

        Dictionary<char, List<RespValue>> expected = _oracle.Run(step, null), actual = _subject.Run(step, expected);
        foreach (char name in Names)
        {
            string oracle = _oracle.Shown(expected[name], step.IsOrdered), subject = _subject.Shown(actual[name], step.IsOrdered);
            if (oracle != subject) return $"{name} got from Redis:\n{oracle}\nand from RedKite:\n{subject}";
        }

        return null;
    }

    /// <summary>The clients of one server.</summary>
    private sealed partial class Clients : IDisposable
    {
        private readonly int _port;
        private readonly RespConnection _tracker;
        private readonly Dictionary<char, RespConnection> _connections = [];
        private readonly Dictionary<char, string> _ids = [];
        private readonly Dictionary<string, char> _names = [];

        internal Clients(int port, IReadOnlyList<char> names)
        {
            _port = port;
            foreach (char name in names) Open(name);

            // While no client tracks, RedKite does not follow what happens to the keys that were read before.
            _tracker = RespConnection.Connect(port);
            _tracker.Run("CLIENT TRACKING ON BCAST PREFIX nosuch:").IsOk();
        }

        internal void Open(char name)
        {
            _connections[name] = RespConnection.Connect(_port);
            _ids[name] = _connections[name].Run("CLIENT ID").Number.ToString(CultureInfo.InvariantCulture);
            _names[_ids[name]] = name;
        }

        internal void Close(char name)
        {
            _connections[name].Dispose();
            _connections.Remove(name);
        }

        internal Dictionary<char, List<RespValue>> Run(MessageStep step, Dictionary<char, List<RespValue>>? expected)
        {
            RespConnection acting = _connections[step.Client];
            acting.Send(Encoded(step));
            List<RespValue> first = MessageBarrier.Read(acting);
            Dictionary<char, List<RespValue>> all = [];
            foreach ((char name, RespConnection connection) in _connections)
            {
                List<RespValue> before = name == step.Client ? first : [];
                all[name] = [.. before, .. MessageBarrier.Read(connection, (expected?[name].Count ?? 0) - before.Count)];
            }

            return all;
        }

        internal string Shown(List<RespValue> messages, bool isOrdered) =>
            Id().Replace(Modules().Replace(MessageBarrier.Shown(WithSortedRuns(messages), isOrdered), ""), match => match.Groups["before"].Value + (_names.TryGetValue(match.Groups["id"].Value, out char name) ? name : match.Groups["id"].Value));

        public void Dispose()
        {
            _tracker.Dispose();
            foreach (RespConnection connection in _connections.Values) connection.Dispose();
        }

        // One message that matches several patterns: Redis has them in a hash table. And invalidations for the client among those that others redirect
        // to it. Transcripts compare the order of the others.
        private static List<RespValue> WithSortedRuns(List<RespValue> messages)
        {
            List<RespValue> sorted = [];
            for (int at = 0; at < messages.Count;)
            {
                int count = messages.Skip(at).TakeWhile(HasNoOrder).Count();
                if (count == 0) sorted.Add(messages[at++]);
                else sorted.AddRange(messages.GetRange(at, count).OrderBy(message => message.ToString(), StringComparer.Ordinal));
                at += count;
            }

            return sorted;
        }

        private static bool HasNoOrder(RespValue message) =>
            message.Items is [{ Text: "pmessage" or "invalidate" }, ..] or [{ Text: "message" }, { Text: "__redis__:invalidate" }, { IsAggregate: true }];

        private byte[] Encoded(MessageStep step)
        {
            IEnumerable<string> commands = step.Commands.Select(command => _ids.Aggregate(command, (text, client) => text.Replace($"{{{client.Key}}}", client.Value, StringComparison.Ordinal)));
            return [.. commands.SelectMany(command => CommandLine.Encode(CommandLine.Split(command)))];
        }

        // HELLO lists modules, which are a row of NotCopied.
        [GeneratedRegex(@"\$modules .*$", RegexOptions.Multiline)]
        private static partial Regex Modules();

        // Where ids of clients stand: in a push about a broken redirection, in HELLO's reply and in that of CLIENT TRACKINGINFO.
        [GeneratedRegex(@"(?<before>tracking-redir-broken :|\$id :|\$redirect :)(?<id>[0-9]+)")]
        private static partial Regex Id();
    }
}
