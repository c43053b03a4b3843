using System.Diagnostics;
using System.Text;
using RedKite.Differential.Tests.Streams;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// The same connection to the oracle and to the system under test, for transcripts written by hand. Whatever is run on it is
/// compared at once, and the reply of the system under test is returned for further statements.
/// </summary>
internal sealed class PairedConnection : IDisposable
{
    // How long a server is watched to believe that it neither replies nor closes.
    private const int QuietMs = 60;

    // Redis reads as much from a connection at a time.
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

    /// <summary>Runs a command that names a connection by its id and address, which are not the same on both servers.</summary>
    /// <param name="about">The connection.</param>
    /// <param name="line">The command.</param>
    /// <param name="isWaiting">The connection cannot be asked: what it said before counts.</param>
    public RespValue Run(PairedConnection about, Func<ConnectionFacts, string> line, bool isWaiting = false)
    {
        if (!isWaiting) about._facts = (Facts(about._oracle), Facts(about._subject));
        return Run(line(about._facts.Oracle), line(about._facts.Subject));
    }

    /// <summary>Compares replies to commands that were sent before.</summary>
    public RespValue Read(string command = "")
    {
        Comparison comparison = new(CommandLine.Split(command), _oracle.Read(), _subject.Read());
        ClockDistance.NoteExchange(_sentAt);
        bool same = _oracle.LastBytes.SequenceEqual(_subject.LastBytes) && comparison.Oracle.Equals(comparison.Subject);
        if (!same && !AllowedDifferences.Allow(comparison)) Assert.Fail("The replies differ.\n" + Difference.Of(0, comparison));
        return comparison.Subject;
    }

    /// <summary>Sends a command to both and reads nothing.</summary>
    public void Send(string line)
    {
        _sentAt = Stopwatch.GetTimestamp();
        _oracle.SendCommand(line);
        _subject.SendCommand(line);
    }

    /// <summary>Sends bytes as they are to both and reads nothing.</summary>
    public void SendBytes(string bytes)
    {
        _sentAt = Stopwatch.GetTimestamp();
        _oracle.Send(bytes);
        _subject.Send(bytes);
    }

    /// <summary>Neither server says anything.</summary>
    public void IsSilent() => Assert.True(StaysSilent(), "there is a reply, or the end of the connection");

    /// <summary>Whether neither server says anything for a while. What they say is left to be read.</summary>
    public bool StaysSilent()
    {
        Thread.Sleep(QuietMs);
        return _oracle.IsSilent && _subject.IsSilent;
    }

    /// <summary>Sends bytes as they are and compares all bytes that come back, and whether the connection is closed then.</summary>
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

    // Nothing tells how many bytes Redis is going to send. It has one thread, and each turn of it reads from every connection
    // that has something: whoever has had so many replies meanwhile knows that all replies to the bytes are on their way.
    private void LetOracleFinish(int bytes)
    {
        for (int turns = 3 + (bytes / OracleReadBytes); turns > 0; turns--) _pair.Oracle.Control.Run("PING");
    }

    private static ConnectionFacts Facts(RespConnection connection) => new(connection.Run("CLIENT ID").Number, connection.LocalEndPoint.ToString()!);
}

/// <summary>What a server knows a connection by.</summary>
internal sealed record ConnectionFacts(long Id, string Address);
