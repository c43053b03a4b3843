using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// A connection to the oracle and one to the system under test, for handwritten transcripts. Replies are compared at once,
/// and the reply of the system under test is returned for further assertions.
/// </summary>
internal sealed class PairedConnection : IDisposable
{
    // How long to wait before concluding that a server neither replies nor closes.
    private const int QuietMs = 60;

    // The number of bytes that Redis reads from a connection at once.
    private const int OracleReadBytes = 16 * 1024;

    private readonly ServerPair _pair;
    private readonly RespConnection _oracle;
    private readonly RespConnection _subject;
    private (ConnectionFacts Oracle, ConnectionFacts Subject) _facts;
    private long _sentAt = Stopwatch.GetTimestamp();

    public PairedConnection(ServerPair pair)
    {
        _pair = pair;
        _oracle = RespConnection.Connect(pair.Oracle.Port);
        _subject = RespConnection.Connect(pair.Subject.Port);
    }

    /// <summary>Runs a command on both and compares the replies.</summary>
    public RespValue Run(string line) => Run(line, line);

    /// <summary>Runs a command that names a connection by its id or address, which differ between the servers.</summary>
    /// <param name="about">The connection.</param>
    /// <param name="line">The command.</param>
    /// <param name="isWaiting">The connection is blocked, so its earlier id and address are used.</param>
    public RespValue Run(PairedConnection about, Func<ConnectionFacts, string> line, bool isWaiting = false)
    {
        if (!isWaiting) about._facts = (Facts(about._oracle), Facts(about._subject));
        return Run(line(about._facts.Oracle), line(about._facts.Subject));
    }

    /// <summary>Compares the replies to commands that were sent earlier.</summary>
    public RespValue Read(string command = "")
    {
        Comparison comparison = new(CommandLine.Split(command), _oracle.Read(), _subject.Read());
        ClockDistance.RecordExchange(_sentAt);
        bool same = _oracle.LastBytes.SequenceEqual(_subject.LastBytes) && comparison.Oracle.Equals(comparison.Subject);
        if (!same && !AllowedDifferences.Allow(comparison)) Assert.Fail("The replies differ.\n" + Difference.Of(0, comparison));
        string expected = string.Join(' ', _oracle.Pushes), actual = string.Join(' ', _subject.Pushes);
        if (expected != actual) Assert.Fail($"The messages before the reply differ: {expected} and {actual}");
        _oracle.Pushes.Clear();
        _subject.Pushes.Clear();
        return comparison.Subject;
    }

    /// <summary>Compares the next message of each server, which may be a push.</summary>
    public void ReadPush()
    {
        RespValue oracle = _oracle.ReadAny();
        RespValue subject = _subject.ReadAny();
        if (!_oracle.LastBytes.SequenceEqual(_subject.LastBytes)) Assert.Fail($"The messages differ: {oracle} and {subject}");
    }

    /// <summary>Compares everything that each server has sent, up to the reply to a PING. Not for a client in MULTI, or without replies.</summary>
    /// <param name="isOrdered">Whether the order counts; if not, only the counts of subscriptions are compared in order.</param>
    public void ReadAll(bool isOrdered)
    {
        List<RespValue> oracle = MessageBarrier.Read(_oracle), subject = MessageBarrier.Read(_subject, oracle.Count);
        string expected = MessageBarrier.Shown(oracle, isOrdered), actual = MessageBarrier.Shown(subject, isOrdered);
        if (expected != actual) Assert.Fail($"The messages differ:\n{expected}\nand\n{actual}");
    }

    /// <summary>Sends several commands in one packet and reads no reply.</summary>
    public void SendTogether(string[] lines) => SendBytes(Encoding.Latin1.GetString([.. lines.SelectMany(line => CommandLine.Encode(CommandLine.Split(line)))]));

    /// <summary>Asks for the connection's id now, for <see cref="RunWithIds"/>.</summary>
    public void NoteFacts() => _facts = (Facts(_oracle), Facts(_subject));

    /// <summary>Runs a command with `{X}` for the ids of clients.</summary>
    public RespValue RunWithIds(string line, IReadOnlyDictionary<string, PairedConnection> clients)
    {
        string oracle = line, subject = line;
        foreach ((string name, PairedConnection client) in clients)
        {
            oracle = oracle.Replace($"{{{name}}}", client._facts.Oracle?.Id.ToString(CultureInfo.InvariantCulture), StringComparison.Ordinal);
            subject = subject.Replace($"{{{name}}}", client._facts.Subject?.Id.ToString(CultureInfo.InvariantCulture), StringComparison.Ordinal);
        }

        return Run(oracle, subject);
    }

    /// <summary>Sends a command to both and reads no reply.</summary>
    public void Send(string line)
    {
        _sentAt = Stopwatch.GetTimestamp();
        _oracle.SendCommand(line);
        _subject.SendCommand(line);
    }

    /// <summary>Sends raw bytes to both and reads no reply.</summary>
    public void SendBytes(string bytes)
    {
        _sentAt = Stopwatch.GetTimestamp();
        _oracle.Send(bytes);
        _subject.Send(bytes);
    }

    /// <summary>Asserts that neither server sends anything.</summary>
    public void IsSilent() => Assert.True(StaysSilent(), "there is a reply, or the end of the connection");

    /// <summary>Whether neither server sends anything for a while. Unread replies stay unread.</summary>
    public bool StaysSilent()
    {
        Thread.Sleep(QuietMs);
        return _oracle.IsSilent && _subject.IsSilent;
    }

    /// <summary>Sends raw bytes and compares all bytes that come back, and whether the connection is closed then.</summary>
    public (byte[] Bytes, bool Closed) Raw(string bytes)
    {
        SendBytes(bytes);
        LetOracleFinish(bytes.Length);
        (byte[] Bytes, bool Closed) oracle = _oracle.ReadUntilQuiet(QuietMs);
        (byte[] Bytes, bool Closed) subject = _subject.ReadUntilQuiet(QuietMs / 2, oracle.Bytes.Length, oracle.Closed);
        string Shown((byte[] Bytes, bool Closed) side) => $"{CommandLine.Format(side.Bytes)} and {(side.Closed ? "closed" : "open")}";
        if (Shown(oracle) != Shown(subject)) Assert.Fail("The replies differ.\n" + new Difference(0, [Encoding.Latin1.GetBytes(bytes)], Shown(oracle), Shown(subject)));
        return subject;
    }

    public void Dispose()
    {
        _oracle.Dispose();
        _subject.Dispose();
    }

    private RespValue Run(string oracleLine, string subjectLine)
    {
        _sentAt = Stopwatch.GetTimestamp();
        _oracle.SendCommand(oracleLine);
        _subject.SendCommand(subjectLine);
        return Read(subjectLine);
    }

    // The number of reply bytes is unknown. Redis has one thread, and each of its turns reads from every readable connection,
    // so a control connection that has received this many replies meanwhile proves that all replies are on their way.
    private void LetOracleFinish(int bytes)
    {
        for (int turns = 3 + (bytes / OracleReadBytes); turns > 0; turns--) _pair.Oracle.Control.Run("PING");
    }

    private static ConnectionFacts Facts(RespConnection connection) => new(connection.Run("CLIENT ID").Number, connection.LocalEndPoint.ToString()!);
}

/// <summary>The id and address by which a server identifies a connection.</summary>
internal sealed record ConnectionFacts(long Id, string Address);
